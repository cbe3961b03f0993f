// Agreements between the processes of a communicator, and between all processes of the job: the
// algorithm of consensus.h over notices.
//
//   notice   | kind | number | epoch | flag | candidate 12 | words | words of `lost` |
//              words of `acknowledged` |
//            its context is the communicator's; only kinds with a value have words
//
// Thread rule: one thread. join() may switch; the rest never does.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "survivors/consensus.h"

namespace fgmpi::survivors {

/// The name of an agreement between processes.
struct AgreementName {
  uint64_t ctx = 0;     ///< of the communicator
  uint32_t number = 0;  ///< number of agreements of the communicator before it
  auto operator<=>(const AgreementName&) const = default;
};

/// Takes part in an agreement and waits for the decision. `processes`: all participants, this
/// process among them, in the same order everywhere. REQUIRES: each participant that is not lost
/// calls this once for each name. May switch. Errors: MPI_ERR_UNSUPPORTED_OPERATION for more
/// processes than a notice has room for.
Status join(const AgreementName& name, const std::vector<uint32_t>& processes, ConsensusValue mine,
            const char* call, ConsensusValue* decision);

/// True if this process knows that the agreement has been decided.
bool is_decided(const AgreementName& name);

/// Called when a process has been lost (pt2pt/lost.h). Never switches.
void on_lost(uint32_t process);
/// Called when the communicator is dropped in this process; other processes may still ask for its
/// last decisions. Never switches.
void on_dropped(comm::ContextId id);

/// The context of the agreement that ends a job: a process that decides it passes the decision on,
/// since no process can be asked afterwards.
inline constexpr uint64_t kEndContext = uint64_t{comm::kNoLid} << 32 | 1 << 8;

/// Registers the notice handler. Idempotent.
void init_agreements();

}  // namespace fgmpi::survivors
