// OpenMP's waits: the instructions by which libgomp waits for other threads of its team.
//
// libgomp makes the system call futex in line, so that no interposition by name sees it. But each
// rank has its own libgomp, which this library maps. Its functions futex_wait() and futex_wake()
// (libgomp's config/linux/futex.h and wait.h) call the kernel first by these instructions:
//
//   original                            replaced by            stub
//   0f 05         syscall               e9 ...  jmp stub       lea  back(%rip), %rcx
//   48 83 f8 da   cmp $-ENOSYS, %rax    90      nop            jmp  thunk --> fgmpi_openmp_call
//
// The stubs lie between the end of the code and the end of its last page. A system call may change
// rcx, r11 and the flags, and the comparison sets the flags: beside the result, the detour changes
// only these.
//
// Nothing is replaced where the code differs from this (another libgomp, another processor, no room
// for stubs): then a rank that waits in a barrier of OpenMP stops all ranks of the process.
//
// Thread rule: one thread, before ranks run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "privatize/image/elf_module.h"

namespace fgmpi::privatize {

/// Bytes to be put at `offset` from the base of the module.
struct CodePatch {
  uintptr_t offset;
  std::string bytes;
};

/// The patches for a libgomp; empty for any other module, and where none can be made.
std::vector<CodePatch> openmp_waits(const ElfModule& module);

/// A file with the contents of `fd` and the patches, or -1.
int patched_copy(int fd, const ElfModule& module, const std::vector<CodePatch>& patches);

/// Applies the patches to the loaded module. Returns false where the system does not allow it;
/// nothing has been changed then.
bool patch_loaded(const ElfModule& module, const std::vector<CodePatch>& patches);

}  // namespace fgmpi::privatize
