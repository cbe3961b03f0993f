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

#include "base/hash.h"
#include "checkpoint/descriptions.h"

namespace fgmpi::checkpoint {

struct LayerRank;

/// Equal for all members of a window or file, and for no other one of a rank: the communicator's
/// key, and the number of collective operations that its members had begun on it.
struct CollectiveKey {
  uint64_t comm = 0, count = 0;
  friend auto operator<=>(const CollectiveKey&, const CollectiveKey&) = default;
};
/// The key in one word.
inline uint64_t number_of(const CollectiveKey& key) { return mix(key.comm, key.count); }
/// The key of what is made by the latest collective operation of the communicator (virtual).
CollectiveKey key_of_latest(LayerRank& rank, MPI_Comm comm);

/// What windows and files have in common.
struct SharedObject {
  int real = 0;
  CollectiveKey key;
  int rank = 0, size = 0;    ///< of the running rank among the members, and the members' number
  uint64_t collectives = 0;  ///< collective operations that the rank has begun on it
};

/// A file at rest, in terms of the job.
struct FileDescription {
  std::vector<int> members;                       ///< as members_of() tells them
  MPI_Errhandler errhandler = MPI_ERRORS_RETURN;  ///< virtual
  MPI_Offset displacement = 0, pointer = 0, shared_pointer = 0;
  MPI_Offset bytes = 0;  ///< the file's size
  TypeDescription::Node etype, filetype;
  std::string representation;
  int atomic = 0;
};

struct VirtualFile : SharedObject {
  std::string path;                                        ///< absolute
  int amode = 0;                                           ///< as the program gave it
  std::vector<std::pair<std::string, std::string>> hints;  ///< those that the program gave
  const char* split = nullptr;  ///< the split collective operation that has begun
  std::unique_ptr<FileDescription> described;
};

/// A data representation that the program has registered (MPI_Register_datarep).
struct RegisteredRepresentation {
  std::string name;
  void *read = nullptr, *write = nullptr, *extent = nullptr, *extra = nullptr;
  bool large = false;  ///< the functions' counts are MPI_Count
};

/// A window at rest, in terms of the job.
struct WinDescription {
  std::vector<int> members;  ///< as members_of() tells them
  std::string name;
  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;  ///< virtual; null: none was set
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

// ---- Handles
inline int number_of(MPI_File file) { return static_cast<int>(reinterpret_cast<uintptr_t>(file)); }
inline MPI_File file_of_number(int number) {
  return reinterpret_cast<MPI_File>(uintptr_t{static_cast<uint32_t>(number)});
}
MPI_File real_file(const LayerRank& rank, MPI_File file);
/// What the program has, of a handle of MPI's.
MPI_File virtual_file(const LayerRank& rank, MPI_File real);
VirtualFile* find_file(const LayerRank& rank, MPI_File file);
VirtualWin* find_win(const LayerRank& rank, MPI_Win win);
/// Counts a collective operation.
void count_file_collective(LayerRank& rank, MPI_File file);
void count_win_collective(LayerRank& rank, MPI_Win win);
/// The program has given hints of a file (virtual).
void keep_hints(LayerRank& rank, VirtualFile* file, MPI_Info info);

// ---- Checkpoints
/// Why no checkpoint can be taken; empty where one can.
std::string reason_of_files(const LayerRank& rank);
std::string reason_of_windows(const LayerRank& rank);
/// Collective, may switch. A file's bytes reach the disk.
void describe_files(LayerRank& rank);
void describe_windows(LayerRank& rank);
/// Collective, may switch: files are closed, but not deleted; epochs end, windows are freed.
void discard_files(LayerRank& rank);
void discard_windows(LayerRank& rank);
/// Collective, may switch. Epochs are open again, locks are held.
void remake_files(LayerRank& rank);
void remake_windows(LayerRank& rank);
/// After a restart: bytes that were written behind the end of a file since the checkpoint are cut
/// off, with a line for each file.
void restore_files(LayerRank& rank);

/// Calls action(object) for each object of a table, in the order of their keys.
template <class Table, class Action>
void for_each_by_key(const Table& table, Action&& action) {
  std::vector<decltype(table.find(0))> list;
  table.for_each([&](int, auto* object) { list.push_back(object); });
  std::sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->key < b->key; });
  for (auto* object : list) action(object);
}

}  // namespace fgmpi::checkpoint
