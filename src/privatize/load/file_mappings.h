// Mappings of files that ranks have made (mmap), when ranks are saved and go on in another process:
// the files are mapped again at the same addresses, which lie in the rank's slot.
//
// A private mapping keeps the pages that the rank has written: they are saved as its memory is. The
// other pages, and all of a shared mapping, are the file's. So the file of a private mapping has to
// be there as it was (inode, size, time of change). A shared mapping goes on with what its file
// holds then, which other ranks may have written. The file has to be as long as it was, and the
// same one (inode) where the mapping is read-only.
//
// Not carried: devices, files that were removed or replaced, memory that is shared without a file
// (also /dev/shm), and what lies outside of the slot.
//
// Thread rule: the scheduler's thread. Nothing switches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace fgmpi::privatize {

/// Says which mapping of the rank cannot be carried, in words that follow "it"; nullptr: all can,
/// or it has none. The text is valid up to the next call. Does not allocate.
const char* describe_other_mapping(uint32_t index);
/// Writes what files the rank has mapped, and where, to a block in its slot, in place of the one at
/// *list. Writes shared pages to their files. Returns nullptr, or describe_other_mapping()'s words.
const char* describe_file_mappings(uint32_t index, void** list, uint64_t* bytes);
/// Maps what such a block tells; private mappings are readable and writable until their protection
/// is set. REQUIRES: called before ranks run; the rank's memory is not yet filled in. Errors name
/// the file.
Status map_files(uint32_t index, const void* list, size_t bytes);

}  // namespace fgmpi::privatize
