// Copies by cache lines: loops for each width of vector registers, and stores that
// bypass the caches.

#include "base/copy.h"

#include <cstdint>

#include "base/processor.h"

namespace fgmpi {
namespace {

/// What one iteration of the loop copies: a cache line.
constexpr size_t kLine = 64;

/// A vector as wide as the target's registers.
template <size_t width>
struct Vector {
  typedef char type __attribute__((vector_size(width), aligned(1), may_alias));
};

template <size_t width>
[[gnu::always_inline]] inline void copy_line(char* to, const char* from) {
  using V = typename Vector<width>::type;
  constexpr size_t n = kLine / width;
  V line[n];
  for (size_t i = 0; i < n; ++i) line[i] = reinterpret_cast<const V*>(from)[i];
  for (size_t i = 0; i < n; ++i) reinterpret_cast<V*>(to)[i] = line[i];
}

/// Copies `length` bytes by lines. The last line overlaps the one before it.
template <size_t width>
[[gnu::always_inline]] inline void copy_lines(char* to, const char* from, size_t length) {
  const char* const last = from + length - kLine;
  char* const last_to = to + length - kLine;
  for (; from < last; from += kLine, to += kLine) {
    copy_line<width>(to, from);
    asm volatile("" ::: "memory");  // keeps the compiler from making one memcpy of the loop
  }
  copy_line<width>(last_to, last);
}

void narrow(char* to, const char* from, size_t length) { copy_lines<16>(to, from, length); }
FGMPI_FOR_AVX2 void wide(char* to, const char* from, size_t length) {
  copy_lines<32>(to, from, length);
}

template <size_t width>
[[gnu::always_inline]] inline void copy_rows_by_lines(RowsAt to, RowsAt from, size_t length,
                                                      int64_t count) {
  for (; count > 0; --count, to.first += to.stride, from.first += from.stride)
    copy_lines<width>(to.first, from.first, length);
}
void narrow_rows(RowsAt to, RowsAt from, size_t length, int64_t count) {
  copy_rows_by_lines<16>(to, from, length, count);
}
FGMPI_FOR_AVX2 void wide_rows(RowsAt to, RowsAt from, size_t length, int64_t count) {
  copy_rows_by_lines<32>(to, from, length, count);
}

}  // namespace

void copy_rows_by_loads(RowsAt to, RowsAt from, size_t length, int64_t count, Registers registers) {
  (registers >= Registers::kAvx2 ? wide_rows : narrow_rows)(to, from, length, count);
}

void copy_past_caches(void* to, const void* from, size_t length, Registers registers) {
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
  if (processor::kStoresPastCaches && length > 4 * kLine) {
    size_t head = (kLine - (reinterpret_cast<uintptr_t>(to) & (kLine - 1))) & (kLine - 1);
    std::memcpy(t, f, head);
    size_t whole = (length - head) & ~(kLine - 1);
    processor::copy_lines_past_caches(t + head, f + head, whole, 16 << static_cast<int>(registers));
    t += head + whole;
    f += head + whole;
    length -= head + whole;
  }
  if (length) std::memcpy(t, f, length);
}

void copy_by_loads(void* to, const void* from, size_t length, Registers registers) {
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
  // Registers wider than AVX2's bring no gain: fetching a line from another core takes longer
  // than the loads.
  if (registers >= Registers::kAvx2) return wide(t, f, length);
  narrow(t, f, length);
}

}  // namespace fgmpi
