// Functions that individual and collective operations share: the begin of an operation, and the
// turns of atomic mode. Thread rule: one thread. Functions that may switch say so.
#pragma once

#include "file/file.h"
#include "file/walk.h"

namespace fgmpi::file {

/// Checks what the access mode allows, and makes the buffer; *etypes: the number of etypes that the
/// buffer needs. Errors: MPI_ERR_ACCESS, MPI_ERR_READ_ONLY, MPI_ERR_UNSUPPORTED_OPERATION,
/// MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_BUFFER, MPI_ERR_IO.
Status prepare(File* file, const FileOperation& what, pt2pt::Buffer* buffer, int64_t* etypes);
/// Moves pieces; `ascends`: false where they may overlap or come in another order. Where written
/// pieces overlap, the file has the last one's bytes. Returns the number of bytes that were moved,
/// counted in the order of the pieces. May switch.
int64_t move_pieces(Transfer* transfer, bool ascends, const char* call);
/// Moves one access at `offset` etypes. *bytes: bytes of memory that were moved. May switch.
Status transfer_at(File* file, const ViewPtr& view, int64_t offset, const pt2pt::Buffer& buffer,
                   bool write, const char* call, int64_t* bytes);

/// A turn in atomic mode: one rank of the process accesses the file at a time, and a range is
/// locked where other processes have the file too. The destructor ends the turn. May switch.
class AtomicTurn {
 public:
  Status wait_for_turn(SharedFile* shared, int fd, int64_t low, int64_t high, bool write,
                       bool others, const char* call);
  /// Begins the turn of a write to a file whose writes may sieve. Returns the bytes of the buffer
  /// for sieving, or 0 where this write must not sieve.
  int64_t wait_to_sieve(SharedFile* shared, int fd, int64_t low, int64_t high, const char* call);
  ~AtomicTurn();

 private:
  SharedFile* shared_ = nullptr;
  int fd_ = -1;  ///< the descriptor that is locked
  bool alone_ = false;
  int64_t low_ = 0, high_ = 0;
};

/// Runs a collective operation of a member (collective.cc). May switch.
Status run_collective(File* file, FileOperation* what, int64_t* bytes);
Status start_collective(File* file, FileOperation* what, pt2pt::Request** request);

}  // namespace fgmpi::file
