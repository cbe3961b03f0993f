#include "coll/move.h"

#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>

namespace fgmpi::coll {

Status truncated(int64_t have, int64_t room) {
  return error(MPI_ERR_TRUNCATE,
               "%lld bytes are sent where %lld are expected; counts and types must match",
               static_cast<long long>(have), static_cast<long long>(room));
}

Status pack_derived(const Segment& from, char* out) {
  if (from.bytes() == 0) return {};
  return host::pack(from.address, from.count, *from.type, out);
}

Status unpack_derived(const char* in, int64_t bytes, const Segment& to) {
  if (bytes == 0) return {};
  return host::unpack(in, bytes, to.address, to.count, *to.type);
}

Status copy_derived(const Segment& from, const Segment& to) {
  if (from.bytes() > to.bytes()) return truncated(from.bytes(), to.bytes());
  if (from.bytes() == 0) return {};
  if (from.address == to.address && from.type->handle() == to.type->handle()) return {};
  return host::copy(from.address, from.count, *from.type, to.address, to.count, *to.type);
}

char* run_of_bytes(const Segment& s) {
  if (!s.type->contiguous()) return nullptr;
  return s.address + s.type->true_lb();
}

bool exceeds_caches(size_t bytes) {
  static const size_t last_level = [] {
    long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return size > 0 ? static_cast<size_t>(size) : size_t{32} << 20;
  }();
  return bytes > last_level;
}

#ifdef __x86_64__
namespace {

constexpr size_t kLine = 64;
/// Copies whole cache lines; `to` begins one. Whole lines by one store each spare the merging of
/// parts.
using Lines = void (*)(const char* from, char* to, size_t bytes);

__attribute__((target("avx512f"))) void lines_512(const char* from, char* to, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kLine)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
}
__attribute__((target("avx"))) void lines_256(const char* from, char* to, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
}
void lines_128(const char* from, char* to, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
}

constexpr Lines kLines[] = {lines_128, lines_256, lines_512};

}  // namespace

void stream(const char* from, char* to, size_t bytes, Registers registers) {
  Lines lines = kLines[static_cast<size_t>(registers)];
  if (bytes > 4 * kLine) {
    size_t head = (kLine - (reinterpret_cast<uintptr_t>(to) & (kLine - 1))) & (kLine - 1);
    std::memcpy(to, from, head);
    size_t whole = (bytes - head) & ~(kLine - 1);
    lines(from + head, to + head, whole);
    _mm_sfence();
    from += head + whole;
    to += head + whole;
    bytes -= head + whole;
  }
  if (bytes) std::memcpy(to, from, bytes);
}
#else
void stream(const char* from, char* to, size_t bytes, Registers) {
  if (bytes) std::memcpy(to, from, bytes);
}
#endif

void copy_to_many(const char* from, size_t bytes, char* const* to, size_t count) {
  constexpr size_t kPiece = 32 * 1024;
  bool streamed = exceeds_caches(bytes * count);
  for (size_t at = 0; at < bytes; at += kPiece) {
    size_t n = std::min(kPiece, bytes - at);
    for (size_t i = 0; i < count; ++i)
      if (to[i] != from) copy_bytes(from + at, to[i] + at, n, streamed);
  }
}

}  // namespace fgmpi::coll
