// Ranges of a file as rules: written, read, and split where they overlap.

#include "file/ranges.h"

#include <algorithm>
#include <cstring>

namespace fgmpi::file {
namespace {

struct RangeRule {
  int64_t offset, bytes, stride, count;
};

/// Expanding a rule from another process must not take all memory: as many ranges as a window of
/// 1-byte ones has.
constexpr int64_t kMostRanges = int64_t{1} << 32;

}  // namespace

void write_ranges(const std::vector<FilePiece>& pieces, Bytes* out) {
  std::vector<RangeRule> rules;
  auto add = [&](int64_t offset, int64_t bytes) {
    if (!rules.empty()) {
      RangeRule& last = rules.back();
      if (last.bytes == bytes && last.count == 1) {
        last.stride = offset - last.offset;
        last.count = 2;
        return;
      }
      if (last.bytes == bytes && offset == last.offset + last.count * last.stride) {
        ++last.count;
        return;
      }
    }
    rules.push_back({offset, bytes, 0, 1});
  };
  for (size_t i = 0; i < pieces.size();) {
    const int64_t offset = pieces[i].offset;
    int64_t end = offset;
    for (; i < pieces.size() && pieces[i].offset == end; ++i) end += pieces[i].bytes;
    add(offset, end - offset);
  }
  append(out, static_cast<uint64_t>(rules.size()));
  for (const RangeRule& rule : rules) append(out, rule);
}

Status read_ranges(const Bytes& bytes, std::vector<FilePiece>* pieces, int64_t* sum) {
  FieldReader in(bytes.data(), bytes.size());
  const auto count = in.get<uint64_t>();
  bool good = !in.failed() && count <= in.left() / sizeof(RangeRule);
  int64_t ranges = 0, end = 0;
  *sum = 0;
  for (uint64_t i = 0; good && i < count; ++i) {
    const auto rule = in.get<RangeRule>();
    ranges += rule.count;
    good = rule.offset >= end && rule.bytes > 0 && rule.count > 0 && ranges <= kMostRanges &&
           (rule.count == 1 || rule.stride >= rule.bytes);
    for (int64_t k = 0; good && k < rule.count; ++k) {
      const int64_t offset = rule.offset + k * rule.stride;
      pieces->push_back({offset, nullptr, rule.bytes});
      end = offset + rule.bytes;
      *sum += rule.bytes;
    }
  }
  if (good) return {};
  return error(MPI_ERR_INTERN, "the ranges that a process wants of the file cannot be read");
}

size_t end_of_ascending_run(const std::vector<FilePiece>& pieces, size_t first) {
  size_t end = first + 1;
  while (end < pieces.size() &&
         pieces[end].offset >= pieces[end - 1].offset + pieces[end - 1].bytes)
    ++end;
  return end;
}

void split_overlaps(std::vector<FilePiece>* pieces, std::vector<FilePiece>* copies) {
  int64_t end = 0;
  size_t kept = 0;
  for (FilePiece p : *pieces) {
    if (p.offset < end) {
      const int64_t inside = std::min(p.bytes, end - p.offset);
      copies->push_back({p.offset, p.memory, inside});
      p = {p.offset + inside, p.memory + inside, p.bytes - inside};
      if (p.bytes == 0) continue;
    }
    end = p.offset + p.bytes;
    (*pieces)[kept++] = p;
  }
  pieces->resize(kept);
}

void copy_overlaps(const std::vector<FilePiece>& pieces, const std::vector<FilePiece>& copies,
                   int64_t end) {
  for (const FilePiece& copy : copies) {
    const int64_t limit = std::min(copy.offset + copy.bytes, end);
    auto from = std::upper_bound(pieces.begin(), pieces.end(), copy.offset,
                                 [](int64_t o, const FilePiece& p) { return o < p.offset; });
    if (from == pieces.begin()) continue;
    --from;
    for (int64_t at = copy.offset; at < limit && from != pieces.end(); ++from) {
      const int64_t n = std::min(limit, from->offset + from->bytes) - at;
      if (n <= 0) continue;
      std::memcpy(copy.memory + (at - copy.offset), from->memory + (at - from->offset),
                  static_cast<size_t>(n));
      at += n;
    }
  }
}

int64_t offset_at(const std::vector<FilePiece>& pieces, int64_t bytes) {
  for (const FilePiece& p : pieces) {
    if (bytes < p.bytes) return p.offset + bytes;
    bytes -= p.bytes;
  }
  return pieces.empty() ? 0 : pieces.back().offset + pieces.back().bytes;
}

void pack(const std::vector<FilePiece>& pieces, char* out) {
  for (const FilePiece& p : pieces) {
    std::memcpy(out, p.memory, static_cast<size_t>(p.bytes));
    out += p.bytes;
  }
}

void unpack(const std::vector<FilePiece>& pieces, const char* in, int64_t end) {
  for (const FilePiece& p : pieces) {
    const int64_t n = std::clamp<int64_t>(end - p.offset, 0, p.bytes);
    std::memcpy(p.memory, in, static_cast<size_t>(n));
    in += p.bytes;
  }
}

}  // namespace fgmpi::file
