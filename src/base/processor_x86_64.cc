// x86-64: which instructions this processor has, and copies past the caches.

#include <cpuid.h>
#include <immintrin.h>

#include "base/processor.h"

namespace fgmpi::processor {
namespace {

BitInstructions find_bit_instructions() {
  __builtin_cpu_init();
  return {__builtin_cpu_supports("popcnt") != 0, __builtin_cpu_supports("bmi2") != 0};
}

__attribute__((target("avx512f"))) void lines_512(char* to, const char* from, size_t length) {
  for (size_t at = 0; at < length; at += 64)
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

}  // namespace

const BitInstructions g_bit_instructions = find_bit_instructions();

bool counter_is_steady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

bool has_avx2() { return __builtin_cpu_supports("avx2"); }
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

// One store for a whole line avoids the merging of partial lines.
void copy_lines_past_caches(char* to, const char* from, size_t length, int width) {
  if (width == 64)
    lines_512(to, from, length);
  else if (width == 32)
    lines_256(to, from, length);
  else
    lines_128(to, from, length);
  _mm_sfence();  // these stores are not ordered with others
}

bool has_block_exchange() {
  static const bool has = [] {
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_CMPXCHG16B);
  }();
  return has;
}

}  // namespace fgmpi::processor
