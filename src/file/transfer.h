// Transfers: bytes between memory and a file, as one list of pieces. Neighbouring pieces become one
// system call (preadv, pwritev). Short pieces are gathered in a buffer first, and reads with narrow
// gaps read the gaps too (data sieving).
//
// Thread rule: perform() runs in any thread and accesses only its transfer. Invariants: pieces
// ascend in the file without overlapping. Writes that sieve write the gaps as they were: the caller
// has locked them. No other byte outside of the pieces is written.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "file/descriptor.h"
#include "file/engine.h"

namespace fgmpi::file {

struct FilePiece {
  int64_t offset;  ///< in the file
  char* memory;
  int64_t bytes;
};

struct Transfer {
  int fd = -1;
  bool write = false;
  bool stream = false;  ///< not seekable: offsets do not matter
  int64_t sieve = 0;    ///< bytes of the buffer for pieces with gaps (data sieving); 0: none
  std::vector<FilePiece> pieces;
  int64_t bytes() const;
  // Results.
  int64_t done = 0;       ///< bytes that were moved, counted in the order of the pieces
  int error = 0;          ///< errno of the call that ended the transfer
  int64_t failed_at = 0;  ///< offset of that call
};

/// Makes the system calls of a transfer, through `make`. A read that ends early without an error
/// has met the end of the file. run() (engine.h) calls this. May switch where `make` does.
void perform(Transfer* transfer, MakeCalls make);
/// True where the transfer needs more than `than` system calls.
bool has_more_calls(const Transfer& transfer, size_t than);
/// The error of a transfer. REQUIRES: it has one.
Status status_of(const Transfer& transfer, const std::string& path);

}  // namespace fgmpi::file
