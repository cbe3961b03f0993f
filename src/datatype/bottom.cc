// A buffer in place of MPI_BOTTOM, for calls in which the host refuses it.

#include "datatype/bottom.h"

#include "datatype/datatype.h"
#include "host/host.h"

namespace fgmpi::datatype {

BottomBuffer::BottomBuffer(const void** buffer, MPI_Datatype* type) {
  Type known;
  if (*buffer || is_basic(*type) || !Type::of(*type, &known).ok()) return;
  static const char anywhere = 0;
  const MPI_Aint back = -reinterpret_cast<MPI_Aint>(&anywhere);
  int code = host::call([&](const host::Api& h) {
    int made = h.Type_create_hindexed_block(1, 1, &back, *type, &shifted_);
    return made == MPI_SUCCESS ? h.Type_commit(&shifted_) : made;
  });
  if (code != MPI_SUCCESS) return;
  *buffer = &anywhere;
  *type = shifted_;
}

BottomBuffer::~BottomBuffer() {
  if (shifted_ != MPI_DATATYPE_NULL)
    host::call([&](const host::Api& h) { return h.Type_free(&shifted_); });
}

}  // namespace fgmpi::datatype
