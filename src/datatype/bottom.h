// MPI_BOTTOM in calls that the host answers.
#pragma once

#include <mpi.h>

namespace fgmpi::datatype {

/// The host refuses a null buffer in MPI_Pack, MPI_Unpack and their variants, and MPI_BOTTOM is a
/// null pointer. While this object lives, it replaces MPI_BOTTOM with a type of absolute addresses
/// by some other address, and the type by one shifted back by that address, so that both denote the
/// same memory. Other buffers and types are left as they are, wrong ones too: the host reports the
/// error. The destructor frees the shifted type; nothing in between may switch proclets.
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

}  // namespace fgmpi::datatype
