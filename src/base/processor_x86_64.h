// x86-64: see base/processor.h.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>

namespace fgmpi::processor {

/// The processor's name in messages.
inline constexpr const char* kName = "x86-64";
/// The folder of its libraries in /usr/lib on Debian.
#define FGMPI_DEBIAN_FOLDER "x86_64-linux-gnu"

// ---- Files --------------------------------------------------------------------------------------

inline constexpr uint16_t kElfMachine = EM_X86_64;
/// The numbers of the types of relocations, in the order of RelocationKind (relocation_kind.h).
inline constexpr uint32_t kRelocationTypes[] = {
    R_X86_64_RELATIVE, R_X86_64_64,        R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT,
    R_X86_64_COPY,     R_X86_64_DTPMOD64,  R_X86_64_DTPOFF64, R_X86_64_TPOFF64,
    R_X86_64_TLSDESC,  R_X86_64_IRELATIVE, R_X86_64_NONE};

// ---- Instructions -------------------------------------------------------------------------------

/// Makes a system call. Returns the kernel's answer unchanged; a negative number is an error.
inline long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

/// Lets the other hardware thread of the core run for a moment.
inline void pause() { __builtin_ia32_pause(); }

/// A counter that rises all the time. It is equal in all processes of a host if it is steady.
inline uint64_t read_counter() { return __builtin_ia32_rdtsc(); }
/// True where the counter has the same rate in all cores and never stops.
bool counter_is_steady();

/// Bytes of a jump to any address: jmp *0(%rip), and the address behind it.
inline constexpr size_t kJumpBytes = 14;

/// Makes unwinders stop at the function that begins with it: nobody has called that function.
[[gnu::always_inline]] inline void end_call_stack() { asm volatile(".cfi_undefined rip"); }

/// What a switch of stacks has to keep of how floating-point numbers are rounded, and which
/// exceptions they raise: nothing, since the jump itself keeps it here (processor_jump.h).
struct FloatMode {};
constexpr FloatMode float_mode() { return {}; }
constexpr void set_float_mode(FloatMode) {}

/// Code of -fstack-clash-protection touches a new frame at least once in so many bytes.
inline constexpr size_t kFrameStep = 4 << 10;

// ---- Bits of words ------------------------------------------------------------------------------
// The library is built for the base instruction set and asks the processor once; the test of the
// flag is a predicted branch, far cheaper than a call through a table.

struct BitInstructions {
  bool popcnt, bmi2;
};
/// All false until this library's variables are initialised.
extern const BitInstructions g_bit_instructions;

/// Has the processor deposit_bits()? Without, deposit_bits() must not be called.
inline bool has_deposit() { return __builtin_expect(g_bit_instructions.bmi2, 1); }
/// The low bits of `bits`, spread over the one-bits of `mask` from the lowest up.
inline uint64_t deposit_bits(uint64_t bits, uint64_t mask) {
  uint64_t spread;
  __asm__("pdep %2, %1, %0" : "=r"(spread) : "r"(bits), "r"(mask));
  return spread;
}
inline bool has_popcount() { return __builtin_expect(g_bit_instructions.popcnt, 1); }
inline int popcount(uint64_t word) {
  uint64_t count;
  __asm__("popcnt %1, %0" : "=r"(count) : "r"(word) : "cc");
  return static_cast<int>(count);
}

// ---- Long data ----------------------------------------------------------------------------------

/// Before functions that are compiled for wider vector registers (base/registers.h).
#define FGMPI_FOR_AVX2 __attribute__((target("avx2")))
#define FGMPI_FOR_AVX512 __attribute__((target("avx512f,avx512dq")))
/// Before a function that the compiler makes for each width; the linker chooses one at the start.
#define FGMPI_FOR_EACH_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
inline constexpr bool kHasWiderRegisters = true;
/// Which of them this processor has.
bool has_avx2();
bool has_avx512();

/// Are there stores that go to memory without fetching the lines into this core's cache?
inline constexpr bool kStoresPastCaches = true;
/// Copies whole cache lines (64 bytes) by such stores; `to` is the start of one. `width`: 16, 32 or
/// 64 bytes a register. Later stores become visible after the copy.
void copy_lines_past_caches(char* to, const char* from, size_t length, int width);

// ---- Atomic blocks ------------------------------------------------------------------------------

/// A floating-point number of IEEE's format of 128 bits.
using Quad = __float128;

/// Does an atomic change of a word wait for all stores before it, and finish before any load behind
/// it, as a fence does?
inline constexpr bool kAtomicChangeIsFence = true;

struct alignas(16) AtomicBlock {
  uint64_t words[2];
};

/// Has the processor exchange_block()?
bool has_block_exchange();

/// Sets *at to desired if it equals *expected, else *expected to *at. A locked instruction waits
/// for all stores before it, so this stores nothing else where it succeeds.
inline bool exchange_block(AtomicBlock* at, AtomicBlock* expected, const AtomicBlock& desired) {
  bool done;
  uint64_t low = expected->words[0], high = expected->words[1];
  __asm__ __volatile__("lock cmpxchg16b %1"
                       : "=@ccz"(done), "+m"(*at), "+a"(low), "+d"(high)
                       : "b"(desired.words[0]), "c"(desired.words[1])
                       : "memory");
  if (__builtin_expect(!done, 0)) *expected = {{low, high}};
  return done;
}

/// The bytes of a block in a vector register.
typedef long long BlockVector __attribute__((vector_size(16), may_alias));
typedef long long UnalignedBlockVector __attribute__((vector_size(16), may_alias, aligned(1)));

/// Stores a block so that each aligned word of it is stored at once. REQUIRES: `to` is aligned.
inline void store_block(char* to, const char* from) {
  *reinterpret_cast<BlockVector*>(to) = *reinterpret_cast<const UnalignedBlockVector*>(from);
  __asm__ __volatile__("" ::: "memory");  // else a loop becomes memmove, which may store bytes
}
/// Loads a block so that each aligned word of it is loaded at once. REQUIRES: `from` is aligned.
inline void load_block(char* to, const char* from) {
  *reinterpret_cast<UnalignedBlockVector*>(to) = *reinterpret_cast<const BlockVector*>(from);
  __asm__ __volatile__("" ::: "memory");
}

/// Sets the words of the calling thread, which new threads inherit, by which the compiler guards
/// frames, and the C library pointers to code that it stores.
inline void set_thread_guards(uint64_t stack, uint64_t pointers) {
  __asm__ __volatile__("movq %0, %%fs:0x28\n\tmovq %1, %%fs:0x30"
                       :
                       : "r"(stack), "r"(pointers)
                       : "memory");
}

}  // namespace fgmpi::processor
