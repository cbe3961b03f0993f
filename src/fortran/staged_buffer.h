// Staged buffers: contiguous memory that replaces an array section in a call. They are for calls
// whose buffers have several blocks, and for reductions, whose operations need predefined types.
//
//   MPI_Allreduce(a(1:20:2), r(2, :), ...)    gather()   a -> memory, r -> memory
//                                             the call   reads and writes the memory
//                                             scatter()  memory -> r
//
// Only the bytes that the datatypes have are copied: other elements of the section do not change.
// Thread rule: one thread, inside the library; gather() and scatter() call no MPI and never switch.
#pragma once

#include <mpi.h>

#include <vector>

#include "base/status.h"
#include "coll/memory.h"
#include "datatype/datatype.h"
#include "datatype/type_tree.h"
#include "fortran/section.h"

namespace fgmpi::fortran {

class StagedBuffer {
 public:
  explicit StagedBuffer(const ArraySection& section) : section_(section) {}
  /// Adds `count` elements of `type`, the first at byte `at` of the sequence. Errors: MPI_ERR_TYPE;
  /// MPI_ERR_BUFFER when the section does not have them all.
  Status add_block(int64_t at, int64_t count, const datatype::Type& type, const char* argument);
  /// Allocates the memory. REQUIRES: called once, after all blocks were added. Errors:
  /// MPI_ERR_NO_MEM.
  Status allocate();
  /// The address at which the sequence would begin. The memory has only those bytes of it from the
  /// first to the last block.
  char* sequence() const { return memory_.get() - low_; }
  void gather() const;
  void scatter() const;

 private:
  struct StagedBlock {
    int64_t at;
    int64_t count;
    datatype::TypeTreePtr tree;
  };
  template <class F>
  void for_each_row(F&& f) const;

  ArraySection section_;
  std::vector<StagedBlock> blocks_;
  int64_t low_ = 0, high_ = 0;  ///< the bytes [low_, high_) of the sequence are in the memory
  coll::Memory memory_;
};

}  // namespace fgmpi::fortran
