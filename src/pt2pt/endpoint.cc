// Memory of the endpoints. See endpoint.h.

#include "pt2pt/endpoint.h"

#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "proclet-sched/coroutine/annotate.h"

namespace fgmpi::pt2pt {

Status Endpoints::reserve(uint32_t ranks) {
  const uint32_t room = std::max(ranks, sched::most_ranks()) + 1;
  void* memory = mmap(nullptr, room * sizeof(Endpoint), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return error(MPI_ERR_NO_MEM, "no address space for the endpoints of %u ranks", ranks);
  sched::annotate::holds_pointers(memory, room * sizeof(Endpoint));
  memory_ = static_cast<Endpoint*>(memory);
  room_ = room;
  new (memory_) Endpoint();
  ranks_ = 0;
  add_until(ranks);
  return {};
}

void Endpoints::add_until(uint32_t ranks) {
  FGMPI_CHECK(ranks < room_);
  for (; ranks_ < ranks; ++ranks_) new (memory_ + ranks_ + 1) Endpoint();
}

void Endpoints::release() {
  for_each([](Endpoint* endpoint, uint32_t) { endpoint->~Endpoint(); });
  if (memory_) {
    sched::annotate::unmapped(memory_, room_ * sizeof(Endpoint));
    munmap(memory_, room_ * sizeof(Endpoint));
  }
  memory_ = nullptr;
  ranks_ = 0;
}

}  // namespace fgmpi::pt2pt
