// The folder of a job's checkpoints (format.h): which are complete, and how one becomes so.
//
// A checkpoint is written into a folder of its own and gets its name when it is whole; until then,
// and until the next one is, the one before stays. Thread rule: any; one writer at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/file/format.h"

namespace fgmpi::checkpoint {

/// The file in the folder that mpiexec writes anew to ask for a checkpoint.
inline constexpr const char* kWanted = "wanted";
/// The file begins so where the job is to end when it is saved.
inline constexpr const char* kWantedLeaving = "leave";
/// And so where it is only asked for since the time for one has come (-checkpoint-every).
inline constexpr const char* kWantedByTime = "time";
/// The job says by this file that it has ended when it was saved.
inline constexpr const char* kLeft = "left";
/// The job says by this file that it goes on, since it could not be saved.
inline constexpr const char* kStays = "stays";

/// Makes the folder for checkpoint `number`, and `folder` itself. Removes what an earlier attempt
/// has left. Errors: MPI_ERR_IO.
Status begin_checkpoint(const std::string& folder, uint64_t number);
/// The file that a process writes.
std::string file_to_write(const std::string& folder, uint64_t number, uint32_t process);
/// All files were written: the checkpoint becomes complete. All but it and the one before, and
/// those on which these are based, are removed. Errors: MPI_ERR_IO: a file is missing, of another
/// checkpoint, or lacks ranks.
Status complete_checkpoint(const std::string& folder, uint64_t number);
/// The numbers of checkpoints whose files are all written, but which are not complete.
std::vector<uint64_t> written_checkpoints(const std::string& folder);
/// A number that is greater than those of all checkpoints that were begun.
uint64_t next_checkpoint(const std::string& folder);
/// Finds the latest complete checkpoint. Errors: MPI_ERR_IO: there is none.
Status find_checkpoint(const std::string& folder, uint64_t* number);
/// A process's file of a complete checkpoint.
std::string complete_file(const std::string& folder, uint64_t number, uint32_t process);
/// The files of a complete checkpoint, by process. Errors: MPI_ERR_IO, as complete_checkpoint().
Status list_checkpoint(const std::string& folder, uint64_t number, std::vector<std::string>* files);

}  // namespace fgmpi::checkpoint
