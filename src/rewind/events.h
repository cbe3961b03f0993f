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
/// Lists events to kControlFd from now on.
void begin_listing();
void end_listing();
/// Sends the events that are listed and have not been sent.
void send_listed();
/// Called before the process ends.
void at_end_of_run();

}  // namespace fgmpi::rewind
