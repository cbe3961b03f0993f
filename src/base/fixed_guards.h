// The random words of a process, made the same in all processes:
//
//   stack     frames of functions that are compiled with -fstack-protector hold it
//   pointers  jmp_buf, and functions that the C library stores, are combined with it
//   AT_RANDOM 16 bytes of the kernel's, of which the dynamic linker has made the other two
//
// A rank that goes to another process, and a recorded run that is repeated, have the same bytes in
// their memory there. Addresses are not random in these processes either (ADDR_NO_RANDOMIZE).
//
// Thread rule: once, in a constructor of a library that asks to be initialised first of all
// (-z initfirst): nothing has used the words yet, and the dynamic linker's own frames have no
// guards. Of several such libraries the dynamic linker initialises only one first; all set the
// same words.
#pragma once

#include <sys/auxv.h>
#include <sys/personality.h>

#include <cstdint>

#include "base/processor.h"

namespace fgmpi {

// Arbitrary; the lowest byte of the stack's is zero, which ends texts that overrun a buffer.
inline constexpr uint64_t kStackGuard = 0x5bd1e995c4a3d700, kPointerGuard = 0x2545f4914f6cdd1d;

/// Fixes the words, where addresses are not random. REQUIRES: the caller has no guard in its frame
/// (gnu::no_stack_protector).
[[gnu::always_inline]] inline void fix_guards_without_random_addresses() {
  const int now = personality(0xffffffff);
  if (now < 0 || !(now & ADDR_NO_RANDOMIZE)) return;
  processor::set_thread_guards(kStackGuard, kPointerGuard);
  if (auto* random = reinterpret_cast<uint64_t*>(getauxval(AT_RANDOM))) {
    __builtin_memcpy(random, &kStackGuard, sizeof kStackGuard);
    __builtin_memcpy(random + 1, &kPointerGuard, sizeof kPointerGuard);
  }
}

}  // namespace fgmpi
