// The words for data of another length than is expected.

#include "comm/truncated.h"

#include <mpi.h>

#include "base/count_words.h"

namespace fgmpi::comm {

Status truncated(int64_t have, int64_t room) {
  return error(
      MPI_ERR_TRUNCATE, "the data sent has %s, the data expected %lld; counts and types must match",
      count_words(static_cast<uint64_t>(have), "byte").c_str(), static_cast<long long>(room));
}

}  // namespace fgmpi::comm
