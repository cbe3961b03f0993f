// The scheduler's environment variables.
#include <mpi.h>
#include <string.h>

#include "base/strings.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {

Status configure(Options* options) {
  if (const char* text = env_text("FGMPI_STACK_SIZE")) {
    auto size = parse_size(text);
    if (!size || *size < 16 * 1024 || *size > (int64_t{1} << 30))
      return error(MPI_ERR_OTHER, "FGMPI_STACK_SIZE is '%s'; allowed: a size from 16k to 1g", text);
    options->stack_size = static_cast<size_t>(*size);
  }
  if (const char* text = env_text("FGMPI_SCHED")) {
    std::optional<int64_t> seed;
    if (strncmp(text, "random:", 7) == 0) seed = parse_int(text + 7);
    if (strcmp(text, "fifo") == 0) {
      options->policy = Options::kFifo;
    } else if (strcmp(text, "lifo") == 0) {
      options->policy = Options::kLifo;
    } else if (seed) {
      options->policy = Options::kRandom;
      options->seed = static_cast<uint64_t>(*seed);
    } else {
      return error(MPI_ERR_OTHER, "FGMPI_SCHED is '%s'; allowed: fifo, lifo or random:SEED", text);
    }
  }
  return Status();
}

}  // namespace fgmpi::sched
