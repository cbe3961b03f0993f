// Files in /dev/shm of a run: memory that has a name.
//
// A repeated run makes memory of its own for each (memfd_create) and uses no name there: a name may
// belong to another process, and would stay, since files are not removed when a run is repeated.
// What a file contains when the run first opens it is recorded. Each has a number, which is free
// for another one when its last name has been removed: by numbers, a file that was linked to
// another name is found again.
//
// Thread rule: the scheduler's thread, in answers to trapped calls.
#pragma once

#include <cstdint>

namespace fgmpi::rewind {

/// Is memory of this path a file in /dev/shm? Other memory is opened by its descriptor
/// (/proc/self/fd).
bool is_named_memory(const char* path);
/// Is it a descriptor of this layer's own, by which a file is kept?
bool is_memory_descriptor(long fd);

/// Keeps another descriptor of the file, in place of the one so far. False: the limit of open files
/// is too low.
bool keep_memory(int64_t file, long fd);
/// Opens what is behind a descriptor as another file, with a place of its own. Returns the new
/// descriptor, or an error of the kernel.
long open_once_more(long fd, long flags);

/// Passes which file in /dev/shm the run has opened as `fd`, with the flags of open(). Returns a
/// descriptor of it, which is `fd` where the run is recorded, and to be moved there where it is
/// repeated. REQUIRES: a record has been begun.
long pass_memory_file(long fd, long flags);

}  // namespace fgmpi::rewind
