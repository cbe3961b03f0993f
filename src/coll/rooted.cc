// Gathers and scatters in which members leave their parts in a meeting's memory and go on.

#include "coll/rooted.h"

#include <algorithm>
#include <span>

#include "coll/failure.h"
#include "coll/move.h"
#include "coll/step_gather.h"
#include "coll/team.h"
#include "comm/hierarchy.h"

namespace fgmpi::coll {
namespace {

using comm::Meeting;

// Limits below which a member need not wait; measured: docs/measurements.md.
constexpr int64_t kFewBytes = 1024;          ///< gather: bytes of one member
constexpr size_t kMaxCached = 1 << 20;       ///< gather: bytes of all members in a process
constexpr int64_t kFewScattered = 64 << 10;  ///< scatter: bytes that a root sends in all
/// The number of open meetings above which a member waits instead of going on.
constexpr uint32_t kAhead = 4;

/// Header of a member's part in the meeting's scratch. `bytes` bytes follow, padded; for
/// kElsewhere, a MemberPart* follows.
struct MemberHeader {
  int32_t rank;
  int32_t bytes;  ///< kElsewhere: the part is still in the member's own memory
};
constexpr int32_t kElsewhere = -1;
static_assert(sizeof(MemberHeader) == sizeof(void*));

constexpr size_t padded(size_t bytes) {
  return (bytes + sizeof(MemberHeader) - 1) & -sizeof(MemberHeader);
}

/// What a gather or scatter keeps in its meeting.
struct RootedBlock {
  int32_t root = 0;            ///< as the first member to arrive gave it
  bool root_here = false;      ///< the root has arrived in this process
  bool done = false;           ///< gather: the root has received the parts of all members
  bool laid_out = false;       ///< scatter: scratch holds the data for this process's members
  const void* side = nullptr;  ///< the root's buffer argument, while others may use it
  size_t used = 0;             ///< bytes of scratch that hold members' records
};
RootedBlock* rooted_block(Meeting* m) { return comm::block_of<RootedBlock>(m); }
const RootedBlock* rooted_block(const Meeting* m) { return comm::block_of<RootedBlock>(m); }

MemberHeader* new_record(Meeting* m, int32_t rank, int32_t bytes, size_t room) {
  size_t* used = &rooted_block(m)->used;
  size_t end = *used + sizeof(MemberHeader) + padded(room);
  if (__builtin_expect(m->scratch.size() < end, 0)) m->scratch.resize(end);
  auto* record = reinterpret_cast<MemberHeader*>(m->scratch.data() + *used);
  *used = end;
  *record = {rank, bytes};
  return record;
}

void leave_address(Meeting* m, const MemberPart* own) {
  MemberHeader* record = new_record(m, own->rank, kElsewhere, sizeof own);
  std::memcpy(record + 1, &own, sizeof own);
}

/// Calls f(rank, segment) for each record, in order of arrival; stops at an error.
template <class F>
Status for_each_record(const Meeting* m, F&& f) {
  for (size_t at = 0; at < rooted_block(m)->used;) {
    const auto* record = reinterpret_cast<const MemberHeader*>(m->scratch.data() + at);
    if (record->bytes == kElsewhere) {
      const MemberPart* own;
      std::memcpy(&own, record + 1, sizeof own);
      FGMPI_TRY(f(record->rank, own->part));
      at += sizeof *record + sizeof own;
    } else {
      size_t bytes = static_cast<size_t>(record->bytes);
      FGMPI_TRY(f(record->rank, segment_of_bytes(record + 1, bytes)));
      at += sizeof *record + padded(bytes);
    }
  }
  return {};
}

/// The parts of all records, by rank.
MemberParts sorted_records(const Meeting* m) {
  MemberParts parts;
  parts.reserve(m->arrived);
  bool ascending = true, descending = true;
  int32_t last = -1;
  Status fine = for_each_record(m, [&](int32_t rank, const Segment& part) -> Status {
    ascending &= rank > last;
    descending &= rank < last || last < 0;
    last = rank;
    parts.push_back({rank, part});
    return {};
  });
  if (ascending) return parts;
  if (descending)
    std::reverse(parts.begin(), parts.end());
  else
    std::sort(parts.begin(), parts.end(),
              [](const MemberPart& a, const MemberPart& b) { return a.rank < b.rank; });
  return parts;
}

inline Meeting* arrive(Comm* comm, const Rooted& r) {
  Meeting* m = comm::join(comm, operation_code(r.kind, CallMode::kBlocking), r.call);
  if (m->arrived == 1)
    comm::begin_block<RootedBlock>(m, r.root);
  else if (m->status.ok() && __builtin_expect(rooted_block(m)->root != r.root, 0))
    m->status = different_roots(m->first_rank, rooted_block(m)->root, comm->rank, r.root);
  return m;
}

/// Stores an error in the meeting unless it has one already.
inline void record_first_error(Meeting* m, Status&& status) {
  if (__builtin_expect(!status.ok(), 0) && m->status.ok()) m->status = std::move(status);
}

/// Ends a member's call after an error: every member, also one that arrives later, waits for the
/// last one, which ends the collective.
[[gnu::cold, gnu::noinline]] Status give_up(Comm* comm, Meeting* m, const char* call) {
  if (m->full) {
    conclude(comm->shared, m, &m->status);
    comm::release(m);
  } else {
    comm::wait(comm, m, call);
  }
  return comm::leave(m);
}

/// Are more than kAhead meetings of blocking collectives open?
bool is_far_ahead(const Comm* comm) {
  const Meeting* m = comm->shared->meetings->oldest[0];
  for (uint32_t i = 0; m && i < kAhead; ++i) m = m->next;
  return m != nullptr;
}

// ---- Gather -------------------------------------------------------------------------------------

/// Sends the parts of a process that does not host the root; run by its last member to arrive.
[[gnu::noinline]] void send_to_root(Comm* comm, Meeting* m, const Rooted& r) {
  ++g_counters.collectives;
  record_first_error(m, gather_to_root(comm->shared, m, r.root, r.kind == CollectiveKind::kGather,
                                       sorted_records(m)));
  conclude(comm->shared, m, &m->status);
  rooted_block(m)->done = true;
}

/// Leaves the member's part for the root. Returns true if the member must wait until the root has
/// copied it.
bool leave_segment(Comm* comm, Meeting* m, const MemberPart* own) {
  int64_t bytes = own->part.bytes();
  if (rooted_block(m)->side) {
    const CollectiveBuffer& recv = *static_cast<const CollectiveBuffer*>(rooted_block(m)->side);
    record_first_error(m, copy(own->part, recv.segment(own->rank)));
    return false;
  }
  if (bytes > kFewBytes || rooted_block(m)->used > kMaxCached || is_far_ahead(comm)) {
    leave_address(m, own);
    return true;
  }
  MemberHeader* record =
      new_record(m, own->rank, static_cast<int32_t>(bytes), static_cast<size_t>(bytes));
  record_first_error(m, pack(own->part, reinterpret_cast<char*>(record + 1)));
  return false;
}

Status gather_at_root(Comm* comm, Meeting* m, const Rooted& r, const Segment* own,
                      const CollectiveBuffer& recv) {
  rooted_block(m)->root_here = true;
  record_first_error(m, for_each_record(m, [&](int32_t rank, const Segment& part) {
                       return copy(part, recv.segment(rank));
                     }));
  if (own) record_first_error(m, copy(*own, recv.segment(comm->rank)));
  if (__builtin_expect(!m->status.ok(), 0)) return give_up(comm, m, r.call);
  rooted_block(m)->side = &recv;
  rooted_block(m)->done = true;
  comm::wake(m);
  if (!m->full) comm::wait(comm, m, r.call);
  if (__builtin_expect(m->status.ok(), 1)) {
    ++g_counters.collectives;
    record_first_error(m, gather_from_others(comm->shared, m, recv));
    conclude(comm->shared, m, &m->status);
  }
  return comm::leave(m);
}

// ---- Scatter ------------------------------------------------------------------------------------

/// The position of a member's part in scratch; the part ends where the next member's begins.
struct Share {
  int32_t rank;
  uint32_t offset;
};
static_assert(kFewScattered <= UINT32_MAX);

/// The shares in the meeting's scratch: one for each member of this process, and one more that ends
/// the last part. The parts follow.
struct ScratchLayout {
  explicit ScratchLayout(Meeting* m)
      : shares(reinterpret_cast<Share*>(m->scratch.data())), members(m->shared->members) {}
  static size_t room(const Meeting* m, size_t bytes) {
    return (m->shared->members + 1) * sizeof(Share) + bytes;
  }
  char* data() const { return reinterpret_cast<char*>(shares + members + 1); }
  std::span<const char> part(int32_t rank) const {
    // Members are mostly consecutive ranks, so the member is first searched where it would be then.
    size_t guess = static_cast<size_t>(rank - shares->rank);
    const Share* share = shares + guess;
    if (guess >= members || share->rank != rank)
      share = std::lower_bound(shares, shares + members, rank,
                               [](const Share& s, int32_t r) { return s.rank < r; });
    return {data() + share->offset, share[1].offset - share->offset};
  }

  Share* shares;
  size_t members;
};

/// Copies the parts of this process's members, at most `bytes` bytes, into the meeting's scratch.
Status lay_out(SharedComm* shared, Meeting* m, const CollectiveBuffer& send, size_t bytes) {
  if (m->scratch.size() < ScratchLayout::room(m, bytes))
    m->scratch.resize(ScratchLayout::room(m, bytes));
  ScratchLayout layout(m);
  Share* share = layout.shares;
  size_t at = 0;
  Status status;
  comm::for_each_member_here(shared, [&](int32_t rank) {
    Segment part = send.segment(rank);
    *share++ = {rank, static_cast<uint32_t>(at)};
    if (status.ok()) status = pack(part, layout.data() + at);
    at += static_cast<size_t>(part.bytes());
  });
  *share = {INT32_MAX, static_cast<uint32_t>(at)};
  return status;
}

/// Scatters few bytes, at the root, which does not wait.
Status scatter_and_go_on(Comm* comm, Meeting* m, const Rooted& r, const Segment* own,
                         const CollectiveBuffer& send, size_t bytes) {
  ++g_counters.collectives;
  // Messages go first, since they take longest.
  record_first_error(m, scatter_to_others(comm->shared, m, r.root, send));
  if (m->status.ok()) record_first_error(m, lay_out(comm->shared, m, send, bytes));
  if (own) record_first_error(m, copy(send.segment(comm->rank), *own));
  if (__builtin_expect(!m->status.ok(), 0)) return give_up(comm, m, r.call);
  conclude(comm->shared, m, &m->status);
  rooted_block(m)->laid_out = true;
  comm::wake(m);
  return comm::leave(m);
}

Status scatter_to_all(SharedComm* shared, const Meeting* m, const Rooted& r) {
  ++g_counters.collectives;
  if (!rooted_block(m)->side)
    return scatter_from_root(shared, m, r.root, r.kind == CollectiveKind::kScatter,
                             sorted_records(m), r.type);
  const CollectiveBuffer& send = *static_cast<const CollectiveBuffer*>(rooted_block(m)->side);
  FGMPI_TRY(scatter_to_others(shared, m, r.root, send));
  return for_each_record(
      m, [&](int32_t rank, const Segment& part) { return copy(send.segment(rank), part); });
}

/// Scatters for all members of the process; run by the last to arrive.
[[gnu::noinline]] void scatter_for_all(Comm* comm, Meeting* m, const Rooted& r) {
  record_first_error(m, scatter_to_all(comm->shared, m, r));
  conclude(comm->shared, m, &m->status);
}

}  // namespace

const Type g_byte_type;

Status rooted_gather(Comm* comm, const Rooted& r, const Segment* own,
                     const CollectiveBuffer* recv) {
  Meeting* m = arrive(comm, r);
  if (__builtin_expect(!m->status.ok(), 0)) return give_up(comm, m, r.call);
  if (recv) return gather_at_root(comm, m, r, own, *recv);
  MemberPart mine{comm->rank, *own};
  bool waits = leave_segment(comm, m, &mine);
  if (__builtin_expect(!m->status.ok(), 0)) return give_up(comm, m, r.call);
  if (m->full) {
    if (!rooted_block(m)->root_here) send_to_root(comm, m, r);
    comm::wake(m);
  }
  if (waits && !rooted_block(m)->done) comm::wait(comm, m, r.call);
  return comm::leave(m);
}

Status rooted_scatter(Comm* comm, const Rooted& r, const Segment* own,
                      const CollectiveBuffer* send) {
  Meeting* m = arrive(comm, r);
  if (__builtin_expect(!m->status.ok(), 0)) return give_up(comm, m, r.call);
  if (send) {
    rooted_block(m)->root_here = true;
    int64_t bytes = send->bytes(0, comm->size());
    if (bytes <= kFewScattered && !is_far_ahead(comm))
      return scatter_and_go_on(comm, m, r, own, *send, static_cast<size_t>(bytes));
    rooted_block(m)->side = send;
  }
  MemberPart mine;
  if (!rooted_block(m)->laid_out) {
    if (own) {
      mine = {comm->rank, *own};
      leave_address(m, &mine);
    }
    if (m->full && (rooted_block(m)->side || !rooted_block(m)->root_here)) {
      scatter_for_all(comm, m, r);
      comm::wake(m);
    } else {
      comm::wait(comm, m, r.call);
    }
  }
  Status status;
  if (rooted_block(m)->laid_out && m->status.ok()) {
    std::span<const char> part = ScratchLayout(m).part(comm->rank);
    status = unpack(part.data(), static_cast<int64_t>(part.size()), *own);
  }
  FGMPI_TRY(comm::leave(m));
  return status;
}

}  // namespace fgmpi::coll
