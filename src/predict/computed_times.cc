// Numbers of a variable length, and the file of them.

#include "predict/computed_times.h"

#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

namespace fgmpi::predict {
namespace {

constexpr const char* kMark = "fgmpi computed times 1 ";

void append_number(uint64_t number, std::vector<uint8_t>* out) {
  for (; number >= 0x80; number >>= 7) out->push_back(static_cast<uint8_t>(number | 0x80));
  out->push_back(static_cast<uint8_t>(number));
}

/// Reads a number and moves *at behind it; -1: it does not end, or is too large.
int64_t read_number(const uint8_t* bytes, size_t count, size_t* at) {
  uint64_t number = 0;
  for (unsigned shift = 0; *at < count && shift < 63; shift += 7) {
    const uint8_t byte = bytes[(*at)++];
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return static_cast<int64_t>(number);
  }
  *at = count;
  return -1;
}

}  // namespace

void ComputedTimes::add(uint32_t rank, int64_t ns) {
  if (rank >= ranks_.size()) ranks_.resize(rank + size_t{1});  // it was spawned
  append_number(static_cast<uint64_t>(std::max<int64_t>(ns, 0)), &ranks_[rank].bytes);
}

int64_t ComputedTimes::take(uint32_t rank) {
  if (rank >= ranks_.size()) return -1;
  RankBytes& own = ranks_[rank];
  return read_number(own.bytes.data(), own.bytes.size(), &own.at);
}

uint64_t ComputedTimes::left() const {
  uint64_t left = 0;
  for (const RankBytes& rank : ranks_)
    left +=
        static_cast<uint64_t>(std::count_if(rank.bytes.begin() + static_cast<ptrdiff_t>(rank.at),
                                            rank.bytes.end(), [](uint8_t b) { return b < 0x80; }));
  return left;
}

Status ComputedTimes::write(const std::string& path) const {
  std::ofstream out(path, std::ios::binary);
  out << kMark << ranks_.size() << '\n';
  std::vector<uint8_t> number;
  for (const RankBytes& rank : ranks_) {
    number.clear();
    append_number(rank.bytes.size(), &number);
    out.write(reinterpret_cast<const char*>(number.data()),
              static_cast<std::streamsize>(number.size()));
    out.write(reinterpret_cast<const char*>(rank.bytes.data()),
              static_cast<std::streamsize>(rank.bytes.size()));
  }
  out.close();
  if (!out) return error(MPI_ERR_OTHER, "%s cannot be written", path.c_str());
  return {};
}

Status ComputedTimes::read(const std::string& path, ComputedTimes* out) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> text((std::istreambuf_iterator<char>(in)),
                               std::istreambuf_iterator<char>());
  if (in.bad() || !in.is_open()) return error(MPI_ERR_ARG, "%s cannot be read", path.c_str());
  const auto line = std::find(text.begin(), text.end(), '\n');
  const std::string first(text.begin(), line);
  uint64_t ranks = 0;
  const auto wrong = [&] {
    return error(MPI_ERR_ARG, "%s: holds no computed times", path.c_str());
  };
  if (line == text.end() || !first.starts_with(kMark) ||
      std::sscanf(first.c_str() + std::string(kMark).size(), "%" SCNu64, &ranks) != 1 ||
      ranks > text.size())
    return wrong();
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  size_t at = static_cast<size_t>(line - text.begin()) + 1;
  ComputedTimes times(static_cast<uint32_t>(ranks));
  for (RankBytes& rank : times.ranks_) {
    const int64_t count = read_number(bytes, text.size(), &at);
    if (count < 0 || static_cast<uint64_t>(count) > text.size() - at) return wrong();
    rank.bytes.assign(bytes + at, bytes + at + count);
    at += static_cast<size_t>(count);
  }
  if (at != text.size()) return wrong();
  *out = std::move(times);
  return {};
}

}  // namespace fgmpi::predict
