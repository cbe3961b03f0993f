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
/// The numbers of the types of relocations, in the order of RelocationKind (base/relocation_kind.h).
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

/// Makes unwinders stop at the function that begins with it: nobody has called that function.
[[gnu::always_inline]] inline void end_call_stack() { asm volatile(".cfi_undefined rip"); }

}  // namespace fgmpi::processor
