// Staged buffers: contiguous memory that stands in for an array section in a call that takes
// several blocks, or a reduction, whose operations are defined on predefined types.
//
//   MPI_Allreduce(a(1:20:2), r(2, :), ...)    gather()   a -> memory, r -> memory
//                                             the call   reads and writes the memory
//                                             scatter()  memory -> r
//
// Only the bytes that the datatypes have are copied: other elements of the section are left alone.
// Thread rule: one thread, inside the library; gather() and scatter() call no MPI and never switch.
#pragma once

#include <mpi.h>

#include <vector>

#include "base/status.h"
#include "coll/memory.h"
#include "fortran/section.h"
#include "host/type_tree.h"

namespace fgmpi::fortran {

class StagedBuffer {
 public:
  explicit StagedBuffer(const ArraySection& section) : section_(section) {}
  /// `count` elements of `type`, the first at so many bytes of the sequence. Errors: MPI_ERR_TYPE;
  /// MPI_ERR_BUFFER when they are not all in the section.
  Status add_block(int64_t at, int64_t count, const host::Type& type, const char* argument);
  /// Takes the memory: once, behind the last block. Errors: MPI_ERR_NO_MEM.
  Status allocate();
  /// Where the sequence would begin, of which the memory has the part that the blocks reach over.
  char* sequence() const { return memory_.get() - low_; }
  void gather() const;
  void scatter() const;

 private:
  struct StagedBlock {
    int64_t at;
    int64_t count;
    host::TypeTreePtr tree;
  };
  template <class F>
  void for_each_row(F&& f) const;

  ArraySection section_;
  std::vector<StagedBlock> blocks_;
  int64_t low_ = 0, high_ = 0;  ///< of the sequence
  coll::Memory memory_;
};

}  // namespace fgmpi::fortran
