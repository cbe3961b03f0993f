// Frames about ranks that move (drawn in moved_endpoints.h), for moved_endpoints.cc and
// moved_frames.cc. Thread rule: one thread. Nothing here switches.
#pragma once

#include "pt2pt/engine.h"
#include "pt2pt/forwarding.h"

namespace fgmpi::pt2pt {

/// The part of this process in forwarding. REQUIRES: let_ranks_move() and init() were called.
Forwarding& forwarding();
/// Called by init() where ranks move.
void begin_forwarding();
/// Ranks of this job stay where they are.
void end_forwarding();
/// Does a message of this context move with its destination? Those of the plane of point-to-point
/// do, whose number is 0.
inline bool is_of_moving_plane(uint64_t ctx) { return (ctx & 7) == 0; }

/// Sends or defers the frames of an item. `account`: the process that returns the credit of its
/// message, or MovedRanks::kNone.
void send_moving_frames(uint32_t process, ItemLeg leg, const ForwardedItem& item, uint32_t sender,
                        uint32_t account);
void send_move_note(uint32_t process, MoveNote note, uint32_t world, uint32_t argument);
/// Lets `account` return the credit of a message of `bytes` to the process that sent it.
void send_credit_note(uint32_t account, uint32_t process, uint64_t bytes);
/// A message that this process has sent as an item was consumed.
void return_item_credit(uint64_t bytes);
/// The bytes of such messages that are not consumed yet; for tests.
uint64_t item_bytes_in_flight();
/// Receives the frame where it is a message for a rank of this home that has left.
bool divert_frame(const transport::Header& h, const void* payload, size_t length);
/// What transports deliver to where ranks move: the frames above go to forwarding(), and all others
/// to the engine.
transport::FrameSink* moving_sink();

}  // namespace fgmpi::pt2pt
