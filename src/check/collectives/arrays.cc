// The hash of the arrays that a collective call is given.

#include "check/collectives/arrays.h"

#include <array>
#include <cstring>

#include "base/hash.h"
#include "check/call.h"

namespace fgmpi::check {
namespace {

struct BufferArray {
  uint8_t position = 0, element = 0;  ///< `element`: bytes of one
  bool sends = false;
};
struct Arrays {
  int count = 0;
  std::array<BufferArray, 6> list = {};
};

const std::array<Arrays, kCallCount> kArrays = [] {
  std::array<Arrays, kCallCount> all = {};
  for (size_t id = 0; id < all.size(); ++id) {
    const CallInfo& info = kCalls[id];
    if (info.role != CallRole::kCollective || info.sets.in_words) continue;
    for (int i = 0; i < info.count; ++i) {
      const Parameter& p = info.parameters[i];
      const bool displacements = std::strstr(p.name, "displs") != nullptr;
      if (p.what != ParameterUse::kCounts && !displacements && !p.array) continue;
      // The displacements of a neighbourhood collective with types always have type MPI_Aint.
      const bool wide = info.large || (displacements && p.what != ParameterUse::kDispls);
      const bool sends = p.name[0] == 's' || (!std::strcmp(p.name, "displs") &&
                                              info.collective == Collective::kScatterv);
      auto& of = all[id];
      of.list[static_cast<size_t>(of.count++)] = {
          static_cast<uint8_t>(i),
          static_cast<uint8_t>(p.array ? sizeof(MPI_Datatype)
                               : wide  ? 8
                                       : 4),
          sends};
    }
  }
  return all;
}();

/// A hash by four lanes, each of which handles every fourth word.
uint64_t hash_of(const void* from, size_t bytes, uint64_t seed) {
  const auto* at = static_cast<const char*>(from);
  auto add = [&](uint64_t lane, int i) {
    uint64_t word;
    std::memcpy(&word, at + i * 8, sizeof word);
    const uint64_t x = (lane ^ word) * kGoldenRatio;
    return x << 29 | x >> 35;
  };
  uint64_t a = seed, b = seed + 1, c = seed + 2, d = seed + 3;
  for (; bytes >= 32; at += 32, bytes -= 32) {
    a = add(a, 0);
    b = add(b, 1);
    c = add(c, 2);
    d = add(d, 3);
  }
  return hash_bytes(at, bytes, mix(mix(a, b), mix(c, d)));
}

}  // namespace

bool has_arrays(Calls id) { return kArrays[id].count > 0; }

uint64_t hash_of_arrays(Calls id, const int64_t* words, const OwnComm& own) {
  const CallInfo& info = kCalls[id];
  const bool neighbours = info.collective == Collective::kNeighbor;
  if (own.comm->inter || own.comm->foreign || (neighbours && !own.neighbours)) return 0;
  if (!is_root(info, words, own)) return 1;
  const auto size = static_cast<size_t>(own.comm->size);
  const bool in_place =
      info.at.send_buffer >= 0 && words[info.at.send_buffer] == word_of_in_place();
  uint64_t hash = id;
  const Arrays& arrays = kArrays[id];
  for (int i = 0; i < arrays.count; ++i) {
    const BufferArray& one = arrays.list[static_cast<size_t>(i)];
    if (one.sends && in_place) continue;
    const void* at = reinterpret_cast<const void*>(words[one.position]);
    const size_t length = !neighbours ? size
                          : one.sends ? own.neighbours->destinations.size()
                                      : own.neighbours->sources.size();
    if (length == 0) continue;
    if (!at) return 0;  // MPI reports a missing array itself
    hash = hash_of(at, length * one.element, hash);
  }
  return hash | 2;
}

}  // namespace fgmpi::check
