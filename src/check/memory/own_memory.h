// The checker's memory and system calls where it runs in a recorded run, or in one that is repeated
// (mpiexec -rewind FILE -check).
//
// The program must see there what it saw when the run was recorded: its heap, the addresses of its
// mappings, the answers to its system calls. So what the checker allocates comes from mappings of
// its own far from where the system places any by itself, and it calls the kernel past the
// recording (src/rewind/hooks.h). In all other runs this is the C library's heap, and the kernel.
// Thread rule: any thread; recorded runs have one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace fgmpi::check {

/// Memory from the system, zeroed, for good; null: there is none. In recorded runs it begins at a
/// multiple of kOwnAlignment.
void* map_memory(size_t bytes);
/// The mappings of recorded runs lie here: above those of recordings (src/rewind/recording.cc),
/// below those of the system.
inline constexpr uintptr_t kOwnLow = 0x620000000000, kOwnHigh = 0x640000000000;
inline constexpr size_t kOwnAlignment = size_t{2} << 20;

/// Gives pages back to the system; the mapping stays.
void discard_memory(void* pages, size_t bytes);

/// The number of this process. In recorded runs the program gets that of the recorded process.
pid_t process_number();

// In place of readlink() and write(), which would be answered by the recording.
long read_link_past_recording(const char* path, char* to, size_t size);
long write_past_recording(int fd, const void* bytes, size_t size);

}  // namespace fgmpi::check
