// Spawning as proclets (info key fgmpi_where=here): the new ranks join the processes that host the
// spawning communicator.
//
//   root --commands, ids, name of the group--> all processes of the communicator
//   each: loads the program, makes proclets and images for its ranks
//         --fine, first local index--> root
//   root --all first local indices, or the error--> all
//   each: adds the group to the address vector, makes MPI_COMM_WORLD and the intercommunicator of
//         the new ranks
//   all have done that --> each: the new ranks run, up to their MPI_Init
//   all have come, or one has ended before --> root --> all: MPI_Init and MPI_Comm_spawn return, or
//         the spawn has failed
//
// The new ranks are a process group of their own, but have no processes: the address vector knows
// which process hosts which of them (av.h). Their MPI_Init finds both communicators made. The
// launcher is not involved, and no connection is opened.
//
// The ranks are distributed in blocks over the processes of the communicator, equally, or `nfg` to
// each in order. Their ends are counted like those of other ranks of the process, which lives
// until all have ended. Their exit statuses do not count for the job, as those of spawned
// processes do not. Local indices, stacks and images are released when all ranks of a spawn have
// ended in this process and the last communicator with a member among them has been freed. Thread
// rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "comm/meeting.h"
#include "dynamic/spawn.h"

namespace fgmpi::dynamic {

/// Does the part of spawning in which all processes of `shared` take part together, in the action
/// of their meeting. `commands` are significant in the process at `root_index`. *done is false
/// where processes must be spawned: then nothing has been done. *made: the parents' side, with a
/// share for each member; *codes as in spawn(). May switch. Errors: MPI_ERR_SPAWN,
/// MPI_ERR_INFO_VALUE, MPI_ERR_NO_MEM, the same everywhere.
Status spawn_proclets(comm::SharedComm* shared, comm::Meeting* meeting, uint32_t root_index,
                      const std::vector<Command>* commands, bool* done, comm::SharedComm** made,
                      std::vector<int>* codes);

/// What MPI_Init of a spawned rank needs.
struct SpawnedRank {
  comm::SharedComm* world = nullptr;    ///< holds a share for the rank
  comm::SharedComm* parents = nullptr;  ///< the children's side; holds a share for the rank
  int32_t rank = -1;
  int appnum = 0;          ///< index of its command
  std::string errhandler;  ///< info key mpi_initial_errhandler
};
/// Called in MPI_Init, before anything is made for the rank: waits for the other ranks of its
/// spawn. Returns false if one of them has ended before it came so far: then the spawn has failed,
/// and this rank must end, too. True for the process's own ranks. May switch.
bool wait_for_spawned_ranks(uint32_t local);
/// Finds what MPI_Init needs. Returns false for the process's own ranks.
bool find_spawned(uint32_t local, SpawnedRank* out);
bool is_spawned(uint32_t local);
/// Called when the rank has claimed a share. Shares that it has not claimed when it ends are
/// released then.
void record_world_claimed(uint32_t local);
void record_parents_claimed(uint32_t local);
/// Called when the rank has ended; does nothing for the process's own ranks.
void spawned_rank_ends(uint32_t local);

/// How programs are loaded and run, which the layers above provide (src/privatize/load/guests.h).
struct Programs {
  Status (*load)(const std::string& path, void** program) = nullptr;
  Status (*prepare)(void* program, uint32_t first, uint32_t count,
                    const std::vector<std::string>& words) = nullptr;
  void (*forget)(uint32_t first, uint32_t count) = nullptr;
  void (*run)() = nullptr;                       ///< on the proclet of a new rank; never returns
  void (*ranks_join)(uint32_t count) = nullptr;  ///< called before this many begin in this process
};
void set_programs(const Programs& programs);

}  // namespace fgmpi::dynamic
