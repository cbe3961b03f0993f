// All-to-all by IP multicast: each process sends all its blocks to everybody, and each receiver
// copies its own. The sizes of the blocks go first. Receives are posted in the order of processes;
// long data waits for them at its root.
//
//   step 0   | ticket | size of the block for process 0 .. P-1 (uint64_t each) |
//   step 1   blocks 0 .. P-1; not sent where all are empty
//
// A process with an opened group whose blocks for some of the others are empty sends the blocks,
// where they need more than a packet, to a subgroup that is kept (multicast/subgroups.h). It waits
// there for its receivers, which enter the subgroups in the order of processes: so those that are
// furthest behind all get what they wait for, and no cycle of waits arises. With
// FGMPI_MULTICAST_GROUPS=dynamic every call does so, with a subgroup of its own.
#include <numeric>

#include "base/count_words.h"
#include "coll/algorithms.h"
#include "coll/move.h"
#include "multicast/multicast.h"
#include "multicast/subgroups.h"

namespace fgmpi::coll {
namespace {

using multicast::Membership;
using multicast::MulticastTransfer;
using multicast::Scheme;
using multicast::scheme;
using multicast::SubgroupTicket;

size_t table_bytes(uint32_t n) { return sizeof(SubgroupTicket) + n * sizeof(uint64_t); }

Status recv_own(const Team& team, const Multicast& multicast, uint32_t from, char* to,
                size_t bytes) {
  const uint32_t n = team.count(), me = team.me();
  Memory table = raw_memory(table_bytes(n));
  FGMPI_TRY(multicast.recv(from, table.get(), table_bytes(n), 0));
  SubgroupTicket ticket;
  std::vector<uint64_t> sizes(n);
  std::memcpy(&ticket, table.get(), sizeof ticket);
  std::memcpy(sizes.data(), table.get() + sizeof ticket, n * sizeof(uint64_t));
  multicast::drop_subgroup(multicast.caller(), from, ticket);
  const uint64_t before = std::accumulate(sizes.begin(), sizes.begin() + me, uint64_t{0});
  const uint64_t total = std::accumulate(sizes.begin() + me, sizes.end(), before);
  const bool apart = ticket.how != SubgroupTicket::kNone;
  Memory all;
  if (apart && sizes[me]) {
    all = raw_memory(total);
    FGMPI_TRY(multicast::recv_apart(multicast, from, sizes, ticket, all.get(), total));
  } else if (!apart && total > 0) {
    all = raw_memory(total);
    FGMPI_TRY(multicast.recv(from, all.get(), total, 1));
  }
  if (sizes[me] == bytes && bytes) std::memcpy(to, all.get() + before, bytes);
  return sizes[me] == bytes
             ? Status()
             : truncated(static_cast<int64_t>(sizes[me]), static_cast<int64_t>(bytes));
}

/// The sends of this process: its table to all, its blocks to all or to those that get something.
class Sending {
 public:
  Sending(const Team& team, const Multicast& multicast) : team_(team), multicast_(multicast) {}

  Status start(const char* out, const AlltoallSizes& sizes) {
    const uint32_t n = team_.count(), me = team_.me();
    std::vector<uint64_t> own(n);
    for (uint32_t p = 0; p < n; ++p) own[p] = p == me ? 0 : sizes.out->size(p);
    const size_t total = sizes.out->total();
    const std::vector<uint32_t> members = multicast::takers(own, me);
    const bool may = scheme() == Scheme::kDynamic || (sizes.opened && scheme() == Scheme::kOpened);
    if (may && sizes.out->size(me) == 0 && total > multicast_.payload() && members.size() < n) {
      ticket_ = multicast::announce_subgroup(multicast_.caller(), members, true);
      group_ = multicast::enter_subgroup(multicast_.caller(), me, members, ticket_);
      if (!group_)
        return error(MPI_ERR_INTERN, "a multicast group of %s cannot be made",
                     count_words(members.size(), "process").c_str());
      subgroup_ = std::make_unique<Multicast>(multicast_, group_, members);
    }
    own[me] = sizes.out->size(me);
    table_memory_ = raw_memory(table_bytes(n));
    std::memcpy(table_memory_.get(), &ticket_, sizeof ticket_);
    std::memcpy(table_memory_.get() + sizeof ticket_, own.data(), n * sizeof(uint64_t));
    multicast_.start_send(table_memory_.get(), table_bytes(n), 0, &table_);
    if (total == 0) return {};
    has_data_ = true;
    (subgroup_ ? *subgroup_ : multicast_).start_send(out, total, 1, &data_);
    return {};
  }

  Status finish(Status first) {
    Status status =
        multicast_.finish_after(std::move(first), {&table_, has_data_ ? &data_ : nullptr});
    if (group_) multicast::leave_subgroup(multicast_.caller(), ticket_, group_);
    return status;
  }

 private:
  const Team& team_;
  const Multicast& multicast_;
  SubgroupTicket ticket_;
  Membership* group_ = nullptr;
  std::unique_ptr<Multicast> subgroup_;
  Memory table_memory_;
  MulticastTransfer table_, data_;
  bool has_data_ = false;
};

}  // namespace

Status alltoall_multicast(const Team& team, const Multicast& multicast, const char* out, char* in,
                          const AlltoallSizes& sizes) {
  Sending sending(team, multicast);
  FGMPI_TRY(sending.start(out, sizes));
  Status status;
  for (uint32_t p = 0; p < team.count() && status.ok(); ++p)
    if (p != team.me())
      status = recv_own(team, multicast, p, in + sizes.in->offset[p], sizes.in->size(p));
  return sending.finish(std::move(status));
}

}  // namespace fgmpi::coll
