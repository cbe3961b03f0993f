// All-to-all in its three forms. Between members of a process, data goes straight from the
// sender's to the receiver's buffer. To each other process goes one message with everything that
// its members get, ordered by receiver, then sender. The regular form is split into rounds of
// receivers, so that the packed data stays bounded; the v and w forms and long parts are split
// into chunks (step_alltoallv.cc).
#include <algorithm>

#include "coll/selector.h"
#include "coll/step.h"
#include "coll/streams.h"

namespace fgmpi::coll {
namespace {

/// True if both sides are regular and of basic types: parts are `bytes` at a fixed stride.
bool plain(const CollectiveStep& step) {
  for (const Args* m : step.members)
    if (m->send.counts || m->recv.counts || !m->send.type.basic() || !m->recv.type.basic() ||
        m->send.whole().bytes() != step.first()->send.whole().bytes() ||
        m->recv.whole().bytes() != step.first()->send.whole().bytes())
      return false;
  return true;
}

/// Parts of many senders for many receivers: for all s and d, `bytes` bytes at from[s] + to_at[d]
/// are copied to to[d] + from_at[s]. The copy goes in tiles, so that the cache lines of
/// neighbouring parts are still cached when they are used.
struct Grid {
  std::vector<const char*> from;
  std::vector<size_t> from_at;  ///< offset of a sender's part at a receiver
  std::vector<char*> to;
  std::vector<size_t> to_at;  ///< offset of a receiver's part at a sender
};

template <size_t n>
void transpose(const Grid& g, size_t bytes) {
  constexpr size_t kTile = 32;
  if (n) bytes = n;
  for (size_t d0 = 0; d0 < g.to.size(); d0 += kTile)
    for (size_t s0 = 0; s0 < g.from.size(); s0 += kTile)
      for (size_t s = s0; s < std::min(s0 + kTile, g.from.size()); ++s)
        for (size_t d = d0; d < std::min(d0 + kTile, g.to.size()); ++d)
          std::memcpy(g.to[d] + g.from_at[s], g.from[s] + g.to_at[d], bytes);
}

void transpose_any(const Grid& g, size_t bytes) {
  switch (bytes) {
    case 0:
      return;
    case 4:
      return transpose<4>(g, bytes);
    case 8:
      return transpose<8>(g, bytes);
    case 16:
      return transpose<16>(g, bytes);
    default:
      return transpose<0>(g, bytes);
  }
}

Status between_members(const CollectiveStep& step, bool is_plain) {
  if (is_plain) {
    size_t bytes = static_cast<size_t>(step.first()->send.whole().bytes());
    Grid grid;
    for (const Args* m : step.members) {
      grid.from.push_back(m->send.address);
      grid.to.push_back(m->recv.address);
      grid.from_at.push_back(static_cast<size_t>(m->rank) * bytes);
    }
    grid.to_at = grid.from_at;
    transpose_any(grid, bytes);
    return {};
  }
  for (const Args* from : step.members)
    for (const Args* to : step.members)
      FGMPI_TRY(copy(from->send.segment(to->rank), to->recv.segment(from->rank)));
  return {};
}

/// One round of the exchange with other processes, for the receivers numbered [first, last) at
/// each process.
class Round {
 public:
  Round(const CollectiveStep& step, const Team& team, const Placement& placement, bool is_plain)
      : step_(step), team_(team), placement_(placement), plain_(is_plain) {}

  Status run(uint32_t first, uint32_t last) {
    first_ = first;
    last_ = last;
    measure();
    out_memory_ = raw_memory(out_.total());
    in_memory_ = raw_memory(in_.total());
    FGMPI_TRY(pack_all());
    AlltoallSizes sizes{&out_, &in_, {}, 0};
    bool regular = first == 0 && last == UINT32_MAX;
    size_t each = regular ? static_cast<size_t>(step_.first()->recv.whole().bytes()) : 0;
    if (regular) {
      sizes.bytes = each;
      for (uint32_t p = 0; p < team_.count(); ++p) sizes.unit.push_back(team_.members(p));
    }
    size_t total =
        each * static_cast<size_t>(step_.shared->size) * static_cast<size_t>(step_.shared->size);
    FGMPI_TRY(team_alltoall(team_, out_memory_.get(), in_memory_.get(), sizes,
                            regular ? total / team_.count() : SIZE_MAX, regular));
    return unpack_all();
  }

 private:
  /// Calls f(rank) for the receivers of this round at a process.
  template <class F>
  void receivers(uint32_t team_rank, F&& f) const {
    uint32_t number = 0;
    placement_.for_each(team_rank, [&](int32_t rank) {
      if (number >= first_ && number < last_) f(rank);
      ++number;
    });
  }

  void measure() {
    out_.offset.assign(1, 0);
    in_.offset.assign(1, 0);
    for (uint32_t p = 0; p < team_.count(); ++p) {
      size_t out = 0, in = 0;
      if (p != team_.me()) {
        if (plain_) {
          size_t each = static_cast<size_t>(step_.first()->send.whole().bytes());
          out = each * step_.members.size() * here(team_.members(p));
          in = each * team_.members(p) * here(static_cast<uint32_t>(step_.members.size()));
        } else {
          receivers(p, [&](int32_t to) {
            for (const Args* m : step_.members)
              out += static_cast<size_t>(m->send.segment(to).bytes());
          });
          for (uint32_t d = first_; d < std::min<size_t>(last_, step_.members.size()); ++d)
            placement_.for_each(p, [&](int32_t from) {
              in += static_cast<size_t>(step_.members[d]->recv.segment(from).bytes());
            });
        }
      }
      out_.offset.push_back(out_.offset.back() + out);
      in_.offset.push_back(in_.offset.back() + in);
    }
  }
  /// The number of a process's members that are receivers of this round.
  size_t here(uint32_t members) const {
    return std::min(last_, members) - std::min(first_, members);
  }

  Status pack_all() {
    Status status;
    for (uint32_t p = 0; p < team_.count(); ++p) {
      if (p == team_.me()) continue;
      char* at = out_memory_.get() + out_.offset[p];
      if (plain_) {
        pack_plain(p, at);
        continue;
      }
      receivers(p, [&](int32_t to) {
        for (const Args* m : step_.members) {
          Segment s = m->send.segment(to);
          if (status.ok()) status = pack(s, at);
          at += s.bytes();
        }
      });
    }
    return status;
  }

  void pack_plain(uint32_t team_rank, char* out) const {
    size_t bytes = static_cast<size_t>(step_.first()->send.whole().bytes());
    Grid grid;
    for (const Args* m : step_.members) {
      grid.from_at.push_back(grid.from.size() * bytes);
      grid.from.push_back(m->send.address);
    }
    receivers(team_rank, [&](int32_t to) {
      grid.to.push_back(out + grid.to.size() * step_.members.size() * bytes);
      grid.to_at.push_back(static_cast<size_t>(to) * bytes);
    });
    transpose_any(grid, bytes);
  }

  /// Unpacks the parts of each run of senders together, as they are contiguous on both sides.
  void unpack_plain(uint32_t team_rank, const char* in) const {
    size_t bytes = static_cast<size_t>(step_.first()->recv.whole().bytes());
    if (bytes == 0) return;
    for (uint32_t d = first_; d < std::min<size_t>(last_, step_.members.size()); ++d)
      for (const comm::ProcessRun* run = placement_.begin(team_rank);
           run != placement_.end(team_rank); ++run) {
        size_t length = static_cast<size_t>(run->count) * bytes;
        std::memcpy(step_.members[d]->recv.address + static_cast<size_t>(run->first) * bytes, in,
                    length);
        in += length;
      }
  }

  Status unpack_all() {
    Status status;
    for (uint32_t p = 0; p < team_.count(); ++p) {
      if (p == team_.me()) continue;
      const char* at = in_memory_.get() + in_.offset[p];
      if (plain_) {
        unpack_plain(p, at);
        continue;
      }
      for (uint32_t d = first_; d < std::min<size_t>(last_, step_.members.size()); ++d)
        placement_.for_each(p, [&](int32_t from) {
          Segment s = step_.members[d]->recv.segment(from);
          if (status.ok()) status = unpack(at, s.bytes(), s);
          at += s.bytes();
        });
    }
    return status;
  }

  const CollectiveStep& step_;
  const Team& team_;
  const Placement& placement_;
  bool plain_;
  uint32_t first_ = 0, last_ = 0;
  ProcessBlocks out_, in_;
  Memory out_memory_, in_memory_;
};

/// The least bytes of a part whose separate copy costs nothing more.
constexpr size_t kLongPart = 4096;

}  // namespace

Status step_alltoall(CollectiveStep& step) {
  bool is_plain = plain(step);
  FGMPI_TRY(between_members(step, is_plain));
  if (step.shared->processes == 1) return {};
  const bool regular = step.first()->kind == CollectiveKind::kAlltoall;
  Team team = step.team(regular ? static_cast<uint64_t>(step.first()->recv.whole().bytes()) : 0);
  if (regular) team.set_type(&step.first()->recv.type, step.first()->recv.count);
  Placement placement(step.shared, team);
  if (!regular) return alltoallv_between_processes(step, team, placement);
  Round round(step, team, placement, is_plain);
  // All processes use the same number of receivers a round, computed from what all of them know.
  uint32_t most = 0;
  for (uint32_t p = 0; p < team.count(); ++p) most = std::max(most, team.members(p));
  size_t part = static_cast<size_t>(step.first()->recv.whole().bytes());
  size_t for_one = part * static_cast<size_t>(step.shared->size);
  uint32_t group = static_cast<uint32_t>(
      std::clamp<size_t>(round_bytes() / std::max<size_t>(for_one, 1), 1, most));
  if (part >= kLongPart && for_one * most > chunk_bytes())
    return alltoallv_between_processes(step, team, placement);
  if (group >= most) return round.run(0, UINT32_MAX);
  for (uint32_t first = 0; first < most; first += group) FGMPI_TRY(round.run(first, first + group));
  return {};
}

}  // namespace fgmpi::coll
