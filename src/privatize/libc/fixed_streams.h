// Streams of the process at addresses that are the same in each process of the program: a rank that
// is saved may have them in its memory (base/checkpoint_link.h).
//
// Thread rule: one thread, before ranks run.
#pragma once

#include <stdio.h>

#include <cstddef>

// The C library's own: puts a stream into its list of all streams, takes it out.
extern "C" {
struct _IO_FILE_plus;
void _IO_link_in(_IO_FILE_plus* stream);
void _IO_un_link(_IO_FILE_plus* stream);
}

namespace fgmpi::privatize {

/// Puts a stream into the C library's list that is in it by its own words, but of another process,
/// or at another address.
inline void link_stream(FILE* stream) {
  constexpr int kIsLinked = 0x80;  // the C library's flag
  stream->_flags &= ~kIsLinked;
  _IO_link_in(reinterpret_cast<_IO_FILE_plus*>(stream));
}

/// Static memory for a stream.
struct StreamPlace {
  alignas(std::max_align_t) char bytes[1024];
};

/// Moves a stream that nothing was written to into `place`. Returns it; the former address is no
/// stream any more.
FILE* move_stream(FILE* stream, StreamPlace* place);

}  // namespace fgmpi::privatize
