// Moves streams.
#include "privatize/libc/fixed_streams.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

namespace fgmpi::privatize {

FILE* move_stream(FILE* stream, StreamPlace* place) {
  const size_t bytes = malloc_usable_size(stream);
  FGMPI_CHECK(bytes <= sizeof place->bytes);
  _IO_un_link(reinterpret_cast<_IO_FILE_plus*>(stream));
  memcpy(place->bytes, stream, bytes);
  auto* moved = reinterpret_cast<FILE*>(place->bytes);
  const auto move = [&](auto** part) {
    const auto offset =
        static_cast<size_t>(reinterpret_cast<char*>(*part) - reinterpret_cast<char*>(stream));
    if (offset < bytes)
      *part = reinterpret_cast<std::remove_reference_t<decltype(*part)>>(place->bytes + offset);
  };
  move(&moved->_lock);
  move(&moved->_wide_data);
  link_stream(moved);
  free(stream);
  return moved;
}

}  // namespace fgmpi::privatize
