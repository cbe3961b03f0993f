// Contiguous copies of sections: gathered before a call, scattered after it.

#include "fortran/staged_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace fgmpi::fortran {

Status StagedBuffer::add_block(int64_t at, int64_t count, const datatype::Type& type,
                               const char* argument) {
  if (count <= 0 || type.size() == 0) return {};
  int64_t reach, low, high;
  bool wide = __builtin_mul_overflow(count - 1, type.extent(), &reach);
  wide |= __builtin_add_overflow(at, type.true_lb() + std::min<int64_t>(reach, 0), &low);
  wide |= __builtin_add_overflow(
      at, type.true_lb() + type.true_extent() + std::max<int64_t>(reach, 0), &high);
  if (wide || low < 0 || high > section_.bytes())
    return error(MPI_ERR_BUFFER,
                 "%s is an array section of %lld bytes, and the call needs its bytes %lld to %lld; "
                 "allowed are counts and displacements that stay in the section",
                 argument, static_cast<long long>(section_.bytes()), static_cast<long long>(low),
                 static_cast<long long>(high - 1));
  datatype::TypeTreePtr tree = type.shared_tree();
  low_ = blocks_.empty() ? low : std::min(low_, low);
  high_ = std::max(high_, high);
  // Blocks that follow each other are joined, so a gather has one, whatever the number of ranks.
  if (!blocks_.empty()) {
    StagedBlock& last = blocks_.back();
    if (last.tree == tree && last.at + last.count * tree->extent == at) {
      last.count += count;
      return {};
    }
  }
  blocks_.push_back({at, count, std::move(tree)});
  return {};
}

Status StagedBuffer::allocate() {
  constexpr int64_t kAlignment = 16;  // that of malloc, and of the largest predefined type
  low_ -= low_ % kAlignment;
  try {
    memory_ = coll::raw_memory(static_cast<size_t>(std::max<int64_t>(high_ - low_, 1)));
  } catch (const std::bad_alloc&) {
    return error(MPI_ERR_NO_MEM, "no %lld bytes of memory for a copy of an array section",
                 static_cast<long long>(high_ - low_));
  }
  return {};
}

/// Calls f(address in the section, address in the memory, bytes) for each row of each block.
template <class F>
void StagedBuffer::for_each_row(F&& f) const {
  auto copy_run = [&](int64_t offset, int64_t bytes) {
    char* staged = sequence() + offset;
    section_.for_each_row(offset, bytes, [&](int64_t at, int64_t n) {
      f(section_.base() + at, staged, static_cast<size_t>(n));
      staged += n;
    });
  };
  for (const StagedBlock& block : blocks_) {
    if (block.tree->contiguous()) {
      copy_run(block.at + block.tree->low(), block.count * block.tree->size);
      continue;
    }
    datatype::for_each_run(*block.tree, block.count, [&](int64_t offset, int64_t bytes) {
      copy_run(block.at + offset, bytes);
    });
  }
}

namespace {
/// Most rows are one element long, so rows of 4 and 8 bytes are copied in line.
inline void copy_row(char* to, const char* from, size_t n) {
  if (n == 4)
    std::memcpy(to, from, 4);
  else if (n == 8)
    std::memcpy(to, from, 8);
  else
    std::memcpy(to, from, n);
}
}  // namespace

void StagedBuffer::gather() const {
  for_each_row([](char* section, char* memory, size_t n) { copy_row(memory, section, n); });
}

void StagedBuffer::scatter() const {
  for_each_row([](char* section, char* memory, size_t n) { copy_row(section, memory, n); });
}

}  // namespace fgmpi::fortran
