// FGMPI_UNEXPECTED_LIMIT gives way when nothing else stands between the job and progress.
//
// Past the limit a standard send waits for its match, which bounds how far a producer can run ahead
// of a slow consumer. A program that sends much before anybody receives would wait for ever, though
// it runs where all of it is buffered. So when all ranks of the job wait (deadlock.h), the messages
// of such sends are taken in by their receivers' processes, and the limit is multiplied by kFactor
// in every process. Only when there is no such message, or no memory for them, do the ranks wait
// for each other.
//
//   collocated      the waiting send is replaced by an eager copy, in its place in the queue
//   short, remote   its bytes are here already (kEagerPastLimit): the sender gets its answer
//   remote          (kRequestPastLimit) is pulled into memory behind a new entry, which takes its
//                   place in the queue
//
// A limit of 0 does not give way: there a standard send is a synchronous one.
// Thread rule: one thread; host stack; nothing here switches.
#pragma once

#include <cstdint>

#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

/// By what the limit grows each time: a flood of a gigabyte needs three times.
inline constexpr uint64_t kFactor = 4;

/// Messages for this process that only the limit holds back; 0 where there is no memory for them.
uint64_t count_past_limit();
/// Multiplies the limit of this process and takes those messages in.
void take_in_past_limit();
/// An eager copy of a collocated sender's message; nullptr: it must go on waiting.
Unexpected* copy_of(const SendOp& sender);
/// One line, once.
void say_once_that_limit_gives_way();
/// A receive has matched a message of kind kTakingIn: it gets the message when that is here.
void match_while_taken_in(Unexpected* u, RecvOp* op);

}  // namespace fgmpi::pt2pt
