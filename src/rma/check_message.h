// FGMPI_RMA_CHECK for targets whose table this process cannot reach: the target's process compares
// the access and adds it to its table.
//
//   origin                           target's process
//     |-- RmaHeader, AccessRecord, runs ->|  compared with its table, and added to it;
//     |<- RmaHeader, conflicts -----------|  repeated where a frame cannot hold all runs
//
// The origin waits for the answer. So an access is in the table before a byte moves, and out of it
// before a flush returns.
#pragma once

#include "rma/access_table.h"
#include "rma/message.h"

namespace fgmpi::rma {

/// Does what AccessTable::enter() does, at the process of `rank`. May switch.
void enter_far(Win* win, int32_t rank, const AccessRecord& pattern, const AddressRuns& runs,
               bool keeps, bool keeps_conflicting, std::vector<Conflict>* found);
/// Ends this rank's accesses to `rank` by epochs of locks, which are complete. May switch.
void end_far(Win* win, int32_t rank);

/// Handle the arriving messages: kCheck and kCheckEnd, kChecked.
void on_check(SharedWin* shared, uint32_t from, const RmaHeader& header, const uint8_t* data,
              size_t bytes);
void on_checked(uint32_t from, const RmaHeader& header, const uint8_t* data, size_t bytes);

}  // namespace fgmpi::rma
