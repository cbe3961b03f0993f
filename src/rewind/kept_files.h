// The contents of files that the run only reads, kept in the recording (mpiexec -record-inputs).
//
// Kept is what the run has read or mapped, in blocks of kChunkBytes, each once however often and by
// whom it is read. A file that is changed while the run goes on is another one when it is opened
// again. Wins over recording each read where ranks read the same files; costs a call of fstat() a
// read, and the packing of each block.
//
// Thread rule: the scheduler's thread, in answers to trapped calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::rewind {

/// Called once, before calls are trapped. Maps the table of files, far from the program's memory.
/// Returns an error in words, or nullptr.
const char* begin_keeping();

/// The number of the file that has been opened; 0: it cannot be kept.
uint32_t add_kept_file(long fd);

/// Keeps the blocks of these bytes. Returns false where they cannot be kept: the file is another
/// one than it was when it was opened.
bool keep_bytes(long fd, uint32_t file, uint64_t offset, uint64_t bytes);

/// Reads the path of what is behind a descriptor. Returns its length, without the terminating zero.
size_t find_path_behind(long fd, char* path, size_t room);

}  // namespace fgmpi::rewind
