// What the wrappers (generated: generate.py) do around each call.
//
//   Call call(kCall_MPI_Send, place);      reads the clock, reserves the record
//   result = next.Send(...);
//   call.leave();                          reads the clock
//   call.message(EventKind::kSend, ...);   fills the record, or adds another
//
// Cost: two reads of the clock and 48 bytes of stores a call. Nothing waits, allocates or enters
// the kernel but when a chunk is full; that is an event of its own (kFlush).
#pragma once

#include "track/rank.h"

namespace fgmpi::track {

/// Bytes of one element. Basic types have theirs in the handle (MPICH's ABI: bits 8 to 15).
inline uint64_t type_size(MPI_Datatype type) {
  if ((static_cast<uint32_t>(type) & 0xff000000u) == 0x4c000000u)
    return static_cast<uint32_t>(type) >> 8 & 0xff;
  extern uint64_t derived_type_size(MPI_Datatype);
  return derived_type_size(type);
}
inline uint64_t bytes_of(int64_t count, MPI_Datatype type) {
  return static_cast<uint64_t>(count) * type_size(type);
}
/// Sum of `counts` of the n members, in bytes.
template <class Count>
uint64_t bytes_of_all(const Count* counts, int n, MPI_Datatype type) {
  uint64_t sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<uint64_t>(counts[i]);
  return sum * type_size(type);
}
template <class Count>
uint64_t bytes_of_all(const Count* counts, int n, const MPI_Datatype* types) {
  uint64_t sum = 0;
  for (int i = 0; i < n; ++i) sum += bytes_of(static_cast<int64_t>(counts[i]), types[i]);
  return sum;
}

struct Shape {
  uint32_t id;
  int rank, size, others;  ///< own rank, own group's size, size of the group that ranks refer to
};

class Call {
 public:
  Call(Calls id, const void* place) : rank_(current_rank()), id_(id), place_(place) {
    if (rank_ && rank_->recording && g_process.wanted[id]) begin();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Rank* rank() const { return rank_; }
  bool recording() const { return event_ != nullptr; }
  void leave() {
    if (event_) event_->end = ticks();
  }

  /// The record of the call says what message it was; a second message is a part.
  void message(EventKind kind, MPI_Comm comm, int peer, int tag, uint64_t bytes,
               uint64_t extra = 0) {
    if (!event_ || peer == MPI_PROC_NULL) return;
    RankLock lock(rank_);
    fill(kind, rank_->id_of(comm), peer, tag, bytes, extra);
  }
  /// A received message: source and tag from the status.
  void received(MPI_Comm comm, const MPI_Status& status);
  Shape shape_of(MPI_Comm comm);
  void collective(uint32_t comm, int root, uint64_t sent, uint64_t received);

  /// A request was made: what it is, and what completing it will tell.
  void requested(RequestKind kind, bool persistent, MPI_Request request, MPI_Comm comm, int peer,
                 int tag, uint64_t bytes, uint64_t extra = 0);
  void started(MPI_Request request);
  void matched(MPI_Message message, MPI_Comm comm);
  /// The communicator of a matched message, which is forgotten.
  MPI_Comm take_message(MPI_Message message);

  void created(MPI_Comm parent, MPI_Comm comm, uint16_t flags = 0);
  void idup_started(MPI_Comm parent, MPI_Comm* comm, MPI_Request request);
  /// The local id of a communicator or kNoComm, and what is known of a request: to be asked before
  /// a call that frees the handle, which another thread may be given at once.
  uint32_t id_of(MPI_Comm comm);
  KnownRequest know(MPI_Request request);
  void freed(MPI_Comm comm, uint32_t id);
  void request_freed(const KnownRequest& request);
  void cancelled(MPI_Request request);
  void named(MPI_Comm comm, const char* name);
  /// Completes keys that have come.
  void advance() {
    if (rank_ && !rank_->pending.empty()) advance_slowly();
  }

 private:
  friend class Completion;
  void begin();
  void fill(EventKind kind, uint32_t comm, int peer, int tag, uint64_t bytes, uint64_t extra);
  void complete(uint32_t index, MPI_Request before, const MPI_Status* status);
  void advance_slowly();

  Rank* const rank_;
  Event* event_ = nullptr;
  const Calls id_;
  bool filled_ = false;
  const void* const place_;
};

/// The requests of a completing call, as they were before it.
class Completion {
 public:
  Completion(Call* call, int count, const MPI_Request* requests);
  /// The statuses to pass on: the program's own, or ours where it ignores what a receive tells.
  MPI_Status* statuses(MPI_Status* of_program);
  /// Number `i` of the requests is complete; `status` is the place of its status in statuses().
  void done(int i, int status = 0);
  bool any() const { return any_; }
  int count() const { return count_; }

 private:
  static constexpr int kFew = 8;
  Call* const call_;
  const int count_;
  bool any_ = false, receives_ = false;
  KnownRequest few_[kFew];
  MPI_Status few_statuses_[kFew];
  std::vector<KnownRequest> many_;
  std::vector<MPI_Status> many_statuses_;
  KnownRequest* known_ = few_;
  const MPI_Status* told_ = nullptr;
};

}  // namespace fgmpi::track
