#include "base/counters.h"

#include "base/assert.h"

namespace fgmpi::counters {
namespace {
constinit Reader g_readers[kCount] = {};
}

void provide(Id id, Reader reader) {
  FGMPI_CHECK(!g_readers[id]);
  g_readers[id] = reader;
}

uint64_t read(Id id, const void* object) { return g_readers[id] ? g_readers[id](object) : 0; }

}  // namespace fgmpi::counters
