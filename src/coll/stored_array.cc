// Arrays of counts and displacements that outlive a call: the choice of a form, and reading values.

#include "coll/stored_array.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace fgmpi::coll {
namespace {

/// The last arrays made that need memory: collocated members mostly give equal arrays, one after
/// the other.
std::array<std::weak_ptr<const StoredArray>, 4> g_recent;
size_t g_next_recent = 0;
/// The least bytes of an array that is entered in g_recent; a copy of a shorter one costs less than
/// a comparison.
constexpr size_t kShared = 256;

/// a - b and a + b without undefined overflow, as addresses may have any value.
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int width_of(uint64_t range) {
  return range == 0 ? 0 : range < 1u << 8 ? 1 : range < 1u << 16 ? 2 : range <= UINT32_MAX ? 4 : 8;
}

}  // namespace

int64_t Counts::other(int64_t i) const {
  if (kind == kWide) return static_cast<const MPI_Count*>(data)[i];
  return static_cast<const StoredArray*>(data)->at(i);
}

std::shared_ptr<const StoredArray> StoredArray::store(const Counts& values, int64_t n,
                                                      const StoredArray* counts) {
  for (const std::weak_ptr<const StoredArray>& recent : g_recent)
    if (std::shared_ptr<const StoredArray> kept = recent.lock())
      // Running sums refer to counts, which must live as long, so only sums of the same counts
      // are shared.
      if ((kept->form_ != Form::kSums || kept->counts_ == counts) && kept->equals(values, n))
        return kept;
  auto made = std::make_shared<StoredArray>();
  made->size_ = n;
  made->choose(values, counts);
  if (made->bytes() - sizeof(StoredArray) >= kShared)
    g_recent[g_next_recent++ % g_recent.size()] = made;
  return made;
}

bool StoredArray::equals(const Counts& values, int64_t n) const {
  if (size_ != n) return false;
  for (int64_t i = 0; i < n; ++i)
    if (at(i) != values[i]) return false;
  return true;
}

/// Chooses the form in one pass; a second pass stores what the form needs.
void StoredArray::choose(const Counts& values, const StoredArray* counts) {
  if (size_ == 0) return;
  int64_t low = values[0], high = low, sum = low;
  size_t runs = 1;
  int64_t in_run = 1, step = 0;
  bool are_sums = counts && counts->size_ == size_;
  for (int64_t i = 1; i < size_; ++i) {
    const int64_t value = values[i], difference = minus(value, values[i - 1]);
    low = std::min(low, value);
    high = std::max(high, value);
    if (in_run > 1 && difference != step) {
      ++runs;
      in_run = 0;
    }
    if (++in_run == 2) step = difference;
    if (are_sums) are_sums = (sum = plus(sum, counts->at(i - 1))) == value;
  }
  base_ = values[0];
  if (runs == 1) {
    step_ = size_ > 1 ? minus(values[1], base_) : 0;
    return;
  }
  const int width = width_of(static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
  const size_t narrow_bytes = static_cast<size_t>(size_) * static_cast<size_t>(width);
  if (runs * sizeof(ValueRun) < narrow_bytes &&
      runs * sizeof(ValueRun) < static_cast<size_t>(size_)) {
    form_ = Form::kRuns;
    runs_.reserve(runs);
    for (int64_t i = 0; i < size_; ++i) {
      const bool open = !runs_.empty() && i > runs_.back().first;
      if (open && i == runs_.back().first + 1) {
        runs_.back().step = minus(values[i], runs_.back().base);
      } else if (!open || minus(values[i], values[i - 1]) != runs_.back().step) {
        runs_.push_back({i, values[i], 0});
      }
    }
    return;
  }
  if (are_sums && width > 1) {
    form_ = Form::kSums;
    counts_ = counts;
    sums_.reserve(static_cast<size_t>(size_ / kStride + 1));
    for (int64_t i = 0; i < size_; i += kStride) sums_.push_back(values[i]);
    return;
  }
  make_narrow(values, low, width);
}

void StoredArray::make_narrow(const Counts& values, int64_t low, int width) {
  form_ = Form::kNarrow;
  base_ = low;
  width_ = static_cast<uint8_t>(width);
  numbers_.resize(static_cast<size_t>(size_) * width_);
  uint8_t* at = numbers_.data();
  for (int64_t i = 0; i < size_; ++i, at += width_) {
    const uint64_t number = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(low);
    std::memcpy(at, &number, width_);
  }
}

int64_t StoredArray::at_slow(int64_t i) const {
  switch (form_) {
    case Form::kRuns: {
      auto run = std::upper_bound(runs_.begin(), runs_.end(), i,
                                  [](int64_t index, const ValueRun& r) { return index < r.first; });
      --run;
      return run->base + (i - run->first) * run->step;
    }
    case Form::kSums: {
      int64_t sum = sums_[static_cast<size_t>(i / kStride)];
      for (int64_t k = i - i % kStride; k < i; ++k) sum += counts_->at(k);
      return sum;
    }
    case Form::kNarrow: {
      uint64_t number = 0;
      std::memcpy(&number, numbers_.data() + static_cast<size_t>(i) * width_, width_);
      return static_cast<int64_t>(static_cast<uint64_t>(base_) + number);
    }
    default:
      return base_ + i * step_;
  }
}

size_t StoredArray::bytes() const {
  return sizeof *this + runs_.capacity() * sizeof(ValueRun) + sums_.capacity() * sizeof(int64_t) +
         numbers_.capacity();
}

bool StoredArray::validate(std::string* reason) const {
  auto fails = [&](const char* why) {
    *reason = why;
    return false;
  };
  switch (form_) {
    case Form::kRule:
      return true;
    case Form::kRuns:
      if (runs_.empty() || runs_[0].first != 0) return fails("the first run does not begin at 0");
      for (size_t k = 1; k < runs_.size(); ++k)
        if (runs_[k].first <= runs_[k - 1].first) return fails("runs do not ascend");
      return runs_.back().first < size_ ? true : fails("a run begins past the end");
    case Form::kSums:
      if (!counts_ || counts_->size_ != size_) return fails("the counts have another size");
      return sums_.size() == static_cast<size_t>((size_ + kStride - 1) / kStride)
                 ? true
                 : fails("checkpoints are missing");
    case Form::kNarrow:
      return numbers_.size() == static_cast<size_t>(size_) * width_ ? true
                                                                    : fails("numbers are missing");
  }
  return fails("unknown form");
}

}  // namespace fgmpi::coll
