// The balance of load (FGMPI_BALANCE=on): behind a call in which a rank may have waited, it goes to
// a process that is idle, if the library says so (base/checkpoint_link.h).
//
// Thread rule: a rank's. Functions may switch.
#pragma once

namespace fgmpi::checkpoint {

/// Ranks go where there is less to do.
extern bool g_balances;
/// The running rank is about to return to its program.
void balance_behind_call();
/// Stands around the code that a wrapper returns.
inline int ended(int code) {
  if (__builtin_expect(g_balances, 0)) balance_behind_call();
  return code;
}

}  // namespace fgmpi::checkpoint
