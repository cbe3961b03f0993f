// Error handlers that a program has set, and those that it has not, for libfgmpi-checkpoint
// (base/checkpoint_link.h).
#include "base/checkpoint_link.h"
#include "comm/errhandler.h"
#include "mpi/binding.h"
#include "rma/win.h"

using namespace fgmpi;

namespace {

/// The communicator that has the error handler of a communicator or window; nullptr for an unknown
/// handle.
comm::Comm* holder_of(int object) {
  if ((static_cast<uint32_t>(object) & host::kHandleTypeMask) != rma::kHandleBase)
    return comm::find_inside(object);
  const rma::Win* const win = rma::find(object);
  return win ? win->comm : nullptr;
}

}  // namespace

int fgmpi_own_errhandler(int object) {
  const comm::Comm* const holder = holder_of(object);
  return holder ? holder->errhandler : MPI_ERRHANDLER_NULL;
}

void fgmpi_set_own_errhandler(int object, int errhandler) {
  comm::Comm* const holder = holder_of(object);
  if (!holder) return;
  comm::retain_errhandler(errhandler);
  comm::release_errhandler(holder->errhandler);
  holder->errhandler = errhandler;
}

bool fgmpi_self_answers() {
  const comm::RankState* const rank = comm::rank_state();
  return rank && rank->self_answers;
}
