// Random bytes, from the kernel's getrandom.

#include "transport/random.h"

#include <sys/random.h>

#include <cerrno>

#include "base/assert.h"

namespace fgmpi::transport {

void random_bytes(void* bytes, size_t count) {
  auto* at = static_cast<char*>(bytes);
  while (count) {
    ssize_t n = getrandom(at, count, 0);
    if (n < 0 && errno == EINTR) continue;
    FGMPI_CHECK(n > 0);
    at += n;
    count -= static_cast<size_t>(n);
  }
}

}  // namespace fgmpi::transport
