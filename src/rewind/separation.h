// What a fork would share with the process that it was forked from, although the run has it once:
// the places in files up to which it has read, and memory that is mapped as shared.
//
// Thread rule: the scheduler's thread, in a repeated run.
#pragma once

namespace fgmpi::rewind {

/// The run has mapped shared memory.
void note_shared_mapping();

/// Would a fork share anything?
bool shares_with_forks();

/// Gives the calling process, which has just been forked, files and memory of its own. REQUIRES:
/// the process that it was forked from waits meanwhile. No heap.
void separate_fork();

}  // namespace fgmpi::rewind
