// The part of mpiexec -explore that lives in the explored process.
//
// The first process of an exploration never runs the program: it is the first starting point, which
// forks a process for each execution that it is asked for. An execution asks at each choice point
// what is to happen, and may be told to become a starting point itself: then a fork of it goes on,
// and it waits to fork others from there.
//
//   starting point --fork--> execution --question--> ... --question: keep--> starting point
//                                                                  \--fork--> the same execution
//
// Each execution writes its standard output and errors to files of its own in memory, which begin
// with what was written before the fork; the explorer gets them with its first word.
//
// Thread rule: one thread; forks happen on the host stack only, while all ranks are parked or none
// has begun.
#pragma once

namespace fgmpi::explore {

/// Is this process explored (or replayed)?
bool is_active();
/// Before any rank runs: in an explored process, returns in each execution, as often as the
/// explorer wants one.
void begin();
/// When the process connects: from now on messages are delivered as the explorer says.
void take_over_messages(unsigned ranks);

}  // namespace fgmpi::explore
