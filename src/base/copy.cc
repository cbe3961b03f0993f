#include "base/copy.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/registers.h"

namespace fgmpi {
namespace {

/// What one turn of the loop copies: a cache line.
constexpr size_t kLine = 64;

/// As the target's registers.
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

/// The last line overlaps the one before it.
template <size_t width>
[[gnu::always_inline]] inline void copy_lines(char* to, const char* from, size_t length) {
  const char* const last = from + length - kLine;
  char* const last_to = to + length - kLine;
  for (; from < last; from += kLine, to += kLine) {
    copy_line<width>(to, from);
    asm volatile("" ::: "memory");  // or the compiler makes one memcpy of the loop
  }
  copy_line<width>(last_to, last);
}

void narrow(char* to, const char* from, size_t length) { copy_lines<16>(to, from, length); }
#ifdef __x86_64__
__attribute__((target("avx2"))) void wide(char* to, const char* from, size_t length) {
  copy_lines<32>(to, from, length);
}
#endif

#ifdef __x86_64__
void stream_narrow(char* to, const char* from, size_t lines) {
  for (; lines > 0; --lines, from += kLine, to += kLine)
    for (size_t i = 0; i < kLine; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
}
__attribute__((target("avx2"))) void stream_wide(char* to, const char* from, size_t lines) {
  for (; lines > 0; --lines, from += kLine, to += kLine)
    for (size_t i = 0; i < kLine; i += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
}
#endif

}  // namespace

void copy_past_caches(void* to, const void* from, size_t length, Registers registers) {
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
  size_t whole = 0;
#ifdef __x86_64__
  whole = length / kLine * kLine;
  if (registers >= Registers::kAvx2)
    stream_wide(t, f, whole / kLine);
  else
    stream_narrow(t, f, whole / kLine);
  _mm_sfence();  // such stores are not in order with others
#else
  (void)registers;
#endif
  if (whole < length) std::memcpy(t + whole, f + whole, length - whole);
}

void copy_by_loads(void* to, const void* from, size_t length, Registers registers) {
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
#ifdef __x86_64__
  // Wider ones than AVX2's bring nothing here: a line from another core takes longer than its loads.
  if (registers >= Registers::kAvx2) return wide(t, f, length);
#endif
  narrow(t, f, length);
}

}  // namespace fgmpi
