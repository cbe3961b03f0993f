// Broadcast along a chain, in segments; a process passes each segment on before it receives the
// next. For long data, few processes.
#include <algorithm>

#include "coll/algorithms.h"

namespace fgmpi::coll {

Status bcast_chain(const Team& team, uint32_t root, char* data, size_t bytes) {
  constexpr size_t kSegment = 256 * 1024;
  uint32_t n = team.count();
  uint32_t self = (team.me() + n - root) % n;
  uint32_t before = (team.me() + n - 1) % n, after = (team.me() + 1) % n;
  size_t at = 0;
  do {
    size_t length = std::min(kSegment, bytes - at);
    if (self > 0) FGMPI_TRY(team.recv(before, data + at, length));
    if (self + 1 < n) FGMPI_TRY(team.send(after, data + at, length));
    at += kSegment;
  } while (at < bytes);
  return {};
}

}  // namespace fgmpi::coll
