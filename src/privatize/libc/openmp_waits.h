// OpenMP's waits: the instructions by which libgomp waits for other threads of its team.
//
// On x86-64 libgomp makes the system call futex in line, so that no interposition by name sees it.
// But each rank has its own libgomp, which this library maps. In its functions futex_wait() and
// futex_wake() (libgomp's config/linux/futex.h and wait.h) the instructions of the call are
// replaced (processor/openmp_waits_x86_64.cc). On other processors libgomp calls the C library's
// syscall(), which this library interposes.
//
// Nothing is replaced where the code differs from the known one (another libgomp, no room for
// stubs): then a rank that waits in a barrier of OpenMP stops all ranks of the process.
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
