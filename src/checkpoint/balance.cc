// Ranks that go where there is less to do.
#include "checkpoint/balance.h"

#include "base/checkpoint_link.h"
#include "checkpoint/moves.h"

#pragma weak fgmpi_choose_process
#pragma weak fgmpi_decline_process

namespace fgmpi::checkpoint {

bool g_balances = false;

void balance_behind_call() {
  const uint32_t to = fgmpi_choose_process();
  if (__builtin_expect(to == kStaysHere, 1)) return;
  LayerRank* rank = current_rank();
  if (!rank || move_to(*rank, to)) fgmpi_decline_process(to);
}

}  // namespace fgmpi::checkpoint
