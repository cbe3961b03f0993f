// Random bytes from the kernel, for names and keys that nobody can guess.
#pragma once

#include <cstddef>

namespace fgmpi::transport {

void random_bytes(void* bytes, size_t count);

}  // namespace fgmpi::transport
