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
// sorts: O(N log N) time at most (a radix sort over the digits that occur), O(N) memory there,
// O(members) elsewhere.

#include <algorithm>
#include <vector>

#include "ch4-av-rankmap/mlut.h"
#include "comm/create.h"
#include "comm/hierarchy.h"
#include "comm/split_wire.h"

namespace fgmpi::comm {
namespace {

struct SplitArrival : CreateArrival {
  int32_t color = 0, key = 0;
  bool permute = false;  ///< one color: the same members in a new order
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
  Split(SharedComm* shared, Meeting* meeting) : shared_(shared), meeting_(meeting) {}
  Status run();

 private:
  uint32_t local_of(int32_t rank) const {
    return g_av.local_of(static_cast<uint32_t>(shared_->map.world_of(rank)));
  }
  void order_members();
  void pack_members(std::vector<uint8_t>* out) const;
  void group_members();
  Status alone();
  Status run_as_root(const Hierarchy& h);
  void decide(Root* root);
  void answer(Root* root, uint32_t my_index);
  Status exchange_with_other_root(Root* root);
  Status run_as_other_process(uint32_t root);
  Status attach_new_comms();
  void share_parent(RankMap* map) const;
  Status attach_one(SplitResult& made, size_t first, size_t last);

  SharedComm* shared_;
  Meeting* meeting_;
  std::vector<SplitArrival*> members_;       ///< members in this process, by rank in the parent
  std::vector<SplitArrival*> by_local_;      ///< the same members by index of their proclet
  std::vector<SplitEntry> mine_;             ///< those members that have a color, by color
  std::vector<LeaderCandidate> candidates_;  ///< candidates of this process, one a color, ascending
  std::vector<SplitResult> new_comms_;       ///< new communicators, one a color, ascending
};

void Split::order_members() {
  members_.reserve(shared_->members);
  bool ordered = true;
  for (Arrival* a = meeting_->arrivals; a; a = a->next) {
    ordered &= members_.empty() || members_.back()->rank < a->rank;
    members_.push_back(static_cast<SplitArrival*>(a));
  }
  if (!ordered) {
    std::sort(members_.begin(), members_.end(),
              [](const SplitArrival* a, const SplitArrival* b) { return a->rank < b->rank; });
  }
  by_local_.resize(g_av.locals());
  for (SplitArrival* a : members_) by_local_[local_of(a->rank)] = a;
}

void Split::pack_members(std::vector<uint8_t>* out) const {
  std::vector<SplitMember> members;
  members.reserve(members_.size());
  for (const SplitArrival* a : members_) members.push_back({a->color, a->key, a->rank});
  pack_split(members, out);
}

/// Sorts this process's members by color and reserves a candidate for each color.
void Split::group_members() {
  for (const SplitArrival* a : members_)
    if (a->color != MPI_UNDEFINED)
      mine_.push_back({static_cast<uint32_t>(a->color), 0, a->rank, 0});
  sort_by(&mine_, &SplitEntry::color);
  for_colors(mine_, [&](size_t first, size_t last) {
    if (shared_->id.is_drawn()) return candidates_.push_back(draw_candidate());
    RankState* least = nullptr;
    for (size_t i = first; i < last; ++i) {
      RankState* r = state_of(local_of(mine_[i].rank));
      if (!least || r->led < least->led ||
          (r->led == least->led && r->world_rank < least->world_rank))
        least = r;
    }
    candidates_.push_back(reserve(least));
  });
}

Status Split::run() {
  order_members();
  group_members();
  if (shared_->processes == 1) {
    Status status;
    sched::call_on_host([&] { status = alone(); });  // encoding a map may need much stack
    return status;
  }
  const Hierarchy& h = hierarchy(shared_);
  uint32_t root = h.processes[h.index_of_rank(shared_->map, 0)];
  FGMPI_TRY(root == g_av.me() ? run_as_root(h) : run_as_other_process(root));
  for (size_t k = 0; k < new_comms_.size(); ++k) {
    if (new_comms_[k].map.size() == 0)
      unreserve(candidates_[k]);
    else
      settle(candidates_[k], new_comms_[k].id);
  }
  Status status;
  sched::call_on_host([&] { status = attach_new_comms(); });
  return status;
}

/// Splits where one process hosts all members: without messages; the new ranks follow from
/// the sort.
Status Split::alone() {
  std::vector<SplitEntry> entries;
  entries.reserve(members_.size());
  for (const SplitArrival* a : members_)
    if (a->color != MPI_UNDEFINED)
      entries.push_back({static_cast<uint32_t>(a->color), sortable_key(a->key), a->rank, 0});
  sort_by(&entries, &SplitEntry::key);
  sort_by(&entries, &SplitEntry::color);
  std::vector<int32_t> worlds;
  size_t color = 0;
  Status status;
  for_colors(entries, [&](size_t first, size_t last) {
    const LeaderCandidate& leader = candidates_[color++];
    if (!leader.valid()) {
      if (status.ok()) status = none_left(meeting_->call);
      return;
    }
    worlds.clear();
    for (size_t i = first; i < last; ++i) worlds.push_back(shared_->map.world_of(entries[i].rank));
    RankMap map = map_of_globals(worlds);
    share_parent(&map);
    SharedComm* made = make_shared(
        {leader.id(), &map, nullptr, static_cast<uint32_t>(last - first), 1, 0, meeting_->call});
    for (size_t i = first; i < last; ++i) {
      SplitArrival* a = by_local_[g_av.local_of(static_cast<uint32_t>(worlds[i - first]))];
      a->status = enter(made, static_cast<int32_t>(i - first), a->comm, &a->out);
    }
  });
  return status;
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
      pack_members(&message);
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
  std::vector<uint8_t> message;
  pack_members(&message);
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

Status Split::attach_new_comms() {
  size_t k = 0;
  Status status;
  for_colors(mine_, [&](size_t first, size_t last) {
    SplitResult& made = new_comms_[k++];
    if (made.map.size() == 0) return;
    Status one = made.id.bits ? attach_one(made, first, last) : none_left(meeting_->call);
    if (status.ok()) status = std::move(one);
  });
  return status;
}

/// Makes a new order of the same members share the parent's stored set. A permutation is added
/// where the order changes.
void Split::share_parent(RankMap* map) const {
  if (static_cast<const SplitArrival*>(meeting_->arrivals)->permute)
    *map = RankMap::permuted(shared_->map, *map);
}

/// Makes the Comms of the members mine_[first..last) in `made`.
Status Split::attach_one(SplitResult& made, size_t first, size_t last) {
  share_parent(&made.map);
  const RankMap* remote = shared_->inter ? &made.remote : nullptr;
  SharedComm* there = make_shared({made.id, &made.map, remote, static_cast<uint32_t>(last - first),
                                   made.processes, made.side, meeting_->call});
  auto join = [&](SplitArrival* a, int32_t rank) {
    a->status = enter(there, rank, a->comm, &a->out);
  };
  if (made.map.regular()) {  // world ranks ascend or descend with ranks, in one job
    for (size_t i = first; i < last; ++i) {
      int32_t world = shared_->map.world_of(mine_[i].rank);
      join(by_local_[g_av.local_of(static_cast<uint32_t>(world))], made.map.rank_of(world));
    }
    return {};
  }
  // A stored map is walked once, instead of searched for each member.
  std::vector<int32_t> worlds = made.map.encoded().expand();
  for (size_t r = 0; r < worlds.size(); ++r) {
    uint32_t local;
    if (g_av.is_here(static_cast<uint32_t>(worlds[r]), &local))
      join(by_local_[local], static_cast<int32_t>(r));
  }
  return {};
}

void split_action(SharedComm* shared, Meeting* meeting) {
  Status status = Split(shared, meeting).run();
  if (!status.ok()) fail_all(meeting, status);
}

}  // namespace

Status permute(Comm* comm, int32_t key, Comm** out) {
  if (comm->shared->inter)
    return error(MPI_ERR_COMM, "comm is an intercommunicator; allowed is an intracommunicator");
  SplitArrival mine;
  mine.key = key;
  mine.permute = true;
  Status status = meet(comm, &mine, kOpPermute, "MPIX_Comm_split", split_action);
  *out = mine.out;
  return status;
}

Status split(Comm* comm, int32_t color, int32_t key, Comm** out) {
  SplitArrival mine;
  mine.color = color;
  mine.key = key;
  Status status = meet(comm, &mine, kOpSplit, "MPI_Comm_split", split_action);
  *out = mine.out;
  return status;
}

}  // namespace fgmpi::comm
