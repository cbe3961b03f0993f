// Answers to system calls that need more than a row of the table, and what they share.
//
// Thread rule: the scheduler's thread, in the handler of SIGSYS.
#pragma once

#include <cstdint>

#include "rewind/descriptors.h"
#include "rewind/trap.h"

namespace fgmpi::rewind {

/// Makes the call as it is.
long make_call(const TrappedCall& call);
/// Begins the call's input.
void begin_call_input(const TrappedCall& call);
/// Makes the call where the run is recorded, and begins its input with the result, which is
/// returned. `kind`: before it, the kind of the call's descriptor.
int64_t begin_with_result(const TrappedCall& call);
int64_t begin_with_result(const TrappedCall& call, FileKind* kind);
/// Makes a call whose result is an address, which has to be the recorded one; `what`: words for it.
long answer_placed(const TrappedCall& call, const char* what);
/// Ends a repeated run in which the call has another result.
void compare_result(const TrappedCall& call, long result, long recorded);
/// Passes the hash of what has been read from a file that the run only reads.
void compare_input(long fd, uint64_t hash);
/// Opens /dev/null as the descriptor, in place of what the recorded run had there.
void stand_in(long fd);

/// A call of CallAnswer::kSpecial.
long answer_special(const TrappedCall& call);
/// The parts of it that are in other files: signals, descriptors.
long answer_signal_call(const TrappedCall& call);
long answer_descriptor_call(const TrappedCall& call);
/// Ends the run, in words that name what the call would have done.
[[noreturn]] void refuse_call(const TrappedCall& call);

/// The process's number in the recorded run.
extern long g_recorded_pid;

}  // namespace fgmpi::rewind
