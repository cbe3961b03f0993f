// Args: the arguments of one member of a collective, in one form for all collectives, and their
// segments.
//
//   CollectiveBuffer  one buffer argument: address, type, and the position of each rank's part
//   Segment  one such part: `count` elements of a type at an address
//
// Thread rule: one thread; nothing here switches. An Args lives on its member's stack
// (blocking: arrays of counts and displacements are the user's) or in its request, which stores
// the arrays (stored_array.h).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "coll/memory.h"
#include "coll/stored_array.h"
#include "comm/meeting.h"
#include "datatype/datatype.h"

namespace fgmpi::coll {

using comm::Comm;
using comm::SharedComm;
using datatype::Type;

/// The collectives. Operation codes of meetings are made from these numbers.
enum class CollectiveKind : uint8_t {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kLast
};

/// The form of the call; calls of different modes do not match (MPI-4.0 section 6.12).
enum class CallMode : uint8_t { kBlocking, kShort, kNonblocking, kPersistent };

inline uint8_t operation_code(CollectiveKind kind, CallMode mode) {
  return static_cast<uint8_t>(static_cast<uint8_t>(kind) * 4 + static_cast<uint8_t>(mode));
}
static_assert(static_cast<int>(CollectiveKind::kLast) * 4 <= comm::kFirstOther);

struct Segment {
  char* address;
  int64_t count;
  const Type* type;
  int64_t bytes() const { return count * type->size(); }
};

/// The types of a w form: mostly one, or few in runs, so they are not stored one a segment.
class Types {
 public:
  bool empty() const { return distinct_.empty(); }
  const Type& operator[](int64_t i) const {
    return distinct_[index_ ? static_cast<size_t>(index_->at(i)) : 0];
  }
  /// Adds the next segment's type. That is the type of a recent segment with the same handle, or a
  /// new one from make(&type).
  template <class Make>
  Status add(MPI_Datatype handle, Make&& make) {
    // A handle is compared with this many recent ones, so that adding n types costs O(n).
    constexpr size_t kLooks = 8;
    for (size_t k = distinct_.size(); k-- > 0 && k + kLooks >= distinct_.size();)
      if (handles_[k] == handle) {
        numbers_.push_back(static_cast<int>(k));
        return {};
      }
    Type type;
    FGMPI_TRY(make(&type));
    numbers_.push_back(static_cast<int>(distinct_.size()));
    distinct_.push_back(std::move(type));
    handles_.push_back(handle);
    return {};
  }
  /// Called when all types have been added.
  void finish();

 private:
  std::vector<Type> distinct_;
  std::vector<MPI_Datatype> handles_;  ///< until finish()
  std::vector<int> numbers_;           ///< until finish(): index into distinct_, one a segment
  /// After finish(): index into distinct_, one a segment; nullptr: all have the first type.
  std::shared_ptr<const StoredArray> index_;
};

struct DeleteTypes {  // out of line, so that sides without types are destroyed in line
  void operator()(Types* types) const;
};

struct CollectiveBuffer {
  char* address = nullptr;
  int64_t count = 0;  ///< elements of a segment where there are no counts
  Type type;
  Counts counts, displs;  ///< v and w forms; displs in elements (v) or bytes (w)
  std::unique_ptr<Types, DeleteTypes> types;  ///< w form
  int32_t segments = 0;                       ///< values in `counts` and `displs`
  bool strided = true;                        ///< false: every segment is the whole buffer
  bool opened = false;  ///< of an opened group or a persistent collective: the same will follow

  /// The segment number i (a rank, or a neighbour's index).
  [[gnu::always_inline]] Segment segment(int64_t i) const {
    if (!counts) return {address + (strided ? i * count * type.extent() : 0), count, &type};
    if (__builtin_expect(types != nullptr, 0))
      return {address + displs[i], counts[i], &(*types)[i]};
    if (!displs) return {address, counts[i], &type};  // reduce_scatter: only the counts matter
    return {address + displs[i] * type.extent(), counts[i], &type};
  }
  Segment whole() const { return {address, count, &type}; }
  /// Bytes of segments first .. first+n-1. REQUIRES: not the w form.
  int64_t bytes(int64_t first, int64_t n) const {
    if (!counts) return n * count * type.size();
    int64_t elements = 0;
    for (int64_t i = first; i < first + n; ++i) elements += counts[i];
    return elements * type.size();
  }
};

/// The copy that MPI_IN_PLACE needs in all-to-all forms: the outgoing data, packed, before it
/// is overwritten.
struct InPlaceCopy {
  Memory data;
  std::vector<MPI_Count> counts, displs;
};

struct Args : comm::Arrival {
  CollectiveKind kind = CollectiveKind::kBarrier;
  bool in_place = false;  ///< MPI_IN_PLACE was given where this member may give it
  int root = 0;           ///< a rank, or MPI_ROOT, MPI_PROC_NULL on an intercommunicator
  MPI_Op op = MPI_OP_NULL;
  CollectiveBuffer send, recv;
  std::unique_ptr<InPlaceCopy> copy;

  Args() = default;
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;
};

/// The counts and displacements of a member's arguments that outlive its call. Short arrays are
/// copied as they are, into one block of memory; long ones are compressed.
class StoredArrays {
 public:
  /// Stores the arrays, and makes `args` refer to the stored ones. Errors: MPI_ERR_NO_MEM.
  Status store(Args* args);

 private:
  struct Long {
    std::shared_ptr<const StoredArray> send_counts, send_displs, recv_counts, recv_displs;
  };
  std::unique_ptr<char[]> copies_;
  std::unique_ptr<Long> long_;
};

/// Makes `send` of an all-to-all the packed copy of `recv` (`segments` of them). Called at the
/// start of the collective.
Status copy_in_place(Args* args, int64_t segments);

/// The members of a meeting in rank order.
std::vector<Args*> in_rank_order(comm::Meeting* meeting);

/// The error of two members that give different roots.
[[gnu::cold]] Status different_roots(int rank, int root, int other_rank, int other_root);

/// The error of two members that give different amounts of data.
[[gnu::cold]] Status different_bytes(int rank, int64_t bytes, int other_rank, int64_t other_bytes);

/// Gives every member of the meeting this status.
void set_status_of_members(comm::Meeting* meeting, const Status& status);

}  // namespace fgmpi::coll
