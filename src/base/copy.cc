// Copies by cache lines: loops for each width of vector registers, and stores that
// bypass the caches.

#include "base/copy.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <cstdint>

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
#ifdef __x86_64__
__attribute__((target("avx2"))) void wide(char* to, const char* from, size_t length) {
  copy_lines<32>(to, from, length);
}
#endif

#ifdef __x86_64__
/// Copies whole cache lines; `to` is the start of one. One store for a whole line avoids the
/// merging of partial lines.
using Lines = void (*)(char* to, const char* from, size_t length);

__attribute__((target("avx512f"))) void lines_512(char* to, const char* from, size_t length) {
  for (size_t at = 0; at < length; at += kLine)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
}
__attribute__((target("avx"))) void lines_256(char* to, const char* from, size_t length) {
  for (size_t at = 0; at < length; at += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
}
void lines_128(char* to, const char* from, size_t length) {
  for (size_t at = 0; at < length; at += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
}

constexpr Lines kLines[] = {lines_128, lines_256, lines_512};
#endif

}  // namespace

void copy_past_caches(void* to, const void* from, size_t length,
                      [[maybe_unused]] Registers registers) {
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
#ifdef __x86_64__
  if (length > 4 * kLine) {
    size_t head = (kLine - (reinterpret_cast<uintptr_t>(to) & (kLine - 1))) & (kLine - 1);
    std::memcpy(t, f, head);
    size_t whole = (length - head) & ~(kLine - 1);
    kLines[static_cast<size_t>(registers)](t + head, f + head, whole);
    _mm_sfence();  // these stores are not ordered with others
    t += head + whole;
    f += head + whole;
    length -= head + whole;
  }
#endif
  if (length) std::memcpy(t, f, length);
}

void copy_by_loads(void* to, const void* from, size_t length, Registers registers) {
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
#ifdef __x86_64__
  // Registers wider than AVX2's bring no gain: fetching a line from another core takes longer
  // than the loads.
  if (registers >= Registers::kAvx2) return wide(t, f, length);
#endif
  narrow(t, f, length);
}

}  // namespace fgmpi
