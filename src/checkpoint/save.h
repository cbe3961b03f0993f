// Writing a checkpoint while the job goes on: each process forks, and the child writes the slots of
// the process's ranks (file/format.h). mpiexec gives the checkpoint its name when the files of all
// processes are complete (launcher/mpiexec/checkpointed_job.h).
//
// A rank is saved in save(), with what its frames need: when its slot has been filled in another
// process, save() returns there once more.
//
// Thread rule: the scheduler's thread. In the child of the fork nothing is allocated.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/rank.h"
#include "fgmpi.h"

namespace fgmpi::checkpoint {

/// As MPIX_Checkpoint tells it.
enum class Saved : uint8_t {
  kNot = MPIX_CHECKPOINT_NONE,
  kTaken = MPIX_CHECKPOINT_TAKEN,
  kRestarted = MPIX_CHECKPOINT_RESTARTED
};

/// Reads the folder of checkpoints and that of a restart from the environment. Called when the
/// library is loaded.
void read_folders();
/// Does mpiexec want checkpoints?
bool has_folder();
const std::string& checkpoint_folder();
/// Takes what mpiexec asks from now on. Called in the process of rank 0, when MPI is initialised.
void begin_to_listen();
/// The checkpoint from which the ranks of this process go on; "": they begin.
const std::string& restart_folder();
/// Saves the running rank. Collective over all ranks, whose objects are described and of whose
/// messages none is under way. kNot: the reason has been said by somebody. In another process
/// (kRestarted), no function of MPI may be called before MPI_Init has been called once more.
Saved save(LayerRank& rank);
/// Has the latest checkpoint been taken so that the job ends?
bool leaves();
/// Ends the job behind its checkpoint: others go on with the ranks. Called by all ranks; returns
/// where a file could not be written, so that the job has to go on.
void leave_job(LayerRank& rank);
/// Called where no checkpoint was taken: the job goes on, although it was asked to leave.
void stay_in_job(const LayerRank& rank);
/// asked.cc: is the job asked to end when it is saved? take_...() also forgets it. Any thread.
bool is_asked_to_leave();
bool take_request_to_leave();
void request_to_leave();
/// asked.cc: was the latest checkpoint only asked for since the time for one has come?
bool is_asked_by_time();
/// Does this process still write a checkpoint?
bool is_writing();
/// Waits until the process's last checkpoint is written. Called when the last rank ends.
void finish_saving();

/// How this process was started, where its code lies, and what it has now: words with a letter in
/// front, each followed by a zero byte.
///   x path of the program   a argument   m library and its place
///   c working folder at the start, d now   e variable   s bytes of a stack
///   l locale
std::string job_words(size_t stack_bytes);
/// Calls see(word) for each word with this letter.
template <class See>
void for_each_word(std::string_view words, char letter, See&& see) {
  for (size_t end; (end = words.find('\0')) != words.npos; words.remove_prefix(end + 1))
    if (end > 0 && words[0] == letter) see(words.substr(1, end - 1));
}
/// The parts of job_words() that must be equal where ranks go on: lines of libraries.
bool same_places(const std::string& saved, std::string* difference);

}  // namespace fgmpi::checkpoint
