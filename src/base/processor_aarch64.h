// 64-bit Arm (Armv8.0 and later): see base/processor.h.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>

namespace fgmpi::processor {

/// The processor's name in messages.
inline constexpr const char* kName = "64-bit Arm";
/// The folder of its libraries in /usr/lib on Debian.
#define FGMPI_DEBIAN_FOLDER "aarch64-linux-gnu"

// ---- Files --------------------------------------------------------------------------------------

inline constexpr uint16_t kElfMachine = EM_AARCH64;
/// The numbers of the types of relocations, in the order of RelocationKind (relocation_kind.h).
inline constexpr uint32_t kRelocationTypes[] = {
    R_AARCH64_RELATIVE, R_AARCH64_ABS64,      R_AARCH64_GLOB_DAT,   R_AARCH64_JUMP_SLOT,
    R_AARCH64_COPY,     R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_DTPREL, R_AARCH64_TLS_TPREL,
    R_AARCH64_TLSDESC,  R_AARCH64_IRELATIVE,  R_AARCH64_NONE};

// ---- Instructions -------------------------------------------------------------------------------

/// Makes a system call. Returns the kernel's answer unchanged; a negative number is an error.
inline long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
}

/// Pauses for some tens of cycles. `yield` does nothing on most cores; `isb` refills the pipeline.
inline void pause() { asm volatile("isb" ::: "memory"); }

/// A counter that rises all the time. It is equal in all processes of a host if it is steady.
inline uint64_t read_counter() {
  uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
}
/// True where the counter has the same rate in all cores and never stops. The architecture
/// guarantees this of the system counter.
inline bool counter_is_steady() { return true; }

/// Bytes of a jump to any address: two instructions, and the address behind them.
inline constexpr size_t kJumpBytes = 16;

/// Makes unwinders stop at the function that begins with it: nobody has called that function.
[[gnu::always_inline]] inline void end_call_stack() { asm volatile(".cfi_undefined x30"); }

/// How floating-point numbers are rounded, and which exceptions they raise. Boost.Context does not
/// keep it across a switch of stacks.
struct FloatMode {
  uint64_t control;
};
inline FloatMode float_mode() {
  FloatMode mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode.control));
  return mode;
}
/// Writes the register only where it has to change: that takes tens of cycles.
inline void set_float_mode(FloatMode mode) {
  if (__builtin_expect(float_mode().control != mode.control, 0))
    asm volatile("msr fpcr, %0" ::"r"(mode.control));
}

/// Code of -fstack-clash-protection touches a new frame at least once in so many bytes.
inline constexpr size_t kFrameStep = 64 << 10;

// ---- Bits of words ------------------------------------------------------------------------------

/// Has the processor deposit_bits()? Without, deposit_bits() must not be called.
constexpr bool has_deposit() { return false; }
constexpr uint64_t deposit_bits(uint64_t, uint64_t) { return 0; }
constexpr bool has_popcount() { return true; }
constexpr int popcount(uint64_t word) { return __builtin_popcountll(word); }

// ---- Long data ----------------------------------------------------------------------------------

/// Before functions that are compiled for wider vector registers (base/registers.h).
#define FGMPI_FOR_AVX2
#define FGMPI_FOR_AVX512
#define FGMPI_FOR_EACH_WIDTH
inline constexpr bool kHasWiderRegisters = false;
/// Which of them this processor has.
constexpr bool has_avx2() { return false; }
constexpr bool has_avx512() { return false; }

/// Are there stores that go to memory without fetching the lines into this core's cache?
inline constexpr bool kStoresPastCaches = false;
inline void copy_lines_past_caches(char*, const char*, size_t, int) {}

// ---- Atomic blocks ------------------------------------------------------------------------------

/// A floating-point number of IEEE's format of 128 bits.
using Quad = long double;

/// Does an atomic change of a word wait for all stores before it, and finish before any load behind
/// it, as a fence does?
inline constexpr bool kAtomicChangeIsFence = false;

struct alignas(16) AtomicBlock {
  uint64_t words[2];
};

/// Has the processor exchange_block()?
constexpr bool has_block_exchange() { return true; }

/// Sets *at to desired if it equals *expected, else *expected to *at; acquires and releases. Where
/// it fails, *expected is a copy of which each word was loaded at once, but not both together.
inline bool exchange_block(AtomicBlock* at, AtomicBlock* expected, const AtomicBlock& desired) {
  uint64_t low, high;
  uint32_t failed;
  __asm__ __volatile__(
      "1: ldaxp %[low], %[high], %[at]\n"
      "   cmp %[low], %[old_low]\n"
      "   ccmp %[high], %[old_high], #0, eq\n"
      "   mov %w[failed], #1\n"
      "   b.ne 2f\n"
      "   stlxp %w[failed], %[new_low], %[new_high], %[at]\n"
      "   cbnz %w[failed], 1b\n"
      "2:"
      : [low] "=&r"(low), [high] "=&r"(high), [failed] "=&r"(failed), [at] "+Q"(*at)
      : [old_low] "r"(expected->words[0]), [old_high] "r"(expected->words[1]),
        [new_low] "r"(desired.words[0]), [new_high] "r"(desired.words[1])
      : "cc", "memory");
  if (__builtin_expect(failed, 0)) *expected = {{low, high}};
  return !failed;
}

/// Stores a block so that each aligned word of it is stored at once, after all loads and stores
/// before it. REQUIRES: `to` is aligned.
inline void store_block(char* to, const char* from) {
  AtomicBlock block;
  __builtin_memcpy(&block, from, sizeof block);
  auto* at = reinterpret_cast<AtomicBlock*>(to);
  __atomic_store_n(&at->words[0], block.words[0], __ATOMIC_RELEASE);
  __atomic_store_n(&at->words[1], block.words[1], __ATOMIC_RELEASE);
}
/// Loads a block so that each aligned word of it is loaded at once, before all loads and stores
/// behind it. REQUIRES: `from` is aligned.
inline void load_block(char* to, const char* from) {
  const auto* at = reinterpret_cast<const AtomicBlock*>(from);
  AtomicBlock block;
  block.words[0] = __atomic_load_n(&at->words[0], __ATOMIC_ACQUIRE);
  block.words[1] = __atomic_load_n(&at->words[1], __ATOMIC_ACQUIRE);
  __builtin_memcpy(to, &block, sizeof block);
}

/// Would set the words by which the compiler guards frames, and the C library pointers to code:
/// here both are variables of the dynamic linker, which are read-only once the program has begun.
inline void set_thread_guards(uint64_t /*stack*/, uint64_t /*pointers*/) {}

}  // namespace fgmpi::processor
