// FGMPI_UNEXPECTED_LIMIT gives way when nothing else stands between the job and progress.
//
// Past the limit a standard send waits for its match, which bounds how far a producer can run ahead
// of a slow consumer. A program that sends much before any rank receives would wait for ever,
// though it runs where all messages are buffered. So when all ranks of the job wait (deadlock.h),
// the receivers' processes take in the messages of such sends, and every process multiplies its
// limit by kFactor. Only when there is no such message, or no memory for them, do the ranks wait
// for each other.
//
//   collocated      the waiting send is replaced by an eager copy, in its place in the queue
//   short, remote   its bytes are here already (kEagerPastLimit): the sender gets its answer
//   remote          (kRequestPastLimit) the message is pulled into memory behind a new entry, which
//                   replaces the old one in the queue
//
// A limit of 0 does not give way: with it, a standard send is a synchronous one.
// Thread rule: one thread; host stack; nothing here switches.
#pragma once

#include <cstdint>

#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

/// The factor by which the limit grows each time: a flood of a gigabyte needs three steps.
inline constexpr uint64_t kFactor = 4;

/// How many messages for this process only the limit holds back; 0 where there is no
/// memory for them.
uint64_t count_past_limit();
/// Multiplies the limit of this process and takes in the messages that it held back.
void pull_past_limit();
/// Makes an eager copy of a collocated sender's message; nullptr: the send must go on waiting.
UnexpectedMessage* copy_of(const SendOp& sender);
/// Prints one line, the first time only.
void report_limit_once();
/// Joins a receive with a message of kind kPulling: the receive completes when the message has
/// been pulled.
void match_while_pulled(UnexpectedMessage* u, RecvOp* op);

}  // namespace fgmpi::pt2pt
