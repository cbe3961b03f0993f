// The C interface of group maps, without MPI (include/fgmpi_groupmap.h).

#include "groupmap/groupmap_c.h"

#include <algorithm>
#include <cstring>

#include "groupmap/algebra.h"
#include "groupmap/groupmap.h"

using namespace fgmpi::groupmap;

struct fgmpi_groupmap {
  MapRef map;
};

namespace {

std::string last_error;

fgmpi_groupmap* result(const fgmpi::Status& status, MapRef map) {
  if (status.ok()) return new fgmpi_groupmap{std::move(map)};
  last_error = status.what();
  return nullptr;
}

fgmpi::Status strategy_of(const char* text, Strategy* strategy) {
  *strategy = Strategy::hybrid();
  return text ? parse_strategy(text, strategy) : fgmpi::Status();
}

}  // namespace

extern "C" {

#pragma GCC visibility push(default)

fgmpi_groupmap* fgmpi_groupmap_build(const int32_t* ranks, int32_t n, const char* strategy) {
  Strategy how;
  MapRef map;
  fgmpi::Status status = strategy_of(strategy, &how);
  if (n < 0) status = fgmpi::error(kErrArg, "group of %d members: allowed is 0 to 2^31-1", n);
  if (status.ok()) status = build(std::span(ranks, static_cast<size_t>(n)), how, &map);
  return result(status, std::move(map));
}

fgmpi_groupmap* fgmpi_groupmap_share(const fgmpi_groupmap* map) {
  return new fgmpi_groupmap{map->map};
}

void fgmpi_groupmap_free(fgmpi_groupmap* map) { delete map; }

const char* fgmpi_groupmap_error(void) { return last_error.c_str(); }

int32_t fgmpi_groupmap_size(const fgmpi_groupmap* map) { return map->map.size(); }

size_t fgmpi_groupmap_bytes(const fgmpi_groupmap* map) { return map->map.bytes(); }

size_t fgmpi_groupmap_describe(const fgmpi_groupmap* map, char* text, size_t capacity) {
  std::string description = map->map.describe();
  if (capacity) {
    size_t length = std::min(capacity - 1, description.size());
    std::memcpy(text, description.data(), length);
    text[length] = '\0';
  }
  return description.size();
}

int32_t fgmpi_groupmap_select(const fgmpi_groupmap* map, int32_t i) { return map->map.select(i); }

int32_t fgmpi_groupmap_rank(const fgmpi_groupmap* map, int32_t world_rank) {
  return map->map.rank(world_rank);
}

void fgmpi_groupmap_range(const fgmpi_groupmap* map, int32_t first, int32_t count, int ordered,
                          int32_t* out) {
  if (ordered)
    map->map.ordered_range(first, count, out);
  else
    map->map.select_range(first, count, out);
}

fgmpi_groupmap* fgmpi_groupmap_combine(const fgmpi_groupmap* a, const fgmpi_groupmap* b,
                                       int operation, const char* strategy) {
  constexpr SetOperation kOperations[] = {SetOperation::kUnion, SetOperation::kIntersection,
                                          SetOperation::kDifference};
  Strategy how;
  MapRef map;
  fgmpi::Status status = strategy_of(strategy, &how);
  if (operation < 0 || operation > FGMPI_GROUPMAP_DIFFERENCE)
    status = fgmpi::error(kErrArg, "set operation %d: allowed is 0 to 2", operation);
  if (status.ok()) status = combine(a->map, b->map, kOperations[operation], how, &map);
  return result(status, std::move(map));
}

int fgmpi_groupmap_compare(const fgmpi_groupmap* a, const fgmpi_groupmap* b) {
  return static_cast<int>(compare(a->map, b->map));
}

void fgmpi_groupmap_translate(const fgmpi_groupmap* from, const int32_t* ranks, size_t n,
                              const fgmpi_groupmap* to, int32_t* out) {
  translate(from->map, std::span(ranks, n), to->map, std::span(out, n));
}

size_t fgmpi_groupmap_serialize(const fgmpi_groupmap* map, uint8_t* out, size_t capacity) {
  std::vector<uint8_t> bytes;
  map->map.serialize(bytes);
  if (bytes.size() <= capacity) std::memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

fgmpi_groupmap* fgmpi_groupmap_deserialize(const uint8_t* bytes, size_t n) {
  MapRef map;
  fgmpi::Status status = MapRef::deserialize(std::span(bytes, n), &map);
  return result(status, std::move(map));
}

#pragma GCC visibility pop

}  // extern "C"
