// Spawning as proclets (info key fgmpi_where=here): the new ranks join the processes that the
// spawning communicator lives in.
//
//   root --commands, ids, name of the group--> all processes of the communicator
//   each: loads the program, makes proclets and images for its part   --fine, first local index--> root
//   root --all first local indices, or what went wrong--> all
//   each: the group in the address vector, MPI_COMM_WORLD and the intercommunicator of the new
//   ranks
//   all have that --> each: the new ranks run, up to their MPI_Init
//   all are there, or one has ended before --> root --> all: MPI_Init and MPI_Comm_spawn return, or the spawn has failed
//
// The new ranks are a process group of their own, but have no processes: the address vector says
// which process hosts which of them (av.h). Their MPI_Init finds both communicators made. Nothing
// is told through the launcher, and no connection is opened.
//
// They are distributed in blocks over the processes of the communicator, equally, or `nfg` to each
// in order. Their ends are counted as those of other ranks of the process, which lives until all
// have ended; their exit statuses are not the job's, as those of spawned processes are not. Places,
// stacks and images are given back when all ranks of a spawn have ended in this process and the
// last communicator with a member among them has been freed. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "comm/meeting.h"
#include "dynamic/spawn.h"

namespace fgmpi::dynamic {

/// The part of spawning that all processes of `shared` do together, in the action of their meeting.
/// `commands` are significant in the process at `root_index`. *done is false where processes are to
/// be spawned: nothing has been done then. *made: the parents' side, with a share for each member;
/// *codes as of spawn(). May switch. Errors: MPI_ERR_SPAWN, MPI_ERR_INFO_VALUE, MPI_ERR_NO_MEM, the
/// same everywhere.
Status spawn_proclets(comm::SharedComm* shared, comm::Meeting* meeting, uint32_t root_index,
                      const std::vector<Command>* commands, bool* done, comm::SharedComm** made,
                      std::vector<int>* codes);

/// What MPI_Init of a spawned rank needs.
struct SpawnedRank {
  comm::SharedComm* world = nullptr;    ///< has a share for it
  comm::SharedComm* parents = nullptr;  ///< the children's side, likewise
  int32_t rank = -1;
  int appnum = 0;          ///< which command
  std::string errhandler;  ///< info key mpi_initial_errhandler
};
/// In MPI_Init, before anything is made for the rank: waits for the other ranks of its spawn.
/// False: one of them has ended before it came so far, the spawn has failed, and this one is to
/// end, too. True for the process's own ranks. May switch.
bool all_have_come(uint32_t local);
/// False for the process's own ranks.
bool find_spawned(uint32_t local, SpawnedRank* out);
bool is_spawned(uint32_t local);
/// The rank has taken its shares; what it has not taken when it ends is given back then.
void took_world(uint32_t local);
void took_parents(uint32_t local);
/// The rank has ended; nothing for the process's own ranks.
void spawned_rank_ends(uint32_t local);

/// What the layers above do: how programs are loaded and run (src/privatize/guests.h).
struct Programs {
  Status (*load)(const std::string& path, void** program) = nullptr;
  Status (*prepare)(void* program, uint32_t first, uint32_t count,
                    const std::vector<std::string>& words) = nullptr;
  void (*forget)(uint32_t first, uint32_t count) = nullptr;
  void (*run)() = nullptr;                       ///< on the proclet of a new rank; never returns
  void (*ranks_join)(uint32_t count) = nullptr;  ///< so many begin in this process
};
void set_programs(const Programs& programs);

}  // namespace fgmpi::dynamic
