// The table of counters: the module that provides each one, and how it is read.

#include "base/counters.h"

#include "base/assert.h"

namespace fgmpi::counters {
namespace {
/// What the modules that count have provided; its readers are null for other modules' counters.
struct ProvidedCounters {
  Reader readers[kCount] = {};
  Switch switches[kCount] = {};
};
constinit ProvidedCounters g_provided;
}  // namespace

void provide(CounterId id, Reader reader, Switch on_demand) {
  FGMPI_CHECK(!g_provided.readers[id]);
  g_provided.readers[id] = reader;
  g_provided.switches[id] = on_demand;
}

Switch switch_of(CounterId id) { return g_provided.switches[id]; }

uint64_t read(CounterId id, const void* object) {
  return g_provided.readers[id] ? g_provided.readers[id](object) : 0;
}

}  // namespace fgmpi::counters
