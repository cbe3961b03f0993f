// Packing of blocks, by LZ4 where the build has it. Thread rule: any.
#pragma once

#include <cstddef>

namespace fgmpi::checkpoint {

/// Packs at most kBlockBytes. Returns the bytes written; 0: they do not fit into `room`.
size_t pack_block(const char* from, size_t bytes, char* to, size_t room);
/// Unpacks what pack_block() has made of `bytes`. Returns false where it is something else, or
/// where this build cannot.
bool unpack_block(const char* from, size_t packed, char* to, size_t bytes);

}  // namespace fgmpi::checkpoint
