// Spawning: a new job, started by mpiexec of this installation, that connects with its parent
// (MPI-4.0 section 11.8).
//
//   root of the spawn --mpiexec -n P -nfg C fgmpi-start PORT K program arguments : ...-->
//                       fgmpi-start, once a process
//   port of the starters  <--"I am of command K"; then the connection closes (exec has worked), or
//                            the errno of exec
//   port of the children  <--MPI_Comm_connect of the new job's world, in its MPI_Init: the port is
//                            in FGMPI_PARENT
//
// maxprocs counts ranks. The launcher alone does not report programs that cannot be executed; the
// starters do, so that each command has its own code.
// Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "dynamic/conversation.h"

namespace fgmpi::dynamic {

/// One program of a spawn, as its root gives it.
struct Command {
  std::string program;
  std::vector<std::string> arguments;
  int64_t ranks = 0;  ///< maxprocs
  std::vector<std::pair<std::string, std::string>> info;
};

/// A section of the launcher's arguments, made from a command and its info keys.
struct LauncherSection {
  std::string program;
  std::vector<std::string> arguments;
  int64_t ranks = 0, processes = 0;
  std::string path, wdir, hosts, hostfile, bind_to, errhandler;
  std::vector<std::pair<std::string, std::string>> environment;
};
/// Makes a command's section. Errors: MPI_ERR_SPAWN (no such program, no such
/// number), MPI_ERR_INFO_VALUE.
Status plan(const Command& command, LauncherSection* out);
/// Finds the program: in its folder, or in those of `path`, else of PATH. Errors: MPI_ERR_SPAWN.
Status find_program(const LauncherSection& section, std::string* path);
/// Finds the largest number of a list of triplets ("2,4:10:2") that is at most `most`; 0: there is
/// none. Errors: MPI_ERR_INFO_VALUE.
Status pick_soft(const std::string& text, int64_t most, int64_t* out);

/// The codes of all ranks that were asked for, command by command. `failed`: an error class for
/// each command, 0 where the command is not to blame. `ok`: the spawn as a whole; ranks that `soft`
/// leaves out were not started.
std::vector<int> codes_of(const std::vector<Command>& commands,
                          const std::vector<LauncherSection>& sections,
                          const std::vector<int>& failed, bool ok);

/// Starts the job. Sets *codes, one for each rank that was asked for. *children: a conversation
/// whose first message is to come. *launcher: that of a job that has been started; the caller must
/// end it, where the job cannot connect. May switch. Errors: MPI_ERR_SPAWN.
Status spawn(const std::vector<Command>& commands, const char* call,
             std::unique_ptr<Conversation>* children, std::vector<int>* codes, pid_t* launcher);
/// Ends the job of a launcher, if it still runs.
void end_spawned(pid_t launcher);

}  // namespace fgmpi::dynamic
