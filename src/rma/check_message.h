// FGMPI_RMA_CHECK for targets whose table this process cannot reach: the target's process compares
// and keeps.
//
//   origin                           target's process
//     |-- Ask, Record, runs ------------->|  compared with its table, and kept there      more runs than a frame holds: again
//     |<- Ask, conflicts -----------------|
//
// The origin waits for the answer, so that an access is in the table before a byte moves, and is
// out of it before a flush returns.
#pragma once

#include "rma/access_table.h"
#include "rma/message.h"

namespace fgmpi::rma {

/// What AccessTable::enter() does, at the process of `rank`. May switch.
void enter_far(Win* win, int32_t rank, const Record& pattern, const AddressRuns& runs, bool keeps,
               bool keeps_conflicting, std::vector<Conflict>* found);
/// The rank's accesses by locks to `rank` are complete. May switch.
void end_far(Win* win, int32_t rank);

/// kCheck, kCheckEnd and kChecked as they arrive.
void on_check(SharedWin* shared, uint32_t from, const Ask& ask, const uint8_t* data, size_t bytes);
void on_checked(uint32_t from, const Ask& ask, const uint8_t* data, size_t bytes);

}  // namespace fgmpi::rma
