// Windows and files: objects that several ranks share, with memory or bytes that are not MPI's own.
//
// MPI forgets at a checkpoint what a program has done with them: epochs and locks that are open,
// memory that was attached, hints that were given. The layer remembers that from call to call, and
// asks MPI for all else when a checkpoint is taken.
//
// Order. Members make a window or file together, each rank in the order of their keys
// (CollectiveKey), files before windows.
//
// Thread rule: a rank's. Functions that say so are collective over the members and may switch.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/descriptions.h"

namespace fgmpi::checkpoint {

struct LayerRank;

/// Equal for all members of a window or file, and for no other one of a rank: the communicator's
/// key, and the number of collective operations that its members had begun on it.
struct CollectiveKey {
  uint64_t comm = 0, count = 0;
  friend auto operator<=>(const CollectiveKey&, const CollectiveKey&) = default;
};
/// The key of what is made by the latest collective operation of the communicator (virtual).
CollectiveKey key_of_latest(LayerRank& rank, MPI_Comm comm);

/// What windows and files have in common.
struct SharedObject {
  int real = 0;
  CollectiveKey key;
  int rank = 0, size = 0;    ///< of the running rank among the members, and the members' number
  uint64_t collectives = 0;  ///< collective operations that the rank has begun on it
};

/// A window at rest, in terms of the job.
struct WinDescription {
  std::vector<int> members;  ///< as members_of() tells them
  std::string name;
  MPI_Errhandler errhandler = MPI_ERRORS_ARE_FATAL;  ///< virtual
  std::vector<std::pair<std::string, std::string>> info;
  std::vector<StoredAttribute> attributes;
};

/// A lock that the rank holds.
struct WinLock {
  int type = 0, assertion = 0;
};

struct VirtualWin : SharedObject {
  // Attributes point to these.
  void* base = nullptr;
  MPI_Aint bytes = 0;
  int unit = 1, flavor = MPI_WIN_FLAVOR_CREATE, model = MPI_WIN_UNIFIED;

  MPI_Aint large_unit = 1;                ///< where `unit` is too small for it
  size_t mapped = 0;                      ///< bytes at `base` that are the layer's
  bool is_shared = false;                 ///< other ranks load and store its memory
  bool fenced = false;                    ///< a fence has opened an epoch
  bool started = false, exposed = false;  ///< by MPI_Win_start, by MPI_Win_post
  bool locked_all = false;
  int lock_all_assertion = 0;
  std::map<int, WinLock> locks;                      ///< by target
  std::vector<std::pair<void*, MPI_Aint>> attached;  ///< of a dynamic window
  std::unique_ptr<WinDescription> described;
};

VirtualWin* find_win(const LayerRank& rank, MPI_Win win);
/// Counts a collective operation.
void count_win_collective(LayerRank& rank, MPI_Win win);
// ---- Checkpoints
/// Why no checkpoint can be taken; empty where one can.
std::string reason_of_windows(const LayerRank& rank);
/// Collective, may switch.
void describe_windows(LayerRank& rank);
/// Collective, may switch: epochs end, windows are freed.
void discard_windows(LayerRank& rank);
/// Collective, may switch. Epochs are open again, locks are held.
void remake_windows(LayerRank& rank);
/// Calls action(object) for each object of a table, in the order of their keys.
template <class Table, class Action>
void for_each_by_key(const Table& table, Action&& action) {
  std::vector<decltype(table.find(0))> list;
  table.for_each([&](int, auto* object) { list.push_back(object); });
  std::sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->key < b->key; });
  for (auto* object : list) action(object);
}

}  // namespace fgmpi::checkpoint
