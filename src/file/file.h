// Files (MPI-4.0 chapter 14): a file is opened once a process, and shared by its collocated ranks.
//
//   rank 0: File (+ Comm 64 B) --+                      the file's own duplicate of the communicator
//   rank 1: File (+ Comm 64 B) --+--> SharedFile (one a process): descriptor, access mode, hints
//   rank 2: File (+ Comm 64 B) --+        the leader's process keeps the shared file pointer
//
// What a rank owns is its view, its individual pointer and the number of its operations under way.
// Individual operations are transfers of one rank (access.cc). In a collective one the members of a
// process meet; the last to arrive puts the accesses of all of them in order of the file, exchanges
// data with the other processes where their ranges interleave, and moves the bytes (collective.cc).
// A nonblocking operation is the blocking one on a helper coroutine, a nonblocking collective one
// is the same meeting.
//
// Thread rule: one thread; functions that may switch say so. Invariants: positions are bytes of the
// data of a view, offsets are bytes of the file; a SharedFile outlives every operation on it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "comm/hints.h"
#include "comm/meeting.h"
#include "file/descriptor.h"
#include "file/view.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::file {

/// What ranks of a process that wait for their turn in atomic mode park on.
struct TurnWait {
  sched::Proclet* proclet;
  TurnWait* next;
};

/// What collocated members share.
struct SharedFile {
  comm::ContextId id;
  Descriptor descriptor;
  int amode = 0;
  uint32_t references = 0;  ///< members here that have not closed it
  uint32_t leader = 0;      ///< the process that keeps the shared pointer: that of rank 0
  bool atomic = false;
  bool created = false;
  int64_t shared_pointer = 0;  ///< in etypes; at the leader's process
  comm::Hints hints;           ///< as asked for, and as used
  /// The file's processes, by their places in the list, in the order in which they become
  /// aggregators: one of each host first.
  std::vector<uint32_t> aggregators;
  bool short_pieces = false;  ///< a member's view has short pieces with narrow gaps
  bool turn_taken = false;    ///< atomic mode: a rank of this process is at it
  TurnWait *turns = nullptr, **turns_end = &turns;

  bool sequential() const { return amode & MPI_MODE_SEQUENTIAL; }
  /// A pipe or its like: bytes come in order, wherever they are asked for.
  bool streams() const { return sequential() && !descriptor.seekable(); }
  /// A hint as a number of bytes or things, or `fallback` where it is not there or no number.
  int64_t number(const char* key, int64_t fallback) const;
  bool is(const char* key, const char* value) const;
  /// Bytes of the buffer for data sieving; 0: none. Then all writes lock what they write, and those
  /// that sieve what they read.
  int64_t sieve(bool write) const;
};

/// A split collective operation that has begun.
struct Split;

/// A member's file.
struct File {
  SharedFile* shared = nullptr;
  comm::Comm* comm = nullptr;  ///< the file's own: the error handler is kept there
  ViewPtr view;
  int64_t pointer = 0;  ///< individual, in etypes
  Split* split = nullptr;
  sched::Proclet* parked = nullptr;  ///< waits for `pending` in MPI_File_close
  uint32_t pending = 0;              ///< nonblocking operations under way
  uint32_t index = 0;                ///< of the handle
};
static_assert(sizeof(File) + sizeof(comm::Comm) <= 128, "memory budget: 128 bytes a member");

/// The file behind a handle, or nullptr; and back. Handles are numbers, as those of communicators
/// are: a program's MPI_File is never an address.
File* find(MPI_File handle);
MPI_File handle_of(const File* file);
/// The file whose own communicator this is, or nullptr.
File* find_by_comm(const comm::Comm* comm);

// ---- Opening and closing: collective, may switch (open.cc) --------------------------------------
struct Opening {
  const char* name = "";
  int amode = 0;
  comm::Hints hints;  ///< as given; those of rank 0 are used
};
/// Errors: those of the standard, the first of any process.
Status open(comm::Comm* comm, const Opening& what, File** out);
/// *closed: nobody can use it any more, with or without an error; the caller then leaves it.
Status close(File* file, bool* closed);
void leave(File* file);
/// Not collective. Never switches.
Status remove(const char* name);

// ---- Sizes and modes: collective, may switch, but for size_of() ---------------------------------
Status set_size(File* file, int64_t bytes);
Status preallocate(File* file, int64_t bytes);
Status size_of(File* file, int64_t* bytes, const char* call);
Status sync(File* file);
Status set_atomicity(File* file, int flag);
/// `datarep`: as registered; see datarep.h.
Status set_view(File* file, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype,
                const char* datarep, const comm::Hints& hints);
Status set_info(File* file, const comm::Hints& hints);

// ---- Data (access.cc, collective.cc) ------------------------------------------------------------
enum Kind : uint8_t {
  kRead = 0,
  kWrite = 1,
  kCollective = 2,
  kIndividualPointer = 4,
  kSharedPointer = 8,
};
struct Operation {
  uint8_t kind = kRead;
  int64_t offset = 0;  ///< in etypes, where no pointer says it
  const void* address = nullptr;
  int64_t count = 0;
  MPI_Datatype type = MPI_BYTE;
  Status bad;  ///< found before: a collective one is told to all members
  const char* call = "";
};
/// Runs it. May switch. *bytes: of the data, that were read or written.
Status run(File* file, Operation* what, int64_t* bytes);
/// Never switches.
Status start(File* file, Operation* what, pt2pt::Request** request);
/// Split collectives. begin() never switches, end() may.
Status begin(File* file, Operation* what);
Status end(File* file, uint8_t kind, const char* call, int64_t* bytes);

// ---- Pointers (pointers.cc) ---------------------------------------------------------------------
Status seek(File* file, int64_t offset, int whence);
/// Collective. May switch (open.cc).
Status seek_shared(File* file, int64_t offset, int whence);
/// Where it would go, for this member. May switch.
Status sought(File* file, int64_t offset, int whence, int64_t* out);
/// May switch.
Status position_shared(File* file, int64_t* offset, const char* call);
/// Returns the pointer and adds `by` to it. May switch.
Status fetch_shared(SharedFile* shared, int64_t by, int64_t* before, const char* call);
Status byte_offset(File* file, int64_t offset, int64_t* bytes);
/// A function that is told where an access by the shared pointer begins, in etypes, before any byte
/// moves: maybe while another rank of the process runs. It calls nothing of MPI. Null: none.
void set_tool_place(void (*place)(const File* file, bool write, int64_t offset));
void tell_tool_place(const File* file, bool write, int64_t offset);

/// Files that were not closed: FGMPI_LEAKS.
void for_each_kept(void (*visit)(const File& file, void* argument), void* argument);

/// The handler of MPI_FILE_NULL, for errors of calls without a file; one a rank.
MPI_Errhandler default_errhandler();
void set_default_errhandler(MPI_Errhandler handler);

}  // namespace fgmpi::file
