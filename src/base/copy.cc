#include "base/copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fgmpi {

#if defined(__x86_64__)
namespace {

/// What one turn of the loops copies: a line.
constexpr size_t kTurn = 64;

/// The compiler would make one memcpy of the loop.
inline void stay_a_loop() { asm volatile("" ::: "memory"); }

__attribute__((target("avx2"))) void copy_by_avx2(char* to, const char* from, size_t length) {
  const char* const last_from = from + length - kTurn;
  char* const last_to = to + length - kTurn;
  auto turn = [](char* t, const char* f) __attribute__((target("avx2"), always_inline)) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(f));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(f + 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(t), a);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(t + 32), b);
    stay_a_loop();
  };
  for (; from < last_from; from += kTurn, to += kTurn) turn(to, from);
  turn(last_to, last_from);
}

void copy_by_sse2(char* to, const char* from, size_t length) {
  const char* const last_from = from + length - kTurn;
  char* const last_to = to + length - kTurn;
  auto turn = [](char* t, const char* f) __attribute__((always_inline)) {
    __m128i line[4];
    for (int i = 0; i < 4; ++i) line[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(f) + i);
    for (int i = 0; i < 4; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(t) + i, line[i]);
    stay_a_loop();
  };
  for (; from < last_from; from += kTurn, to += kTurn) turn(to, from);
  turn(last_to, last_from);
}

}  // namespace

void copy_by_loads(void* to, const void* from, size_t length) {
  static const bool avx2 = __builtin_cpu_supports("avx2");
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
  if (avx2)
    copy_by_avx2(t, f, length);
  else
    copy_by_sse2(t, f, length);
}
#else
void copy_by_loads(void* to, const void* from, size_t length) { std::memcpy(to, from, length); }
#endif

}  // namespace fgmpi
