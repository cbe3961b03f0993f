// OpenMP's waits: the places where libgomp waits for other threads of its team.
//
// libgomp calls the kernel in line (futex), so that no interposition by name sees it. But each rank
// has its own libgomp, which this library maps: there the instructions
//
//   0f 05         syscall              e9 ........   jmp   stub        stub: lea  back(%rip), %rcx
//   48 83 f8 da   cmp $-ENOSYS, %rax   90            nop                     jmp  thunk  -->  fgmpi_openmp_call
//
// which are how its functions futex_wait() and futex_wake() call the kernel first (libgomp's
// config/linux/futex.h and wait.h), are replaced. The stubs lie between the end of the code and the
// end of its last page. A system call may change rcx, r11 and the flags, and the comparison sets
// the flags: these are all that the detour changes beside the result.
//
// Nothing is replaced where the code looks otherwise (another libgomp, another processor, no room
// for stubs): then OpenMP's barriers hold all ranks of the process.
//
// Thread rule: one thread, before ranks run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "privatize/elf_module.h"

namespace fgmpi::privatize {

/// Bytes to be put at `offset` from the base of the module.
struct CodePatch {
  uintptr_t offset;
  std::string bytes;
};

/// What is to be replaced in a libgomp; empty for any other module, and where nothing can be.
std::vector<CodePatch> openmp_waits(const ElfModule& module);

/// A file with the contents of `fd` and the patches, or -1.
int patched_copy(int fd, const ElfModule& module, const std::vector<CodePatch>& patches);

/// Replaces them in the loaded module. False: the system does not allow it, and nothing has been
/// changed.
bool patch_loaded(const ElfModule& module, const std::vector<CodePatch>& patches);

}  // namespace fgmpi::privatize
