#include "coll/args.h"

#include <algorithm>
#include <new>

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
  args->send = Side();
  args->send.address = copy->data.get();
  args->send.counts = copy->counts.data();
  args->send.displs = copy->displs.data();
  args->copy = std::move(copy);
  return {};
}

void Types::finish() {
  if (distinct_.size() > 1)
    index_ = KeptArray::keep(Counts(numbers_.data()), static_cast<int64_t>(numbers_.size()));
  std::vector<MPI_Datatype>().swap(handles_);
  std::vector<int>().swap(numbers_);
  distinct_.shrink_to_fit();
}

void DeleteTypes::operator()(Types* types) const { delete types; }

namespace {

/// Arrays of a call that are not longer than this, together, are copied as they are.
constexpr size_t kShortArrays = 2048;

size_t element_size(const Counts& values) {
  return values.kind == Counts::kInt ? sizeof(int) : sizeof(MPI_Count);
}

size_t bytes_of(const Side& side) {
  size_t each = 0;
  for (const Counts* values : {&side.counts, &side.displs})
    if (*values) each += element_size(*values);
  return each * static_cast<size_t>(side.segments);
}

/// Copies the arrays of a side to `to`, and returns where the next are to go. Wide ones come first,
/// for their alignment.
void copy_side(Side* side, Counts::Kind kind, char** to) {
  for (Counts* values : {&side->counts, &side->displs}) {
    if (!*values || values->kind != kind) continue;
    const size_t bytes = element_size(*values) * static_cast<size_t>(side->segments);
    if (bytes) std::memcpy(*to, values->data, bytes);
    values->data = *to;
    *to += bytes;
  }
}

void keep_side(Side* side, std::shared_ptr<const KeptArray>* counts,
               std::shared_ptr<const KeptArray>* displs) {
  if (!side->counts) return;
  *counts = KeptArray::keep(side->counts, side->segments);
  side->counts = Counts(counts->get());
  if (!side->displs) return;
  *displs = KeptArray::keep(side->displs, side->segments, counts->get());
  side->displs = Counts(displs->get());
}
}  // namespace

Status KeptArrays::keep(Args* args) {
  try {
    const size_t bytes = bytes_of(args->send) + bytes_of(args->recv);
    if (bytes <= kShortArrays) {
      copies = std::make_unique_for_overwrite<char[]>(bytes + 1);
      char* to = copies.get();
      for (Counts::Kind kind : {Counts::kWide, Counts::kInt})
        for (Side* side : {&args->send, &args->recv}) copy_side(side, kind, &to);
      return {};
    }
    keep_side(&args->send, &send_counts, &send_displs);
    keep_side(&args->recv, &recv_counts, &recv_displs);
  } catch (const std::bad_alloc&) {
    return error(MPI_ERR_NO_MEM, "no memory to keep the counts and displacements of %d ranks",
                 std::max(args->send.segments, args->recv.segments));
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
               "rank %d gives %lld bytes, rank %d gives %lld: all members must give the same", rank,
               static_cast<long long>(bytes), other_rank, static_cast<long long>(other_bytes));
}

void set_status_of_members(comm::Meeting* meeting, const Status& status) {
  if (status.ok()) return;
  for (comm::Arrival* a = meeting->arrivals; a; a = a->next)
    if (a->status.ok()) a->status = comm::copy_status(status);
}

}  // namespace fgmpi::coll
