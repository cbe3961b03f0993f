// Broadcast: the root's process sends once to each of the others (level two); in each process the
// data is copied once to every member, in pieces that stay in the cache. Long data between two
// processes goes in segments, so that both hand out while it is on its way.
#include <algorithm>

#include "coll/act.h"
#include "coll/selector.h"

namespace fgmpi::coll {
namespace {

constexpr size_t kSegment = 256 * 1024;

/// What this process has of the data, and who else gets it.
class HandOut {
 public:
  HandOut(const Act& act, const Args* holder, char* data, size_t bytes)
      : data_(data), bytes_(bytes) {
    to_.reserve(act.members.size());
    for (const Args* m : act.members)
      if (m != holder) to_.push_back(m);
    for (const Args* m : to_) flat_ &= m->recv.type.basic();
  }

  /// Bytes first .. first+n-1, which are there, to members whose buffers are plain.
  Status part(size_t first, size_t n) const {
    if (!flat_) return {};
    std::vector<char*> to;
    to.reserve(to_.size());
    for (const Args* m : to_) {
      if (static_cast<int64_t>(bytes_) > m->recv.whole().bytes())
        return truncated(static_cast<int64_t>(bytes_), m->recv.whole().bytes());
      to.push_back(m->recv.address + first);
    }
    copy_to_many(data_ + first, n, to.data(), to.size(), exceeds_caches(bytes_ * to.size()));
    return {};
  }
  /// What parts left to be done.
  Status rest() const {
    if (flat_) return {};
    for (const Args* m : to_)
      FGMPI_TRY(unpack(data_, static_cast<int64_t>(bytes_), m->recv.whole()));
    return {};
  }

 private:
  char* data_;
  size_t bytes_;
  std::vector<const Args*> to_;
  bool flat_ = true;
};

/// Sends or receives the segments of long data and hands each out.
Status between_two(const Team& team, bool sends, char* data, size_t bytes, const HandOut& out) {
  std::vector<pt2pt::Request*> requests;
  uint32_t other = 1 - team.me();
  Status status;
  for (size_t at = 0; at < bytes && status.ok(); at += kSegment) {
    pt2pt::Request* request;
    size_t n = std::min(kSegment, bytes - at);
    status = sends ? team.isend(other, data + at, n, &request)
                   : team.irecv(other, data + at, n, &request);
    if (status.ok()) requests.push_back(request);
  }
  if (sends && status.ok()) status = out.part(0, bytes);
  for (size_t i = 0; i < requests.size(); ++i) {
    Status one = team.finish(requests[i]);
    size_t at = i * kSegment;
    if (!sends && one.ok()) one = out.part(at, std::min(kSegment, bytes - at));
    if (status.ok()) status = std::move(one);
  }
  return status;
}

}  // namespace

Status act_bcast(Act& act) {
  FGMPI_TRY(act.same_root());
  Team team = act.team();
  int root = act.first()->root;
  Args* source = act.member(root);
  Args* holder = source ? source : act.first();
  Segment whole = holder->recv.whole();
  size_t bytes = static_cast<size_t>(whole.bytes());
  char* data = bytes ? run_of_bytes(whole) : whole.address;
  std::unique_ptr<char[]> packed;
  if (!data) {
    packed = raw_memory(bytes);
    data = packed.get();
    if (source) FGMPI_TRY(pack(whole, data));
  }
  HandOut out(act, holder, data, bytes);
  if (team.count() == 2 && bytes >= 2 * kSegment && !bcast_is_set()) {
    FGMPI_TRY(between_two(team, source != nullptr, data, bytes, out));
  } else {
    FGMPI_TRY(team_bcast(team, team.place_of_rank(root), data, bytes));
    FGMPI_TRY(out.part(0, bytes));
  }
  if (packed && !source) FGMPI_TRY(unpack(data, static_cast<int64_t>(bytes), whole));
  return out.rest();
}

}  // namespace fgmpi::coll
