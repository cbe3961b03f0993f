// The memory of the board.
#include "balance/board.h"

#include <mpi.h>

namespace fgmpi::balance {

Status LoadBoard::make(uint32_t processes, uint32_t ranks) {
  processes_ = processes;
  return object_.make(bytes(processes, ranks), true, false);
}

Status LoadBoard::open(const transport::MemoryObjectName& name, uint32_t processes,
                       uint32_t ranks) {
  processes_ = processes;
  if (name.bytes != bytes(processes, ranks))
    return error(MPI_ERR_OTHER, "a board of %zu bytes is named; that of this job has %zu",
                 static_cast<size_t>(name.bytes), bytes(processes, ranks));
  return object_.open(name);
}

}  // namespace fgmpi::balance
