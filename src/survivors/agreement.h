// Agreements between the processes of a communicator, and between all of the job: consensus.h over
// notices.
//
//   notice   | kind | number | epoch | flag | candidate 12 | words | words of `lost` | words of `acknowledged` |
//            its context is the communicator's; only kinds with a value have words
//
// Thread rule: one thread. join() may switch; the rest never does.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "survivors/consensus.h"

namespace fgmpi::survivors {

/// What an agreement is called between processes.
struct Name {
  uint64_t ctx = 0;     ///< of the communicator
  uint32_t number = 0;  ///< how many agreements of it there have been
  auto operator<=>(const Name&) const = default;
};

/// Takes part and waits for the decision. `processes`: who takes part, this process among them, in
/// the same order everywhere. REQUIRES: called once for each name by each of them that is not lost.
/// May switch. Errors: MPI_ERR_UNSUPPORTED_OPERATION for more processes than a notice has room for.
Status join(const Name& name, const std::vector<uint32_t>& processes, Value mine, const char* call,
            Value* decision);

/// Has this one been decided, as far as this process knows?
bool is_decided(const Name& name);

/// A process has been lost (pt2pt/lost.h). Never switches.
void on_lost(uint32_t process);
/// The communicator is dropped here; others may still ask for its last decisions. Never switches.
void on_dropped(comm::ContextId id);

/// The context of the agreement that ends a job: who decides it passes it on, since nobody can be
/// asked afterwards.
inline constexpr uint64_t kEndContext = uint64_t{comm::kNoLid} << 32 | 1 << 8;

/// Registers the notice handler. Idempotent.
void init_agreements();

}  // namespace fgmpi::survivors
