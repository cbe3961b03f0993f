// Broadcast: the root's process sends once to each other process (level two). In each process the
// data is copied once to every member, in pieces that stay in the cache.
#include <algorithm>

#include "coll/selector.h"
#include "coll/step.h"
#include "datatype/copy.h"

namespace fgmpi::coll {
namespace {

/// The most bytes that go from process to process at once. All processes cut alike, whatever their
/// types are: a process with gaps in its type packs a piece, sends it on and unpacks it while it is
/// in the cache, and never has memory for more. Where many processes scatter a piece, each gets a
/// part that is still long.
size_t piece_bytes(const Team& team) {
  constexpr size_t kLeast = size_t{8} << 20, kMost = size_t{32} << 20, kPart = size_t{256} << 10;
  const size_t processes = team.tree_size() > 0 ? team.tree_size() : team.count();
  return std::clamp(processes * kPart, kLeast, kMost);
}

/// The other members of the process, to which pieces are handed out.
class Receivers {
 public:
  Receivers(const CollectiveStep& step, const Args* holder, size_t bytes) {
    for (const Args* m : step.members) {
      if (m == holder) continue;
      char* row = run_of_bytes(m->recv.whole());
      if (row)
        rows_.push_back(row);
      else
        layouts_.push_back(m);
    }
    streamed_ = exceeds_caches(bytes * rows_.size());
  }
  /// Copies the next `bytes` bytes of the data, which begin at byte number `at`.
  void hand_out(const char* data, size_t at, size_t bytes) {
    copy_to_many(data, bytes, rows_.data(), rows_.size(), streamed_);
    for (char*& row : rows_) row += bytes;
    for (const Args* m : layouts_)
      datatype::unpack_part(data, static_cast<int64_t>(bytes), m->recv.address, m->recv.type,
                            static_cast<int64_t>(at));
  }

 private:
  std::vector<char*> rows_;  ///< where the next byte of each goes
  std::vector<const Args*> layouts_;
  bool streamed_;
};

}  // namespace

Status step_bcast(CollectiveStep& step) {
  FGMPI_TRY(step.same_root());
  // MPI-4.0 section 6.4: every member's buffer must have as many bytes as the root sends.
  FGMPI_TRY(step.same_bytes([](const Args* m) { return m->recv.whole().bytes(); }));
  const int root = step.first()->root;
  const Args* source = step.member(root);
  const Args* holder = source ? source : step.first();
  const Segment whole = holder->recv.whole();
  const size_t bytes = static_cast<size_t>(whole.bytes());
  Team team = step.team(agreed_with_root(bytes, root), Team::kTree);
  team.set_type(whole.type, whole.count);
  const uint32_t from = team.team_rank_of(root);
  const size_t piece = piece_bytes(team);
  char* const row = bytes ? run_of_bytes(whole) : whole.address;
  const Memory packed = row || !bytes ? Memory() : raw_memory(std::min(bytes, piece));
  Receivers receivers(step, holder, bytes);
  size_t at = 0;
  do {  // once for an empty message, too: other processes may have a longer one by mistake
    const size_t n = std::min(piece, bytes - at);
    const auto length = static_cast<int64_t>(n), position = static_cast<int64_t>(at);
    char* const data = packed ? packed.get() : row + at;
    if (packed && source) datatype::pack_part(whole.address, *whole.type, position, length, data);
    FGMPI_TRY(team_bcast(team, from, data, n, {bytes, at}));
    if (packed && !source)
      datatype::unpack_part(data, length, whole.address, *whole.type, position);
    receivers.hand_out(data, at, n);
    at += n;
  } while (at < bytes);
  return {};
}

}  // namespace fgmpi::coll
