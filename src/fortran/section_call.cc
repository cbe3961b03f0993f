// The steps before and after a call with sections.

#include "fortran/section_call.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/checkpoint_link.h"
#include "comm/topology.h"
#include "fortran/composed_type.h"
#include "host/exported_fortran.h"

#pragma weak fgmpi_checkpoint_hooks

namespace fgmpi::fortran {
namespace {

/// nullptr where nobody saves ranks.
const checkpoint::CheckpointHooks* checkpoint_hooks() {
  return &fgmpi_checkpoint_hooks ? fgmpi_checkpoint_hooks() : nullptr;
}

/// MPI's own handle behind one of the program's.
int own_handle(int handle) {
  const checkpoint::CheckpointHooks* hooks = checkpoint_hooks();
  return hooks ? hooks->own_handle(handle) : handle;
}

bool in_place(const void* buffer) {
  return static_cast<const ArrayDescriptor*>(buffer)->base == &MPIR_F08_MPI_IN_PLACE;
}

Status not_contiguous(const BufferArgument& buffer, const char* what) {
  return error(MPI_ERR_BUFFER,
               "%s is an array section whose elements do not lie one behind the other; allowed is "
               "contiguous memory %s",
               buffer.name, what);
}

}  // namespace

void StagedBuffers::fill() {
  for (const StagedEntry& entry : entries) entry.buffer.gather();
}

void StagedBuffers::empty() {
  for (const StagedEntry& entry : entries)
    if (entry.written) entry.buffer.scatter();
}

int64_t SectionCall::number(ArgumentIndex place, bool wide, int64_t index) const {
  const void* numbers = arguments_[place];
  return wide ? static_cast<const int64_t*>(numbers)[index]
              : static_cast<const int32_t*>(numbers)[index];
}

void SectionCall::set_base(int index, void* base) {
  auto* scalar = reinterpret_cast<ArrayDescriptor*>(scalars_[index].head);
  scalar->base = base;
}

int64_t SectionCall::parts(BlockCount which) const {
  int64_t sources = 0, destinations = 0;
  switch (which) {
    case BlockCount::kOne:
      return 1;
    case BlockCount::kPeers:
      return comm_->shared->peers().size();
    case BlockCount::kMembers:
      return comm_->size();
    case BlockCount::kSources:
    case BlockCount::kDestinations:
      if (comm_->shared->topology) comm::count_neighbors(comm_, &sources, &destinations);
      return which == BlockCount::kSources ? sources : destinations;
  }
  return 0;
}

bool SectionCall::uses(const BufferArgument& buffer) const {
  if (buffer.users == Users::kAll) return true;
  const int root = *static_cast<const int*>(arguments_[procedure_.root]);
  if (comm_->shared->inter) return buffer.users == Users::kRoot ? root == MPI_ROOT : root >= 0;
  return buffer.users == Users::kNotRoot || root == comm_->rank;
}

Status SectionCall::prepare() {
  if (!comm::rank_state()) return {};
  // Types and copies of buffers are where MPI's other objects of the rank are.
  const checkpoint::CheckpointHooks* hooks = checkpoint_hooks();
  if (hooks && hooks->go_home && has_section()) hooks->go_home();
  if (procedure_.answers == Answers::kCommunicator && procedure_.object != kAbsent) {
    comm_ = comm::find(own_handle(*static_cast<const MPI_Comm*>(arguments_[procedure_.object])));
    if (!comm_) return {};
  }
  if (procedure_.staged) staged_ = std::make_unique<StagedBuffers>();
  for (int i = 0; i < procedure_.buffers; ++i) FGMPI_TRY(prepare_buffer(i));
  if (staged_ && !procedure_.persistent) staged_->fill();
  noted_ = hooks && keeps_something();
  if (noted_) hooks->keeps(1);
  return {};
}

bool SectionCall::has_section() const {
  for (int i = 0; i < procedure_.buffers; ++i)
    if (!is_contiguous(
            *static_cast<const ArrayDescriptor*>(arguments_[procedure_.buffer[i].buffer])))
      return true;
  return false;
}

bool SectionCall::keeps_something() const {
  return (staged_ && !staged_->entries.empty()) ||
         std::any_of(std::begin(composed_), std::end(composed_),
                     [](MPI_Datatype type) { return type != MPI_DATATYPE_NULL; });
}

MPI_Datatype SectionCall::type(ArgumentIndex place) const {
  return own_handle(*static_cast<MPI_Datatype*>(arguments_[place]));
}

Status SectionCall::prepare_buffer(int index) {
  const BufferArgument& buffer = procedure_.buffer[index];
  const auto& array = *static_cast<const ArrayDescriptor*>(arguments_[buffer.buffer]);
  if (is_contiguous(array)) return {};
  const ArraySection section(array);
  auto* scalar = reinterpret_cast<ArrayDescriptor*>(scalars_[index].head);
  std::memcpy(static_cast<void*>(scalar), &array, sizeof scalars_[index].head);
  scalar->rank = 0;
  arguments_[buffer.buffer] = scalar;
  if (section.contiguous() && section.bytes() > 0) return {};
  switch (buffer.amount) {
    case BufferAmount::kAddress:
      return {};
    case BufferAmount::kMemory:
      if (number(buffer.count, buffer.wide_counts) <= section.element()) return {};
      return not_contiguous(buffer, "for as long as MPI uses it");
    case BufferAmount::kOneElement: {
      datatype::Type of;
      if (!datatype::Type::of(type(buffer.type), &of).ok() || of.size() <= section.element())
        return {};
      return not_contiguous(buffer, "for an element");
    }
    default:
      if (!procedure_.staged) return compose_buffer(index, section);
      if (!uses(buffer)) return {};
      FGMPI_TRY(stage_buffer(buffer, section));
      set_base(index, staged_->entries.back().buffer.sequence());
      return {};
  }
}

Status SectionCall::compose_buffer(int index, const ArraySection& section) {
  const BufferArgument& buffer = procedure_.buffer[index];
  const int64_t count = number(buffer.count, buffer.wide_counts);
  datatype::Type of;
  if (count <= 0 || !datatype::Type::of(type(buffer.type), &of).ok() || of.size() == 0) return {};
  if (buffer.amount == BufferAmount::kPartitions) {
    const int64_t partitions = number(procedure_.partitions, false);
    if (partitions <= 0) return {};
    int64_t all;
    if (__builtin_mul_overflow(count, partitions, &all)) return {};
    FGMPI_TRY(check_reach(section, all, of, buffer.name));
    FGMPI_TRY(compose_partition(section, partitions, count, of, buffer.name, &composed_[index]));
  } else {
    FGMPI_TRY(check_reach(section, count, of, buffer.name));
    FGMPI_TRY(compose(section, count, of, &composed_[index]));
  }
  arguments_[buffer.count] = &one_;
  arguments_[buffer.type] = &composed_[index];
  return {};
}

Status SectionCall::stage_buffer(const BufferArgument& buffer, const ArraySection& section) {
  staged_->entries.push_back({StagedBuffer(section), buffer.written});
  StagedBuffer* staged = &staged_->entries.back().buffer;
  FGMPI_TRY(add_blocks(buffer, staged));
  return staged->allocate();
}

Status SectionCall::add_blocks(const BufferArgument& buffer, StagedBuffer* staged) {
  datatype::Type of;
  const bool typed = buffer.amount == BufferAmount::kTypedList;
  if (buffer.type != kAbsent && !typed && !datatype::Type::of(type(buffer.type), &of).ok())
    return {};
  auto count = [&](int64_t i = 0) { return number(buffer.count, buffer.wide_counts, i); };
  auto place = [&](int64_t i) {
    return number(buffer.displacements, buffer.wide_displacements, i);
  };
  int64_t total = count(), n = parts(buffer.parts);
  switch (buffer.amount) {
    case BufferAmount::kList:
      for (int64_t i = 0; i < n; ++i)
        FGMPI_TRY(staged->add_block(place(i) * of.extent(), count(i), of, buffer.name));
      return {};
    case BufferAmount::kTypedList:
      for (int64_t i = 0; i < n; ++i) {
        const MPI_Datatype handle =
            own_handle(static_cast<MPI_Datatype*>(arguments_[buffer.type])[i]);
        if (count(i) <= 0 || !datatype::Type::of(handle, &of).ok()) continue;
        FGMPI_TRY(staged->add_block(place(i), count(i), of, buffer.name));
      }
      return {};
    case BufferAmount::kOwnPart: {
      // In place, the input of all ranks is in recvbuf. The block form has one count.
      const bool all = in_place(arguments_[procedure_.buffer[0].buffer]);
      const bool block = procedure_.buffer[0].amount == BufferAmount::kBlocks;
      if (!all) return staged->add_block(0, block ? total : count(comm_->rank), of, buffer.name);
      if (block) return staged->add_block(0, total * n, of, buffer.name);
      [[fallthrough]];
    }
    case BufferAmount::kSum:
      for (int64_t i = 1; i < n; ++i) total += count(i);
      return staged->add_block(0, total, of, buffer.name);
    default:
      return staged->add_block(0, total * n, of, buffer.name);
  }
}

void SectionCall::finish(bool called, int code) {
  if (noted_) checkpoint_hooks()->keeps(-1);
  for (MPI_Datatype type : composed_)
    if (type != MPI_DATATYPE_NULL) free_composed(type);
  if (!staged_ || !called) return;
  if (procedure_.request == kAbsent) return staged_->empty();
  if (code != MPI_SUCCESS) return;
  const auto handle = own_handle(*static_cast<const MPI_Request*>(arguments_[procedure_.request]));
  if (pt2pt::Request* request = pt2pt::find_request(handle))
    coll::store_stand_in(request, std::move(staged_));
}

}  // namespace fgmpi::fortran
