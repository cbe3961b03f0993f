// MPI_Comm_split (HPDC'10 Procedure 1 with collocated pre-gathering).
//
//   each process: its members' (color, key) in rank order, packed
//                 + its least-led member of each color, with a reserved LBI
//        --one message-->  the root (process of rank 0)
//   root: sorts by (color, key, rank); for each color picks the leader and makes the rank map
//        --one message a process-->  for each new communicator there: context id, encoded map, once
//   each process: finds its members' new ranks in the map
//
// Each side of an intercommunicator does this. Between the sorting and the answers the two roots
// exchange their colors, with the map and the best candidate of each. A color that one side lacks
// gives no communicator.
//
// A split costs P messages each way, and no array of N entries anywhere but at the root while it
// sorts: O(N) time (a radix sort over the digits that occur), O(N) memory there, O(members)
// elsewhere.
//
// Each member adds its arguments to an array of the process when it arrives, and makes its own Comm
// when it leaves, so its stack and its state, which are in no cache when there are many members,
// are touched only while it runs.

#include <algorithm>
#include <new>
#include <vector>

#include "ch4-av-rankmap/mlut.h"
#include "comm/create.h"
#include "comm/hierarchy.h"
#include "comm/split_wire.h"

namespace fgmpi::comm {
namespace {

/// What the members of this process contribute to a split, and what they get.
struct SplitGathering {
  SplitGathering(uint32_t most, bool permutes) : permute(permutes) { members.reserve(most); }
  void add(const SplitMember& member) {
    if (!members.empty()) (members.back().rank < member.rank ? descending : ascending) = false;
    members.push_back(member);
  }
  /// Gives the member that arrived as this number its rank in made.back().
  void place_in_last(uint32_t arrival, int32_t rank) {
    members[arrival].color = static_cast<int32_t>(made.size()) - 1;
    members[arrival].rank = rank;
  }

  const bool permute;  ///< one color: the same members in a new order
  /// The order of arrival is that of ranks, or the reverse. Both are common: members that waited
  /// for each other before mostly arrive in reverse order.
  bool ascending = true, descending = true;
  /// The members in the order of arrival. Once the communicators are made, a member's color is the
  /// index of its communicator in `made`, or MPI_UNDEFINED, and its rank that in the communicator.
  std::vector<SplitMember> members;
  std::vector<SharedComm*> made;  ///< nullptr where no context id was left
};

/// Calls f(first, last) for each stretch of equal colors.
template <class F>
void for_colors(const std::vector<SplitEntry>& entries, F&& f) {
  for (size_t first = 0; first < entries.size();) {
    size_t last = first + 1;
    while (last < entries.size() && entries[last].color == entries[first].color) ++last;
    f(first, last);
    first = last;
  }
}

/// Fails where a message of our own job cannot be read: then the sending process is broken, and
/// nothing that it has sent can be used.
void check_read(const FieldReader& in) { FGMPI_CHECK(!in.failed() && "a split's message"); }

// ---- A split under way in this process ----------------------------------------------------------

/// A new communicator. Its id is 0 when no member had an index left; its map has size 0 when the
/// other side lacks the color.
struct SplitResult {
  ContextId id;
  uint32_t processes = 1;
  uint8_t side = 0;
  RankMap map;
  RankMap remote;  ///< intercommunicators only
};

/// A color, at the root.
struct Color {
  uint32_t color = 0;
  LeaderCandidate leader;
  std::vector<uint32_t> process_indices;  ///< indices in the parent's hierarchy
  SplitResult made;
};

/// What the root gathers and answers. The vectors have one entry a process (index in the
/// parent's hierarchy).
struct Root {
  explicit Root(size_t process_indices) : candidates(process_indices), answers(process_indices) {}
  std::vector<SplitEntry> entries;
  std::vector<std::vector<LeaderCandidate>> candidates;
  std::vector<Color> colors;
  std::vector<std::vector<uint8_t>> answers;
};

class Split {
 public:
  Split(SharedComm* shared, Meeting* meeting, SplitGathering* gathering)
      : shared_(shared), meeting_(meeting), gathering_(gathering) {}
  Status run();

 private:
  void order_members();
  void pack_members();
  void group_members();
  void alone();
  Status run_as_root(const Hierarchy& h);
  void decide(Root* root);
  void answer(Root* root, uint32_t my_index);
  Status exchange_with_other_root(Root* root);
  Status run_as_other_process(uint32_t root);
  void attach_new_comms();
  void share_parent(RankMap* map) const;
  void attach_one(SplitResult& made, size_t first, size_t last);
  void fail_members(size_t first, size_t last);
  void leave_out_members(size_t first, size_t last);
  void index_by_local();

  SharedComm* shared_;
  Meeting* meeting_;
  SplitGathering* gathering_;
  /// The members in this process that have a color, by rank in the parent, then by color (and key
  /// where the split needs no messages).
  std::vector<SplitEntry> mine_;
  std::vector<uint8_t> packed_;     ///< for the root
  std::vector<uint32_t> by_local_;  ///< numbers of arrival by index of the members' proclets
  std::vector<LeaderCandidate> candidates_;  ///< candidates of this process, one a color, ascending
  std::vector<SplitResult> new_comms_;       ///< new communicators, one a color, ascending
};

void Split::order_members() {
  const std::vector<SplitMember>& members = gathering_->members;
  mine_.reserve(members.size());
  const auto add = [&](size_t i) {
    const SplitMember& m = members[i];
    mine_.push_back(
        {static_cast<uint32_t>(m.color), sortable_key(m.key), m.rank, static_cast<uint32_t>(i)});
  };
  if (gathering_->descending)
    for (size_t i = members.size(); i-- > 0;) add(i);
  else
    for (size_t i = 0; i < members.size(); ++i) add(i);
  if (!gathering_->ascending && !gathering_->descending) sort_by_rank(&mine_);
}

/// Packs the members that order_members() has ordered.
void Split::pack_members() {
  std::vector<SplitMember> members;
  members.reserve(mine_.size());
  for (const SplitEntry& e : mine_) members.push_back(gathering_->members[e.origin]);
  pack_split(members, &packed_);
}

/// Sorts those members that have a color by it, and reserves a candidate for each color.
void Split::group_members() {
  constexpr auto kUndefined = static_cast<uint32_t>(MPI_UNDEFINED);
  std::erase_if(mine_, [](const SplitEntry& e) { return e.color == kUndefined; });
  if (shared_->processes == 1) sort_by(&mine_, &SplitEntry::key);
  sort_by(&mine_, &SplitEntry::color);
  for_colors(mine_, [&](size_t first, size_t last) {
    if (shared_->id.is_drawn()) return candidates_.push_back(draw_candidate());
    uint32_t led = ~0u;
    int32_t least = -1;  // ties: the lowest world rank
    for (size_t i = first; i < last; ++i) {
      const uint32_t leads = gathering_->members[mine_[i].origin].led;
      if (least >= 0 && leads > led) continue;
      const int32_t world = shared_->map.world_of(mine_[i].rank);
      if (least >= 0 && leads == led && world > least) continue;
      led = leads;
      least = world;
    }
    candidates_.push_back(reserve(state_of_world(static_cast<uint32_t>(least))));
  });
}

Status Split::run() {
  order_members();
  if (shared_->processes == 1) {
    group_members();
    sched::call_on_host([&] { alone(); });  // encoding a map may need much stack
    return {};
  }
  pack_members();
  group_members();
  const Hierarchy& h = hierarchy(shared_);
  uint32_t root = h.processes[h.index_of_rank(shared_->map, 0)];
  FGMPI_TRY(root == g_av.me() ? run_as_root(h) : run_as_other_process(root));
  for (size_t k = 0; k < new_comms_.size(); ++k) {
    if (new_comms_[k].map.size() == 0)
      unreserve(candidates_[k]);
    else
      settle(candidates_[k], new_comms_[k].id);
  }
  sched::call_on_host([&] { attach_new_comms(); });
  return {};
}

/// Gives the members mine_[first..last) the error that no context id is left.
void Split::fail_members(size_t first, size_t last) {
  gathering_->made.push_back(nullptr);
  for (size_t i = first; i < last; ++i) gathering_->place_in_last(mine_[i].origin, 0);
}

/// Gives the members mine_[first..last) no communicator.
void Split::leave_out_members(size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) gathering_->members[mine_[i].origin].color = MPI_UNDEFINED;
}

/// Splits where one process hosts all members: without messages; the new ranks follow from
/// the sort.
void Split::alone() {
  std::vector<int32_t> worlds;
  size_t color = 0;
  for_colors(mine_, [&](size_t first, size_t last) {
    const LeaderCandidate& leader = candidates_[color++];
    if (!leader.valid()) return fail_members(first, last);
    worlds.clear();
    for (size_t i = first; i < last; ++i) worlds.push_back(shared_->map.world_of(mine_[i].rank));
    RankMap map = map_of_globals(worlds);
    share_parent(&map);
    gathering_->made.push_back(make_shared(
        {leader.id(), &map, nullptr, static_cast<uint32_t>(last - first), 1, 0, meeting_->call}));
    for (size_t i = first; i < last; ++i)
      gathering_->place_in_last(mine_[i].origin, static_cast<int32_t>(i - first));
  });
}

Status Split::run_as_root(const Hierarchy& h) {
  uint64_t ctx = shared_->id.plane(kPlaneInternal);
  int32_t tag = tag_of(*shared_, meeting_->sequence, kStepGather);
  Root root(h.count());
  root.entries.reserve(static_cast<size_t>(shared_->size));
  std::vector<int32_t> ranks;
  for (uint32_t process_index = 0; process_index < h.count(); ++process_index) {
    std::vector<uint8_t> message;
    bool here = h.processes[process_index] == g_av.me();
    if (here)
      message = std::move(packed_);
    else
      FGMPI_TRY(
          pt2pt::process_recv(h.processes[process_index], ctx, tag, &message, meeting_->call));
    ranks.clear();
    Hierarchy::ranks_of(shared_->map, h.processes[process_index], &ranks);
    FieldReader in(message.data(), message.size());
    FGMPI_CHECK(unpack_split(&in, ranks, process_index, &root.entries));
    if (here) root.candidates[process_index] = candidates_;
    while (in.left()) root.candidates[process_index].push_back(in.get<LeaderCandidate>());
    check_read(in);
  }
  sched::call_on_host([&] { decide(&root); });
  if (shared_->inter) FGMPI_TRY(exchange_with_other_root(&root));
  sched::call_on_host([&] { answer(&root, h.my_index); });
  tag = tag_of(*shared_, meeting_->sequence, kStepAnswer);
  for (uint32_t process_index = 0; process_index < h.count(); ++process_index) {
    if (h.processes[process_index] == g_av.me()) continue;
    const std::vector<uint8_t>& bytes = root.answers[process_index];
    FGMPI_TRY(pt2pt::process_send(h.processes[process_index], ctx, tag, bytes.data(), bytes.size(),
                                  meeting_->call));
  }
  return {};
}

/// Sorts the entries, and finds for each color the processes that host members, the leader and
/// the map.
void Split::decide(Root* root) {
  sort_by_rank(&root->entries);
  sort_by(&root->entries, &SplitEntry::key);
  sort_by(&root->entries, &SplitEntry::color);
  std::vector<int32_t> parent;
  if (!shared_->map.regular()) parent = shared_->map.encoded().expand();
  std::vector<size_t> cursor(root->answers.size()), seen(root->answers.size(), SIZE_MAX);
  std::vector<int32_t> worlds;
  for_colors(root->entries, [&](size_t first, size_t last) {
    Color& c = root->colors.emplace_back();
    c.color = root->entries[first].color;
    worlds.clear();
    for (size_t i = first; i < last; ++i) {
      const SplitEntry& e = root->entries[i];
      worlds.push_back(parent.empty() ? shared_->map.world_of(e.rank)
                                      : parent[static_cast<size_t>(e.rank)]);
      if (seen[e.origin] == first) continue;
      seen[e.origin] = first;
      c.process_indices.push_back(e.origin);
    }
    for (uint32_t process_index : c.process_indices) {
      FGMPI_CHECK(cursor[process_index] < root->candidates[process_index].size());
      const LeaderCandidate& candidate = root->candidates[process_index][cursor[process_index]++];
      if (candidate.before(c.leader)) c.leader = candidate;
    }
    c.made.processes = static_cast<uint32_t>(c.process_indices.size());
    c.made.map = map_of_globals(worlds);
  });
}

/// Exchanges the colors of an intercommunicator with the root of the other side.
Status Split::exchange_with_other_root(Root* root) {
  std::vector<uint8_t> mine, theirs;
  for (const Color& c : root->colors) {
    append(&mine, c.color);
    append(&mine, c.leader);
    append(&mine, c.made.processes);
    c.made.map.serialize(&mine, shared_->id.is_drawn());
  }
  FGMPI_TRY(exchange_with_other_side(*shared_, meeting_->sequence, mine, &theirs, meeting_->call));
  FieldReader in(theirs.data(), theirs.size());
  size_t k = 0;
  std::vector<Color>& colors = root->colors;
  auto drop_map = [](Color& c) { c.made.map = {}; };
  while (in.left()) {
    auto color = in.get<uint32_t>();
    auto leader = in.get<LeaderCandidate>();
    auto processes = in.get<uint32_t>();
    RankMap map;
    size_t used;
    FGMPI_TRY(RankMap::deserialize({in.rest(), in.left()}, &used, &map));
    in.skip(used);
    FGMPI_CHECK(map.size() > 0);
    while (k < colors.size() && colors[k].color < color) drop_map(colors[k++]);
    if (k == colors.size() || colors[k].color != color) continue;
    Color& c = colors[k++];
    if (leader.before(c.leader)) c.leader = leader;
    c.made.processes += processes;
    c.made.side = side_of(c.made.map, map);
    c.made.remote = std::move(map);
  }
  while (k < colors.size()) drop_map(colors[k++]);
  check_read(in);
  return {};
}

/// Fills new_comms_ for this process, and the answers for the others.
void Split::answer(Root* root, uint32_t my_index) {
  std::vector<uint8_t> wire;
  for (Color& c : root->colors) {
    if (c.leader.valid()) c.made.id = c.leader.id();
    wire.clear();
    append(&wire, c.made.id.bits);
    append(&wire, c.made.processes);
    append(&wire, c.made.side);
    const bool between_jobs = shared_->id.is_drawn();
    c.made.map.serialize(&wire, between_jobs);
    if (shared_->inter) c.made.remote.serialize(&wire, between_jobs);
    for (uint32_t process_index : c.process_indices) {
      if (process_index == my_index)
        new_comms_.push_back(c.made);
      else
        root->answers[process_index].insert(root->answers[process_index].end(), wire.begin(),
                                            wire.end());
    }
  }
}

Status Split::run_as_other_process(uint32_t root) {
  uint64_t ctx = shared_->id.plane(kPlaneInternal);
  std::vector<uint8_t> message = std::move(packed_);
  for (const LeaderCandidate& c : candidates_) append(&message, c);
  int32_t tag = tag_of(*shared_, meeting_->sequence, kStepGather);
  FGMPI_TRY(pt2pt::process_send(root, ctx, tag, message.data(), message.size(), meeting_->call));
  message.clear();
  tag = tag_of(*shared_, meeting_->sequence, kStepAnswer);
  FGMPI_TRY(pt2pt::process_recv(root, ctx, tag, &message, meeting_->call));
  FieldReader in(message.data(), message.size());
  while (in.left()) {
    SplitResult made;
    made.id.bits = in.get<uint64_t>();
    made.processes = in.get<uint32_t>();
    made.side = in.get<uint8_t>();
    for (RankMap* map : {&made.map, shared_->inter ? &made.remote : nullptr}) {
      if (!map) continue;
      size_t used;
      FGMPI_TRY(RankMap::deserialize({in.rest(), in.left()}, &used, map));
      in.skip(used);
    }
    new_comms_.push_back(std::move(made));
  }
  check_read(in);
  FGMPI_CHECK(new_comms_.size() == candidates_.size());
  return {};
}

void Split::attach_new_comms() {
  size_t k = 0;
  for_colors(mine_, [&](size_t first, size_t last) {
    SplitResult& made = new_comms_[k++];
    if (made.map.size() == 0)
      leave_out_members(first, last);
    else if (made.id.bits)
      attach_one(made, first, last);
    else
      fail_members(first, last);
  });
}

/// Makes a new order of the same members share the parent's stored set. A permutation is added
/// where the order changes.
void Split::share_parent(RankMap* map) const {
  if (gathering_->permute) *map = RankMap::permuted(shared_->map, *map);
}

/// Fills by_local_, once.
void Split::index_by_local() {
  if (!by_local_.empty()) return;
  by_local_.resize(g_av.locals());
  for (const SplitEntry& e : mine_)
    by_local_[g_av.local_of(static_cast<uint32_t>(shared_->map.world_of(e.rank)))] = e.origin;
}

/// Places the members mine_[first..last) in `made`.
void Split::attach_one(SplitResult& made, size_t first, size_t last) {
  share_parent(&made.map);
  const RankMap* remote = shared_->inter ? &made.remote : nullptr;
  gathering_->made.push_back(
      make_shared({made.id, &made.map, remote, static_cast<uint32_t>(last - first), made.processes,
                   made.side, meeting_->call}));
  if (made.map.regular()) {  // world ranks ascend or descend with ranks, in one job
    for (size_t i = first; i < last; ++i) {
      const int32_t world = shared_->map.world_of(mine_[i].rank);
      gathering_->place_in_last(mine_[i].origin, made.map.rank_of(world));
    }
    return;
  }
  // A stored map is walked once, instead of searched for each member.
  index_by_local();
  std::vector<int32_t> worlds = made.map.encoded().expand();
  for (size_t r = 0; r < worlds.size(); ++r) {
    uint32_t local;
    if (g_av.is_here(static_cast<uint32_t>(worlds[r]), &local))
      gathering_->place_in_last(by_local_[local], static_cast<int32_t>(r));
  }
}

// ---- A member -----------------------------------------------------------------------------------

void split_action(SharedComm* shared, Meeting* meeting) {
  Status status = Split(shared, meeting, *block_of<SplitGathering*>(meeting)).run();
  if (!status.ok()) meeting->status = std::move(status);
}

/// Adds the caller to the members that have arrived, unless the meeting has an error.
void gather(Meeting* meeting, const Comm* comm, int32_t color, int32_t key) {
  if (!meeting->status.ok()) return;
  if (meeting->arrived == 1) {
    try {
      begin_block<SplitGathering*>(
          meeting, new SplitGathering(comm->shared->members, meeting->operation == kOpPermute));
    } catch (const std::bad_alloc&) {
      meeting->status = error(MPI_ERR_NO_MEM, "no memory is left for the colors of %u ranks",
                              comm->shared->members);
      return;
    }
    meeting->end_block = [](Meeting* ended) { delete *block_of<SplitGathering*>(ended); };
  }
  (*block_of<SplitGathering*>(meeting))->add({color, key, comm->rank, rank_state()->led});
}

/// Splits, or permutes, among all members of the process. May switch.
Status split_together(Comm* comm, int32_t color, int32_t key, uint8_t operation, const char* call,
                      Comm** out) {
  *out = nullptr;
  Meeting* m = join(comm, operation, call);
  const uint32_t arrival = m->arrived - 1;
  gather(m, comm, color, key);
  if (m->full) {
    run_action(comm->shared, m, split_action);
    release(m);
  } else {
    wait(comm, m, call);
  }
  bool belongs = false;
  SharedComm* made = nullptr;
  int32_t rank = -1;
  if (m->status.ok()) {
    const SplitGathering& gathering = **block_of<SplitGathering*>(m);
    const SplitMember& mine = gathering.members[arrival];
    belongs = mine.color != MPI_UNDEFINED;
    if (belongs) made = gathering.made[static_cast<size_t>(mine.color)];
    rank = mine.rank;
  }
  FGMPI_TRY(leave(m));
  if (!belongs) return {};
  return made ? enter(made, rank, comm, out) : none_left(call);
}

}  // namespace

Status permute(Comm* comm, int32_t key, Comm** out) {
  if (comm->shared->inter)
    return error(MPI_ERR_COMM, "comm is an intercommunicator; allowed is an intracommunicator");
  return split_together(comm, 0, key, kOpPermute, "MPIX_Comm_split", out);
}

Status split(Comm* comm, int32_t color, int32_t key, Comm** out) {
  return split_together(comm, color, key, kOpSplit, "MPI_Comm_split", out);
}

}  // namespace fgmpi::comm
