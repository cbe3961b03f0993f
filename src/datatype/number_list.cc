// The forms in which a list of numbers is stored, and the choice between them.

#include "datatype/number_list.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "groupmap/elias_fano.h"
#include "groupmap/packed_vector.h"

namespace fgmpi::datatype {
namespace {

using NumberSpan = std::span<const int64_t>;
constexpr size_t kNever = std::numeric_limits<size_t>::max();

/// What one pass over the numbers finds.
struct NumberRange {
  int64_t least, greatest;
  bool rises = true;
  uint64_t distance() const {
    return static_cast<uint64_t>(greatest) - static_cast<uint64_t>(least);
  }
};

NumberRange range_of(NumberSpan numbers) {
  NumberRange range{numbers[0], numbers[0]};
  for (size_t i = 1; i < numbers.size(); ++i) {
    range.least = std::min(range.least, numbers[i]);
    range.greatest = std::max(range.greatest, numbers[i]);
    range.rises &= numbers[i] >= numbers[i - 1];
  }
  return range;
}

// ---- Plain --------------------------------------------------------------------------------------

struct PlainNumbers final : NumberList::Stored {
  explicit PlainNumbers(NumberSpan numbers) : all(numbers.begin(), numbers.end()) {}
  int64_t at(uint64_t i) const override { return all[i]; }
  void read(uint64_t first, uint64_t count, int64_t* out) const override {
    std::copy_n(all.begin() + static_cast<int64_t>(first), count, out);
  }
  size_t bytes() const override { return sizeof *this + all.capacity() * sizeof(int64_t); }
  std::vector<int64_t> all;
};

// ---- Words --------------------------------------------------------------------------------------

struct NumberWords final : NumberList::Stored {
  static constexpr size_t kMost = 256;
  NumberWords(NumberSpan numbers, const NumberRange& range) : least(range.least) {
    for (const int64_t n : numbers)
      distances.push_back(
          static_cast<uint32_t>(static_cast<uint64_t>(n) - static_cast<uint64_t>(range.least)));
    distances.shrink_to_fit();
  }
  static size_t bytes_for(NumberSpan numbers, const NumberRange& range) {
    if (numbers.size() > kMost || range.distance() > std::numeric_limits<uint32_t>::max())
      return kNever;
    return sizeof(NumberWords) + numbers.size() * sizeof(uint32_t);
  }
  int64_t at(uint64_t i) const override { return least + distances[i]; }
  void read(uint64_t first, uint64_t count, int64_t* out) const override {
    for (uint64_t k = 0; k < count; ++k) out[k] = least + distances[first + k];
  }
  size_t bytes() const override { return sizeof *this + distances.capacity() * sizeof(uint32_t); }
  int64_t least;
  std::vector<uint32_t> distances;
};

// ---- Packed -------------------------------------------------------------------------------------

struct PackedNumbers final : NumberList::Stored {
  PackedNumbers(NumberSpan numbers, const NumberRange& range)
      : least(range.least),
        distances(groupmap::PackedVector::make(
            static_cast<uint32_t>(numbers.size()), groupmap::bit_width(range.distance()),
            [&](uint32_t i) {
              return static_cast<uint64_t>(numbers[i]) - static_cast<uint64_t>(range.least);
            })) {}
  static size_t bytes_for(NumberSpan numbers, const NumberRange& range) {
    const int width = groupmap::bit_width(range.distance());
    if (width > groupmap::PackedVector::kMaxWidth ||
        numbers.size() > std::numeric_limits<uint32_t>::max())
      return kNever;
    return sizeof(PackedNumbers) + numbers.size() * static_cast<size_t>(width) / 8 + 16;
  }
  int64_t at(uint64_t i) const override {
    return least + static_cast<int64_t>(distances[static_cast<uint32_t>(i)]);
  }
  void read(uint64_t first, uint64_t count, int64_t* out) const override {
    for (uint64_t k = 0; k < count; ++k)
      out[k] = least + static_cast<int64_t>(distances[static_cast<uint32_t>(first + k)]);
  }
  size_t bytes() const override { return sizeof *this + distances.heap_bytes(); }
  int64_t least;
  groupmap::PackedVector distances;
};

// ---- Rising -------------------------------------------------------------------------------------

struct RisingNumbers final : NumberList::Stored {
  RisingNumbers(NumberSpan numbers, const NumberRange& range) : least(range.least) {
    std::vector<uint32_t> offsets(numbers.size());
    std::transform(numbers.begin(), numbers.end(), offsets.begin(),
                   [&](int64_t n) { return static_cast<uint32_t>(n - range.least); });
    distances = groupmap::EliasFano(offsets);
  }
  static size_t bytes_for(NumberSpan numbers, const NumberRange& range) {
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    if (!range.rises || range.distance() >= kMost || numbers.size() >= kMost) return kNever;
    return sizeof(RisingNumbers) +
           static_cast<size_t>(groupmap::EliasFano::expected_bytes(
               static_cast<double>(numbers.size()), static_cast<double>(range.distance() + 1)));
  }
  int64_t at(uint64_t i) const override { return least + distances[static_cast<uint32_t>(i)]; }
  void read(uint64_t first, uint64_t count, int64_t* out) const override {
    uint32_t some[NumberList::kBlock];
    for (uint64_t done = 0; done < count; done += NumberList::kBlock) {
      const uint64_t n = std::min(count - done, NumberList::kBlock);
      distances.range(static_cast<uint32_t>(first + done), static_cast<uint32_t>(n), some);
      for (uint64_t k = 0; k < n; ++k) out[done + k] = least + some[k];
    }
  }
  size_t bytes() const override { return sizeof *this + distances.heap_bytes(); }
  int64_t least;
  groupmap::EliasFano distances;
};

// ---- Steps --------------------------------------------------------------------------------------

struct NumberPieces {
  std::vector<int64_t> begins, firsts, steps;
};

/// The difference of two numbers, as a step; steps wrap around as unsigned numbers do.
int64_t step_between(int64_t from, int64_t to) {
  return static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
}
int64_t after_steps(int64_t first, int64_t step, uint64_t steps) {
  return static_cast<int64_t>(static_cast<uint64_t>(first) + static_cast<uint64_t>(step) * steps);
}

/// Cuts the numbers into pieces of equal steps; gives up with more than `most` pieces.
bool cut(NumberSpan numbers, size_t most, NumberPieces* out) {
  for (size_t i = 0; i < numbers.size();) {
    if (out->begins.size() == most) return false;
    const int64_t step = i + 1 < numbers.size() ? step_between(numbers[i], numbers[i + 1]) : 0;
    size_t end = i + 1;
    while (end < numbers.size() && step_between(numbers[end - 1], numbers[end]) == step) ++end;
    // A piece of two may be a number and the first of the next piece, which then has one more.
    if (end == i + 2 && end < numbers.size()) --end;
    out->begins.push_back(static_cast<int64_t>(i));
    out->firsts.push_back(numbers[i]);
    out->steps.push_back(end == i + 1 ? 0 : step);
    i = end;
  }
  return true;
}

struct SteppedNumbers final : NumberList::Stored {
  SteppedNumbers(uint64_t size, const NumberPieces& pieces)
      : size(size), begins(pieces.begins), firsts(pieces.firsts), steps(pieces.steps) {}
  uint64_t piece_of(uint64_t i) const {
    uint64_t low = 0, high = begins.size();
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      (static_cast<uint64_t>(begins[middle]) <= i ? low : high) = middle;
    }
    return low;
  }
  uint64_t end_of(uint64_t piece) const {
    return piece + 1 < begins.size() ? static_cast<uint64_t>(begins[piece + 1]) : size;
  }
  int64_t at(uint64_t i) const override {
    const uint64_t piece = piece_of(i);
    return after_steps(firsts[piece], steps[piece], i - static_cast<uint64_t>(begins[piece]));
  }
  void read(uint64_t first, uint64_t count, int64_t* out) const override {
    const uint64_t last = first + count;
    for (uint64_t i = first, piece = piece_of(first); i < last; ++piece) {
      const int64_t step = steps[piece];
      int64_t value = after_steps(firsts[piece], step, i - static_cast<uint64_t>(begins[piece]));
      for (const uint64_t end = std::min(end_of(piece), last); i < end; ++i) {
        *out++ = value;
        value = after_steps(value, step, 1);
      }
    }
  }
  size_t bytes() const override {
    return sizeof *this + begins.heap_bytes() + firsts.heap_bytes() + steps.heap_bytes();
  }
  uint64_t size;
  NumberList begins, firsts, steps;
};

/// The stored form that takes the fewest bytes.
std::unique_ptr<const NumberList::Stored> store(NumberSpan numbers) {
  const NumberRange range = range_of(numbers);
  const size_t plain = sizeof(PlainNumbers) + numbers.size_bytes(),
               packed = PackedNumbers::bytes_for(numbers, range),
               rising = RisingNumbers::bytes_for(numbers, range);
  const size_t words = NumberWords::bytes_for(numbers, range);
  const size_t least = words != kNever ? words : std::min({plain, packed, rising});
  // A piece takes three numbers, which may turn out to be regular themselves.
  NumberPieces pieces;
  if (cut(numbers, std::min(least / 3, numbers.size() / 2 + 1), &pieces)) {
    auto stepped = std::make_unique<SteppedNumbers>(numbers.size(), pieces);
    if (stepped->bytes() <= least) return stepped;
  }
  if (words == least) return std::make_unique<NumberWords>(numbers, range);
  if (rising == least) return std::make_unique<RisingNumbers>(numbers, range);
  if (packed == least) return std::make_unique<PackedNumbers>(numbers, range);
  return std::make_unique<PlainNumbers>(numbers);
}

}  // namespace

NumberList::NumberList(std::span<const int64_t> numbers) : size_(numbers.size()), hash_(size_) {
  for (const int64_t n : numbers) {
    hash_ = (hash_ ^ static_cast<uint64_t>(n)) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 29;
  }
  if (size_ > kFew)
    stored_ = store(numbers);
  else
    std::copy(numbers.begin(), numbers.end(), few_);
}

bool NumberList::operator==(const NumberList& other) const {
  if (size_ != other.size_ || hash_ != other.hash_) return false;
  int64_t a[kBlock], b[kBlock];
  for (uint64_t first = 0; first < size_; first += kBlock) {
    const uint64_t count = std::min(size_ - first, kBlock);
    read(first, count, a);
    other.read(first, count, b);
    if (!std::equal(a, a + count, b)) return false;
  }
  return true;
}

}  // namespace fgmpi::datatype
