// Rooted collectives under mpiexec -explore: a member waits for all others unless the explorer lets
// it leave.

#include "coll/decided.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "coll/early_exit_decider.h"
#include "coll/move.h"

namespace fgmpi::coll {

EarlyExitDecider* g_early_exit_decider = nullptr;

namespace {

/// True if every other member needs data from the root; false if the root needs data from them.
bool comes_from_root(CollectiveKind kind) {
  return kind == CollectiveKind::kBcast || kind == CollectiveKind::kScatter ||
         kind == CollectiveKind::kScatterv;
}

/// The part of the root's data that is for `rank`. REQUIRES: comes_from_root().
Segment part_of(const Args& root, int32_t rank) {
  return root.kind == CollectiveKind::kBcast ? root.recv.whole() : root.send.segment(rank);
}

class CollectiveExit final : public EarlyExitWait {
 public:
  explicit CollectiveExit(CollRequest* r) : EarlyExitWait(r), request_(r), args_(r->args) {}

  bool may_leave() const override {
    if (!args_.meeting->status.ok()) return false;
    const bool is_root = args_.rank == args_.root;
    if (!comes_from_root(args_.kind)) return !is_root;
    if (is_root) return true;
    const Args* root = find_root();
    return root && root->root == args_.root &&
           part_of(*root, args_.rank).bytes() == args_.recv.whole().bytes();
  }

  /// Copies the data that this member needs from the root, and copies the data that others need
  /// from this member, so that the caller may use all buffers. REQUIRES: may_leave().
  Status leave() {
    if (!comes_from_root(args_.kind))
      return args_.kind == CollectiveKind::kReduce ? store_elements() : store_whole(&args_.send);
    if (args_.rank != args_.root) {
      FGMPI_TRY(copy(part_of(*find_root(), args_.rank), args_.recv.whole()));
      return replace_received();
    }
    if (args_.kind == CollectiveKind::kBcast) return store_whole(&args_.recv);
    if (!args_.in_place) {
      FGMPI_TRY(copy(args_.send.segment(args_.rank), args_.recv.whole()));
      FGMPI_TRY(replace_received());
    }
    return store_parts();
  }

 private:
  const Args* find_root() const {
    for (const comm::Arrival* a = args_.meeting->arrivals; a; a = a->next)
      if (a->rank == args_.root) return static_cast<const Args*>(a);
    return nullptr;
  }

  char* memory(int64_t bytes) {
    request_->kept = raw_memory(static_cast<size_t>(bytes));
    return request_->kept.get();
  }

  /// Replaces a side by a packed copy of its one segment.
  Status store_whole(CollectiveBuffer* side) {
    const Segment whole = side->whole();
    const int64_t bytes = whole.bytes();
    char* data = memory(bytes);
    FGMPI_TRY(pack(whole, data));
    *side = CollectiveBuffer();
    side->address = data;
    side->count = bytes;
    return {};
  }

  /// Replaces the root's parts for all members by packed copies, one after the other.
  Status store_parts() {
    const int32_t n = args_.comm->size();
    std::vector<MPI_Count> counts(static_cast<size_t>(n)), displs(static_cast<size_t>(n));
    int64_t total = 0;
    for (int32_t i = 0; i < n; ++i) {
      counts[i] = args_.send.segment(i).bytes();
      displs[i] = total;
      total += counts[i];
    }
    char* data = memory(total);
    for (int32_t i = 0; i < n; ++i) FGMPI_TRY(pack(args_.send.segment(i), data + displs[i]));
    const int64_t each = args_.kind == CollectiveKind::kScatter ? counts[0] : 0;
    args_.send = CollectiveBuffer();
    args_.send.address = data;
    args_.send.count = each;
    if (args_.kind == CollectiveKind::kScatter) return {};
    args_.copy = std::make_unique<InPlaceCopy>();
    args_.copy->counts = std::move(counts);
    args_.copy->displs = std::move(displs);
    args_.send.segments = n;
    args_.send.counts = args_.copy->counts.data();
    args_.send.displs = args_.copy->displs.data();
    return {};
  }

  /// Copies a contribution to a reduction with its layout, as the operation needs the elements as
  /// they lie.
  Status store_elements() {
    const Segment whole = args_.send.whole();
    if (whole.count == 0) return {};
    const int64_t last = (whole.count - 1) * whole.type->extent();
    const int64_t low = std::min<int64_t>(last, 0) + whole.type->true_lb();
    const int64_t high =
        std::max<int64_t>(last, 0) + whole.type->true_lb() + whole.type->true_extent();
    char* data = memory(high - low);
    std::memcpy(data, whole.address + low, static_cast<size_t>(high - low));
    args_.send.address = data - low;
    return {};
  }

  /// Directs the data that will arrive once more to memory that nobody reads.
  Status replace_received() {
    const int64_t bytes = args_.recv.whole().bytes();
    request_->received = raw_memory(static_cast<size_t>(bytes));
    args_.recv = CollectiveBuffer();
    args_.recv.address = request_->received.get();
    args_.recv.count = bytes;
    return {};
  }

  CollRequest* request_;
  Args& args_;
};

/// REQUIRES: the side has one type.
void copy_side(const CollectiveBuffer& from, CollectiveBuffer* to) {
  to->address = from.address;
  to->count = from.count;
  to->type = from.type;
  to->counts = from.counts;
  to->displs = from.displs;
  to->segments = from.segments;
  to->strided = from.strided;
}

}  // namespace

Status run_decided(Comm* comm, Args* args, const char* call) {
  auto request = std::make_unique<CollRequest>(comm, args->kind, call);
  if (args->send.opened || args->recv.opened) {
    // An opened group uses its arguments again in the next call; they own nothing.
    Args once;
    once.kind = args->kind;
    once.in_place = args->in_place;
    once.root = args->root;
    once.op = args->op;
    copy_side(args->send, &once.send);
    copy_side(args->recv, &once.recv);
    request->take(&once);
  } else {
    request->take(args);
  }
  FGMPI_TRY(request->hold());
  FGMPI_TRY(request->start_blocking());
  CollectiveExit member(request.get());
  pt2pt::Request* awaited = request.get();
  g_early_exit_decider->begin_early_exit_wait(&member);
  pt2pt::wait_all(&awaited, 1, call);
  g_early_exit_decider->end_early_exit_wait(&member);
  if (!member.left) return std::move(request->outcome.error);
  // The others use its copies until all of them have arrived.
  CollRequest* const left = request.release();
  left->freed = true;
  return member.leave();
}

}  // namespace fgmpi::coll
