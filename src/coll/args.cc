// Storing, copying and comparing the arguments of a collective's members.

#include "coll/args.h"

#include <algorithm>
#include <new>

#include "base/count_words.h"
#include "coll/move.h"

namespace fgmpi::coll {

Status copy_in_place(Args* args, int64_t segments) {
  auto copy = std::make_unique<InPlaceCopy>();
  copy->counts.resize(static_cast<size_t>(segments));
  copy->displs.resize(static_cast<size_t>(segments));
  int64_t total = 0;
  for (int64_t i = 0; i < segments; ++i) {
    copy->counts[i] = args->recv.segment(i).bytes();
    copy->displs[i] = total;
    total += copy->counts[i];
  }
  copy->data = raw_memory(static_cast<size_t>(total));
  for (int64_t i = 0; i < segments; ++i)
    FGMPI_TRY(pack(args->recv.segment(i), copy->data.get() + copy->displs[i]));
  args->send = CollectiveBuffer();
  args->send.address = copy->data.get();
  args->send.counts = copy->counts.data();
  args->send.displs = copy->displs.data();
  args->copy = std::move(copy);
  return {};
}

void Types::finish() {
  if (distinct_.size() > 1)
    index_ = StoredArray::store(Counts(numbers_.data()), static_cast<int64_t>(numbers_.size()));
  std::vector<MPI_Datatype>().swap(handles_);
  std::vector<int>().swap(numbers_);
  distinct_.shrink_to_fit();
}

void DeleteTypes::operator()(Types* types) const { delete types; }

namespace {

/// The most bytes of a call's arrays that are copied as they are.
constexpr size_t kShortArrays = 2048;

size_t length_of(const Counts& values, int32_t n) {
  return static_cast<size_t>(n) * (values.kind == Counts::kInt ? sizeof(int) : sizeof(MPI_Count));
}
/// The bytes that the copies of a side's arrays need. Each copy begins at a multiple of 8 bytes,
/// for arrays of wide counts.
size_t room_of(const Counts& values, int32_t n) {
  return values ? (length_of(values, n) + 7) / 8 * 8 : 0;
}
size_t room_of(const CollectiveBuffer& side) {
  return room_of(side.counts, side.segments) + room_of(side.displs, side.segments);
}

/// Copies an array to `to`, and returns the address for the next one.
char* copy_array(Counts* values, int32_t n, char* to) {
  if (!*values) return to;
  std::memcpy(to, values->data, length_of(*values, n));
  values->data = to;
  return to + room_of(*values, n);
}
char* copy_side(CollectiveBuffer* side, char* to) {
  to = copy_array(&side->counts, side->segments, to);
  return copy_array(&side->displs, side->segments, to);
}

void store_buffer(CollectiveBuffer* side, std::shared_ptr<const StoredArray>* counts,
                  std::shared_ptr<const StoredArray>* displs) {
  if (!side->counts) return;
  *counts = StoredArray::store(side->counts, side->segments);
  side->counts = Counts(counts->get());
  if (!side->displs) return;
  *displs = StoredArray::store(side->displs, side->segments, counts->get());
  side->displs = Counts(displs->get());
}
}  // namespace

Status StoredArrays::store(Args* args) {
  try {
    const size_t bytes = room_of(args->send) + room_of(args->recv);
    if (bytes <= kShortArrays) {
      copies_ = std::make_unique_for_overwrite<char[]>(bytes + 1);
      copy_side(&args->recv, copy_side(&args->send, copies_.get()));
      return {};
    }
    long_ = std::make_unique<Long>();
    store_buffer(&args->send, &long_->send_counts, &long_->send_displs);
    store_buffer(&args->recv, &long_->recv_counts, &long_->recv_displs);
  } catch (const std::bad_alloc&) {
    return error(
        MPI_ERR_NO_MEM, "no memory to keep the counts and displacements of %s",
        count_words(static_cast<uint64_t>(std::max(args->send.segments, args->recv.segments)),
                    "rank")
            .c_str());
  }
  return {};
}

std::vector<Args*> in_rank_order(comm::Meeting* meeting) {
  std::vector<Args*> members;
  members.reserve(meeting->arrived);
  bool ascending = true;
  int32_t low = INT32_MAX, high = -1;
  for (comm::Arrival* a = meeting->arrivals; a; a = a->next) {
    if (a->rank < high) ascending = false;
    low = std::min(low, a->rank);
    high = std::max(high, a->rank);
    members.push_back(static_cast<Args*>(a));
  }
  if (ascending) return members;
  if (static_cast<size_t>(high - low) + 1 == members.size()) {
    std::vector<Args*> sorted(members.size());
    for (Args* a : members) sorted[static_cast<size_t>(a->rank - low)] = a;
    return sorted;
  }
  std::sort(members.begin(), members.end(),
            [](const Args* a, const Args* b) { return a->rank < b->rank; });
  return members;
}

Status different_roots(int rank, int root, int other_rank, int other_root) {
  return error(MPI_ERR_ROOT,
               "rank %d gives root %d, rank %d gives root %d: all members must give the same", rank,
               root, other_rank, other_root);
}

Status different_bytes(int rank, int64_t bytes, int other_rank, int64_t other_bytes) {
  return error(MPI_ERR_TRUNCATE,
               "rank %d gives %s, rank %d gives %lld: all members must give the same", rank,
               count_words(static_cast<uint64_t>(bytes), "byte").c_str(), other_rank,
               static_cast<long long>(other_bytes));
}

void set_status_of_members(comm::Meeting* meeting, const Status& status) {
  if (status.ok()) return;
  for (comm::Arrival* a = meeting->arrivals; a; a = a->next)
    if (a->status.ok()) a->status = comm::copy_status(status);
}

}  // namespace fgmpi::coll
