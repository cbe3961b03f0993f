// The balance of load (FGMPI_BALANCE=on): behind a call in which a rank may have waited, it goes to
// a process that is idle, if the library says so (base/checkpoint_link.h).
//
// Thread rule: a rank's. Functions may switch.
#pragma once

#include "checkpoint/checkpoint_calls.h"

namespace fgmpi::checkpoint {

/// Ranks go where there is less to do.
extern bool g_balances;
/// Called when the library is loaded, where FGMPI_BALANCE says so. From then on some messages are
/// drawn, and the library learns their receivers.
void start_balance(Next* next);
/// The running rank is about to return to its program.
void balance_behind_call();
/// Stands around the code that a wrapper returns.
inline int ended(int code) {
  if (__builtin_expect(g_balances, 0)) balance_behind_call();
  return code;
}

}  // namespace fgmpi::checkpoint
