// What individual and collective operations share: where an operation begins, and the turn that
// atomic mode takes. Thread rule: one thread. What may switch says so.
#pragma once

#include "file/file.h"
#include "file/walk.h"

namespace fgmpi::file {

/// Checks what the access mode allows, and makes the buffer; *etypes: those that it takes. Errors:
/// MPI_ERR_ACCESS, MPI_ERR_READ_ONLY, MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERR_COUNT, MPI_ERR_TYPE,
/// MPI_ERR_BUFFER, MPI_ERR_IO.
Status prepare(File* file, const Operation& what, pt2pt::Buffer* buffer, int64_t* etypes);
/// Moves pieces; `ascends`: false where they may overlap or come in another order (reads). Returns
/// how many bytes of them, in their order, were moved. May switch.
int64_t move_pieces(Transfer* transfer, bool ascends, const char* call);
/// Moves one access at `offset` etypes. May switch. `bytes`: of memory that were moved.
Status transfer_at(File* file, const ViewPtr& view, int64_t offset, const pt2pt::Buffer& buffer,
                   bool write, const char* call, int64_t* bytes);

/// Atomic mode: one rank of the process after the other, and a lock on the range where other
/// processes have the file too. May switch.
class AtomicTurn {
 public:
  Status take(SharedFile* shared, int fd, int64_t low, int64_t high, bool write, bool others,
              const char* call);
  /// The turn of a write to a file whose writes may sieve. Returns the bytes of the buffer, or 0:
  /// it must not.
  int64_t take_to_sieve(SharedFile* shared, int fd, int64_t low, int64_t high, const char* call);
  ~AtomicTurn();

 private:
  SharedFile* shared_ = nullptr;
  int fd_ = -1;  ///< locked
  bool alone_ = false;
  int64_t low_ = 0, high_ = 0;
};

/// Runs a collective operation of a member (collective.cc). May switch.
Status run_collective(File* file, Operation* what, int64_t* bytes);
Status start_collective(File* file, Operation* what, pt2pt::Request** request);

}  // namespace fgmpi::file
