// Broadcast: the root's process sends once to each of the others (level two); in each process the
// data is copied once to every member, in pieces that stay in the cache. Long data between two
// processes goes in segments, so that both hand out while it is on its way.
#include <algorithm>

#include "coll/act.h"
#include "coll/selector.h"

namespace fgmpi::coll {
namespace {

constexpr size_t kSegment = 64 * 1024;
constexpr size_t kLong = 512 * 1024;

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

/// Long data: each segment is sent, or received, and handed out while the next is on its way.
class Segments {
 public:
  Segments(const Team& team, bool sends, char* data, size_t bytes)
      : team_(team), sends_(sends), data_(data), bytes_(bytes) {}

  Status run(const HandOut& out) {
    Status status = start(0);
    for (size_t at = 0; at < bytes_ && status.ok(); at += kSegment) {
      if (sends_) status = out.part(at, length(at));
      Status next = start(at + kSegment);
      Status done = team_.finish(&open_[at / kSegment % 2], std::move(next));
      if (status.ok()) status = std::move(done);
      if (!sends_ && status.ok()) status = out.part(at, length(at));
    }
    for (auto& requests : open_) status = team_.finish(&requests, std::move(status));
    return status;
  }

 private:
  size_t length(size_t at) const { return std::min(kSegment, bytes_ - at); }
  Status start(size_t at) {
    if (at >= bytes_) return {};
    std::vector<pt2pt::Request*>* requests = &open_[at / kSegment % 2];
    uint32_t other = 1 - team_.me();
    return sends_ ? team_.isend_pieces(other, data_ + at, length(at), requests)
                  : team_.irecv_pieces(other, data_ + at, length(at), requests);
  }

  const Team& team_;
  bool sends_;
  char* data_;
  size_t bytes_;
  std::vector<pt2pt::Request*> open_[2];
};

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
  if (team.count() == 2 && bytes >= kLong && !bcast_is_set()) {
    FGMPI_TRY(Segments(team, source != nullptr, data, bytes).run(out));
  } else {
    FGMPI_TRY(team_bcast(team, team.place_of_rank(root), data, bytes));
    FGMPI_TRY(out.part(0, bytes));
  }
  if (packed && !source) FGMPI_TRY(unpack(data, static_cast<int64_t>(bytes), whole));
  return out.rest();
}

}  // namespace fgmpi::coll
