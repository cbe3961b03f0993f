// How far ranks are in the unbuffered run (unbuffered.h). Processes send each other this
// progress, so that steps need not wait for other processes for ever: collective calls that all
// members here have entered, messages whose receive has begun, and sends that began only after
// their message was announced.
//
// A collective call is sent when its last member here has entered it, before MPI makes the call.
// With few processes it goes to all other processes of the communicator. Otherwise it goes to the
// process of rank 0, which notifies the others when all have entered. For an intercommunicator it
// also goes to the processes of the other group, whose members wait for these. Other progress is
// sent along with it, or when a notice is full, or some calls later (outbox.h): delay makes the
// queues of steps longer and causes no wrong finding.
// Thread rule: as CheckedCall (call.h). handle_arrived() handles what arrives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "check/wire/outbox.h"

namespace fgmpi::check {

struct CheckedComm;
struct WireMessage;

/// One item of progress. `of`: a message, or for kEntered the key of a communicator, and then
/// `number` is the count of its calls that all members in the sending process have entered.
/// For kReceiveBegun `number` is announce_receive_begun()'s `blocks`.
struct Progress {
  enum ProgressKind : uint64_t { kEntered, kReceiveBegun, kSendBegun };
  ProgressKind kind = kEntered;
  uint64_t of = 0, number = 0;
};

/// The receive of the message has begun: sends this to the message's sender. `blocks`: a blocking
/// call is in the receive, which has a known source.
void announce_receive_begun(uint64_t message_id, bool blocks);
/// The send of the message has begun, later than the message was announced: sends this
/// to the receiver.
void announce_send_begun(uint64_t message_id, int receiver_world);
/// All members in this process have entered `number` calls of the communicator.
void announce_entered(const CheckedComm& comm, uint64_t number);
/// The process of rank 0 sends that all members have entered `number` calls.
void announce_all_entered(const CheckedComm& comm, uint64_t number);
/// Is the communicator small enough for all its processes to notify each other?
bool all_tell_all(const CheckedComm& comm);

void on_progress(const void* data, size_t bytes);

}  // namespace fgmpi::check
