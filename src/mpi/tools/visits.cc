// Communicators of ranks that have moved, for libfgmpi-checkpoint (base/checkpoint_link.h).
#include "comm/visit.h"

#include <cstring>

#include "base/checkpoint_link.h"
#include "comm/errhandler.h"
#include "mpi/binding.h"

using namespace fgmpi;

size_t fgmpi_describe_comm(int handle, void* buffer, size_t capacity) {
  comm::Comm* found = comm::find_inside(handle);
  std::vector<uint8_t> bytes;
  if (!found || !comm::describe_visit(found, &bytes).ok()) return 0;
  if (bytes.size() <= capacity) std::memcpy(buffer, bytes.data(), bytes.size());
  return bytes.size();
}

int fgmpi_visit_comm(const void* description, size_t bytes) {
  comm::Comm* made = nullptr;
  if (!comm::visit({static_cast<const uint8_t*>(description), bytes}, &made).ok())
    return MPI_COMM_NULL;
  return made->handle;
}

void fgmpi_leave_comm(int handle) {
  if (comm::Comm* found = comm::find_inside(handle)) comm::free(found);
}
