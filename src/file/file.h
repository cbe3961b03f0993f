// Files (MPI-4.0 chapter 14): a file is opened once a process, and shared by its collocated ranks.
//
//   rank 0: File (+ Comm 64 B) --+
//   rank 1: File (+ Comm 64 B) --+--> SharedFile (one a process): descriptor, access mode, hints
//   rank 2: File (+ Comm 64 B) --+
//
//   Comm: the member's part of the file's own duplicate of the communicator
//   the leader's process holds the shared file pointer
//
// A rank owns its view, its individual pointer and the number of its operations under way.
// Individual operations are transfers of one rank (access.cc). In a collective operation the
// members of a process meet. The last to arrive puts the accesses of all of them in order of the
// file, exchanges data with the other processes where their ranges interleave, and moves the bytes
// (collective.cc). A nonblocking operation is the blocking one on a helper coroutine; a nonblocking
// collective operation is the same meeting.
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

/// A rank that waits for its turn in atomic mode; it lies on the rank's stack.
struct TurnWait {
  sched::Proclet* proclet;
  TurnWait* next;
};

/// The state of a file that collocated members share.
struct SharedFile {
  comm::ContextId id;
  Descriptor descriptor;
  int amode = 0;
  uint32_t references = 0;  ///< members here that have not closed it
  uint32_t leader = 0;      ///< the process that holds the shared pointer: that of rank 0
  bool atomic = false;
  bool created = false;
  int64_t shared_pointer = 0;  ///< in etypes; at the leader's process
  comm::Hints hints;           ///< the values that the program gave, and those in use
  /// Indices of the file's processes, in the order in which they become aggregators: one of each
  /// host first.
  std::vector<uint32_t> aggregators;
  bool short_pieces = false;   ///< a member's view has short pieces with narrow gaps
  bool rank_has_turn = false;  ///< atomic mode: a rank of this process has its turn
  TurnWait *turns = nullptr, **turns_end = &turns;

  bool sequential() const { return amode & MPI_MODE_SEQUENTIAL; }
  /// True for a pipe or its like: bytes come in order, whatever offset is given.
  bool streams() const { return sequential() && !descriptor.seekable(); }
  /// A hint as a number, or `fallback` where it is absent or no number.
  int64_t number(const char* key, int64_t fallback) const;
  bool is(const char* key, const char* value) const;
  /// Bytes of the buffer for data sieving; 0: no sieving. Where writes sieve, all writes lock what
  /// they write, and writes that sieve also what they read.
  int64_t sieve(bool write) const;
};

/// A split collective operation that has begun.
struct SplitCollective;

/// A member's file.
struct File {
  SharedFile* shared = nullptr;
  comm::Comm* comm = nullptr;  ///< the file's own communicator, which holds the error handler
  ViewPtr view;
  int64_t pointer = 0;  ///< the individual pointer, in etypes
  SplitCollective* split = nullptr;
  sched::Proclet* parked = nullptr;  ///< the rank, while it waits for `pending` in MPI_File_close
  uint32_t pending = 0;              ///< nonblocking operations under way
  uint32_t index = 0;                ///< the number in the handle
};
static_assert(sizeof(File) + sizeof(comm::Comm) <= 128, "memory budget: 128 bytes a member");

/// Convert between a handle and its file (nullptr where there is none). Handles are numbers, as
/// those of communicators are: a program's MPI_File is never an address.
File* find(MPI_File handle);
MPI_File handle_of(const File* file);
/// The file whose own communicator this is, or nullptr.
File* find_by_comm(const comm::Comm* comm);

// ---- Opening and closing: collective, may switch (open.cc) --------------------------------------
struct OpenArguments {
  const char* name = "";
  int amode = 0;
  comm::Hints hints;  ///< the program's hints; those of rank 0 are used
};
/// Errors: those of the standard; of several processes' errors, the first.
Status open(comm::Comm* comm, const OpenArguments& what, File** out);
/// Closes the file. *closed: no rank can use the file any more, with or without an error; the
/// caller then calls leave().
Status close(File* file, bool* closed);
void leave(File* file);
/// Deletes a file. Not collective. Never switches.
Status remove(const char* name);

// ---- Sizes and modes: collective, may switch, except size_of() ----------------------------------
Status set_size(File* file, int64_t bytes);
Status preallocate(File* file, int64_t bytes);
Status size_of(File* file, int64_t* bytes, const char* call);
Status sync(File* file);
Status set_atomicity(File* file, int flag);
/// `datarep`: a name of the standard or one that the rank has registered (datarep.h).
Status set_view(File* file, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype,
                const char* datarep, const comm::Hints& hints);
Status set_info(File* file, const comm::Hints& hints);

// ---- Data (access.cc, collective.cc) ------------------------------------------------------------
enum FileAccessKind : uint8_t {
  kRead = 0,
  kWrite = 1,
  kCollective = 2,
  kIndividualPointer = 4,
  kSharedPointer = 8,
};
struct FileOperation {
  uint8_t kind = kRead;
  int64_t offset = 0;  ///< in etypes, for operations without a pointer
  const void* address = nullptr;
  int64_t count = 0;
  MPI_Datatype type = MPI_BYTE;
  Status bad;  ///< an error found before; in a collective operation all members receive it
  const char* call = "";
};
/// Runs an operation. *bytes: bytes of the data that were read or written. May switch.
Status run(File* file, FileOperation* what, int64_t* bytes);
/// Starts a nonblocking operation. Never switches.
Status start(File* file, FileOperation* what, pt2pt::Request** request);
/// Split collectives. begin() never switches, end() may.
Status begin(File* file, FileOperation* what);
Status end(File* file, uint8_t kind, const char* call, int64_t* bytes);

// ---- Pointers (pointers.cc) ---------------------------------------------------------------------
Status seek(File* file, int64_t offset, int whence);
/// Collective. May switch (open.cc).
Status seek_shared(File* file, int64_t offset, int whence);
/// Computes where MPI_File_seek_shared would move the pointer, for this member. May switch.
Status sought(File* file, int64_t offset, int whence, int64_t* out);
/// Reads the shared pointer. May switch.
Status position_shared(File* file, int64_t* offset, const char* call);
/// Returns the shared pointer's value and adds `by` to the pointer. May switch.
Status fetch_shared(SharedFile* shared, int64_t by, int64_t* before, const char* call);
Status byte_offset(File* file, int64_t offset, int64_t* bytes);
/// Sets the function of a tool that receives where an access by the shared pointer begins, in
/// etypes, before any byte moves. The function may run while another rank of the process runs, and
/// calls nothing of MPI. Null: none.
void set_tool_offset_handler(void (*place)(const File* file, bool write, int64_t offset));
void report_offset_to_tool(const File* file, bool write, int64_t offset);

/// Visits the files that were not closed, for FGMPI_LEAKS.
void for_each_unfreed(void (*visit)(const File& file, void* argument), void* argument);

/// The handler of MPI_FILE_NULL, for errors of calls without a file; each rank has one.
MPI_Errhandler default_errhandler();
void set_default_errhandler(MPI_Errhandler handler);

}  // namespace fgmpi::file
