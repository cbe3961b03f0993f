// Ranks that go where there is less to do.
#include "checkpoint/balance.h"

#include "base/checkpoint_link.h"
#include "checkpoint/moves.h"

#pragma weak fgmpi_choose_process
#pragma weak fgmpi_decline_process
#pragma weak fgmpi_note_partner

namespace fgmpi::checkpoint {

bool g_balances = false;

namespace {

/// One message in so many is drawn. A prime: programs repeat what they send.
constexpr uint32_t kDrawn = 13;

uint32_t g_sends = 0;
decltype(&MPI_Isend) g_isend = nullptr;

int drawn_isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
  if (++g_sends % kDrawn == 0) fgmpi_note_partner(comm, dest);
  return g_isend(buf, count, type, dest, tag, comm, request);
}

}  // namespace

void start_balance(Next* next) {
  g_balances = true;
  g_isend = next->MPI_Isend;
  next->MPI_Isend = drawn_isend;
}

void balance_behind_call() {
  const uint32_t to = fgmpi_choose_process();
  if (__builtin_expect(to == kStaysHere, 1)) return;
  LayerRank* rank = current_rank();
  if (!rank || move_to(*rank, to)) fgmpi_decline_process(to);
}

}  // namespace fgmpi::checkpoint
