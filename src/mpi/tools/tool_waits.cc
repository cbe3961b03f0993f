// Waits for tools, which they can end (include/fgmpi.h).

#include "pt2pt/tool_waits.h"

#include <atomic>
#include <vector>

#include "fgmpi.h"
#include "mpi/binding.h"
#include "mpi/pt2pt/pt2pt_calls.h"
#include "proclet-sched/threads/completions.h"
#include "proclet-sched/threads/threads.h"

using namespace fgmpi;

FGMPI_EXTENSION int MPIX_Tool_await(const char* what, int all, int n, const MPI_Request* requests,
                                    int (*begins)(void*, void*), void* argument) {
  FGMPI_TAKE_TURN("MPIX_Tool_await", MPIX_Tool_await(what, all, n, requests, begins, argument));
  pt2pt::Request* one = nullptr;
  std::vector<pt2pt::Request*> many;
  pt2pt::Request** list = &one;
  if (n > 1) {
    many.resize(static_cast<size_t>(n));
    list = many.data();
  }
  for (int i = 0; i < n; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    list[i] = pt2pt::fast::find_request(requests[i]);
    if (!list[i]) return 1;
  }
  return pt2pt::await_requests(list, static_cast<size_t>(n), all, what, begins, argument);
}

FGMPI_EXTENSION int MPIX_Tool_await_message(const char* what, int source, int tag, MPI_Comm comm,
                                            int (*begins)(void*, void*), void* argument) {
  FGMPI_TAKE_TURN("MPIX_Tool_await_message",
                  MPIX_Tool_await_message(what, source, tag, comm, begins, argument));
  const comm::Comm* c = comm::find_inside(comm);
  const bool waits =
      c && (source == MPI_ANY_SOURCE || (source >= 0 && source < c->shared->peers().size()));
  if (!waits || (tag < 0 && tag != MPI_ANY_TAG)) return 1;
  bool interrupted = false;
  const Status found = pt2pt::await_message(mpi::my_endpoint(), source, tag, mpi::user_ctx(c), what,
                                            begins, argument, &interrupted);
  return !found.ok() || !interrupted;
}

FGMPI_EXTENSION void MPIX_Tool_interrupt(void* wait) {
  const int entered = MPIX_Tool_enter();
  pt2pt::interrupt(wait);
  MPIX_Tool_leave(entered);
}

namespace {
std::atomic<bool> g_posted{false};
void (*g_called)() = nullptr;
sched::Completion g_post;
}  // namespace

FGMPI_EXTENSION void MPIX_Tool_post(void (*called)()) {
  if (g_posted.exchange(true)) return;
  g_called = called;
  g_post.done = [](sched::Completion*) {
    g_posted.store(false);
    g_called();
  };
  sched::post_completion(&g_post);
}
