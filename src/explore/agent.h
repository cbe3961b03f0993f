// The explored process's side of mpiexec -explore.
//
// The first process of an exploration never runs the program. It is the first starting point, which
// forks a process for each execution that the explorer asks for. An execution asks the explorer at
// each choice point what shall happen. The explorer may answer that the execution shall become a
// starting point itself: then a fork of it continues the execution, and the process waits to fork
// others from there.
//
//   starting point --fork--> execution --question--> ... --answer: keep--> starting point
//                                                                  \--fork--> the same execution
//
// Each execution writes its standard output and errors to files of its own in memory,
// which begin with what was written before the fork. The explorer receives their
// descriptors with the first word.
//
// Thread rule: one thread. Forks happen only on the host stack, while all ranks are parked
// or none has begun.
#pragma once

namespace fgmpi::explore {

/// Is this process explored (or replayed)?
bool is_active();
/// Called before any rank runs. In an explored process it returns in each execution, as often as
/// the explorer asks for one.
void begin();
/// Called when the process connects: from now on the explorer decides the order of events in the
/// layers below, each of which declares its own decider.
void register_deciders(unsigned ranks);

}  // namespace fgmpi::explore
