// How far ranks are where no standard send is buffered (unbuffered.h), told to other processes, so
// that their ranks need not wait there for ever: collective calls that all members here are in,
// messages whose receive has begun, and sends that begun later than their message was told of.
//
// A collective call is told of when its last member here is in it, before MPI makes the call: of a
// communicator of few processes to all others, else to that of rank 0, which tells the others when
// all are in it; of an intercommunicator also to the processes of the other group, whose members
// wait for these. The rest is told with it, or when a notice is full, or some calls later
// (outbox.h): what has not come in makes queues of steps longer and nothing wrong. Thread rule: as
// Call (call.h). What comes in is looked at by take_arrived().
#pragma once

#include <cstddef>
#include <cstdint>

#include "check/outbox.h"

namespace fgmpi::check {

struct Comm;
struct WireMessage;

/// Told with the next of its process; `number`: of kEntered, how many calls of the communicator
/// `of` all members there are in.
struct Progress {
  enum Kind : uint64_t { kEntered, kTaken, kBegun };
  Kind kind = kEntered;
  uint64_t of = 0, number = 0;
};

void tell_taken(uint64_t message);
void tell_begun(uint64_t message, int receiver_world);
/// All members here are in `number` calls of the communicator.
void tell_entered(const Comm& comm, uint64_t number);
/// The process of rank 0 tells that all are.
void tell_all_entered(const Comm& comm, uint64_t number);
/// Do all processes of the communicator tell each other?
bool all_tell_all(const Comm& comm);

void on_progress(const void* data, size_t bytes);

}  // namespace fgmpi::check
