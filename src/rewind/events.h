// Events: the MPI calls of a run, numbered from 1 in the order in which they begin.
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstdint>

#include "rewind/hooks.h"

/// Events so far; a debugger reads it.
extern "C" [[gnu::visibility("default")]] uint64_t fgmpi_rewind_events;

namespace fgmpi::rewind {

/// Writes the hash of the next event, or compares it with the recorded one.
void count_call(const CallBegun& call);

/// The last event of the running rank, in words: "event 48213, rank 17 in MPI_Recv at program.c:5".
/// No heap.
void describe_last_event(char* words, size_t size);

void set_places(uint64_t (*place_of)(const void* place));

/// A communicator, as the list of events shows it.
struct ListedComm {
  uint64_t context = 0;  ///< the same at all members; 0: there is no such communicator
  int32_t partner_in_job = kNoPartner;
  const char* name = "";  ///< as the program calls it
};
/// Sets what finds the running rank's communicator and the partner's rank in the job. It may not
/// use the heap: the repeated run calls it, the recorded one does not.
void set_comm_finder(ListedComm (*find)(int32_t handle, int32_t partner));

void add_detail(const CallDetail& detail);
/// Is true while events are listed to kControlFd.
[[gnu::visibility("hidden")]] extern bool g_lists;
/// Sends the events that are listed and have not been sent.
void send_listed();
/// Called before the process ends.
void at_end_of_run();

}  // namespace fgmpi::rewind
