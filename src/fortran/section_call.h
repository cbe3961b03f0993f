// SectionCall: one call with array sections. It replaces the sections by composed types or staged
// buffers before the call, and frees or copies these back after it.
//
// Thread rule: one thread, inside the library. Never switches.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "base/status.h"
#include "coll/stand_in.h"
#include "comm/comm.h"
#include "fortran/descriptor.h"
#include "fortran/procedure.h"
#include "fortran/staged_buffer.h"

namespace fgmpi::fortran {

/// The staged buffers of a call; those of a nonblocking or persistent collective live in its
/// request.
class StagedBuffers final : public coll::StandIn {
 public:
  void fill() override;
  void empty() override;
  struct StagedEntry {
    StagedBuffer buffer;
    bool written;
  };
  std::vector<StagedEntry> entries;
};

class SectionCall {
 public:
  /// The object changes `arguments` to those that libmpichfort receives; these may point into the
  /// object.
  SectionCall(const Procedure& procedure, Argument* arguments)
      : procedure_(procedure), arguments_(arguments) {}
  SectionCall(const SectionCall&) = delete;
  SectionCall& operator=(const SectionCall&) = delete;

  /// Changes the arguments before the call. Errors: those of sections. Other wrong arguments stay
  /// for the call itself to refuse.
  Status prepare();
  /// Ends the call, which has returned `code`. `called`: false where prepare() failed. Frees the
  /// composed types; copies staged buffers back, or hands them to the call's request.
  void finish(bool called, int code);

 private:
  /// The head of an ArrayDescriptor: all that a scalar has.
  struct ScalarDescriptor {
    alignas(ArrayDescriptor) char head[offsetof(ArrayDescriptor, dimensions)];
  };
  Status prepare_buffer(int index);
  Status compose_buffer(int index, const ArraySection& section);
  Status stage_buffer(const BufferArgument& buffer, const ArraySection& section);
  Status add_blocks(const BufferArgument& buffer, StagedBuffer* staged);
  void set_base(int index, void* base);
  bool uses(const BufferArgument& buffer) const;
  int64_t number(ArgumentIndex place, bool wide, int64_t index = 0) const;
  int64_t parts(BlockCount which) const;
  MPI_Datatype type(ArgumentIndex place) const;
  bool keeps_something() const;
  bool has_section() const;

  const Procedure& procedure_;
  Argument* arguments_;
  comm::Comm* comm_ = nullptr;
  int64_t one_ = 1;  ///< the count of a composed type; calls with 32-bit counts read its low half
  ScalarDescriptor scalars_[3];
  MPI_Datatype composed_[3] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  std::unique_ptr<StagedBuffers> staged_;
  bool noted_ = false;  ///< the rank cannot be saved before finish() (base/checkpoint_link.h)
};

}  // namespace fgmpi::fortran
