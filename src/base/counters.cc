// The table of counters: the module that provides each one, and how it is read.

#include "base/counters.h"

#include "base/assert.h"

namespace fgmpi::counters {
namespace {
constinit Reader g_readers[kCount] = {};
constinit Switch g_switches[kCount] = {};
}  // namespace

void provide(CounterId id, Reader reader, Switch on_demand) {
  FGMPI_CHECK(!g_readers[id]);
  g_readers[id] = reader;
  g_switches[id] = on_demand;
}

Switch switch_of(CounterId id) { return g_switches[id]; }

uint64_t read(CounterId id, const void* object) {
  return g_readers[id] ? g_readers[id](object) : 0;
}

}  // namespace fgmpi::counters
