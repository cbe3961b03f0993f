// MPI_BOTTOM in calls that the host answers.
#pragma once

#include <mpi.h>

namespace fgmpi::host {

/// The host refuses a null buffer in MPI_Pack and its relatives, and MPI_BOTTOM is one. While this object
/// lives, such a buffer together with its type of absolute addresses is replaced by some address and the
/// type shifted back by that address, which is the same memory. Other pairs stay as they are, also wrong
/// ones: the host words the error.
/// The destructor frees the shifted type; nothing in between may switch proclets.
class BottomBuffer {
 public:
  BottomBuffer(const void** buffer, MPI_Datatype* type);
  BottomBuffer(void** buffer, MPI_Datatype* type)
      : BottomBuffer(const_cast<const void**>(buffer), type) {}
  ~BottomBuffer();
  BottomBuffer(const BottomBuffer&) = delete;
  BottomBuffer& operator=(const BottomBuffer&) = delete;

 private:
  MPI_Datatype shifted_ = MPI_DATATYPE_NULL;
};

}  // namespace fgmpi::host
