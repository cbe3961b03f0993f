// A system-ranked split: gathers the process's members, builds trees, makes communicators.

#include "system-ranked/split.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>

#include "base/settings.h"
#include "base/strings.h"
#include "ch4-av-rankmap/mlut.h"
#include "comm/create.h"
#include "comm/hierarchy.h"
#include "system-ranked/construction.h"
#include "system-ranked/group_tree.h"
#include "system-ranked/learning.h"

namespace fgmpi::system_ranked {
namespace {

/// Operation codes of splits at their meetings, between those of src/comm and src/rma.
enum SystemRankedOperation : uint8_t { kOpSplit = comm::kFirstOther + 32, kOpIsplit };

/// A member of one of the groups: 12 bytes.
struct ColorMember {
  uint32_t color;  ///< later, once the groups are made: the index of its group
  int32_t rank;    ///< in the parent; later, once the groups are made: in its group
  uint32_t led;    ///< communicators that it leads now
};

/// The members of this process of one color.
struct ColorGroup {
  uint32_t color;
  uint32_t first, past;  ///< in the order of colors and ranks
  comm::LeaderCandidate candidate;
  comm::SharedComm* made = nullptr;
  Status status;
};

/// What the members of this process contribute to a split. Each adds itself on arrival, and makes
/// its own Comm when it leaves, so a member's memory is touched only while it runs.
struct Gathering {
  SplitOptions options;  ///< of the first member, which may have left
  int32_t first_rank = -1;
  std::vector<ColorMember> members;  ///< in the order of arrival
  bool ordered = true;               ///< the order of arrival is that of colors and ranks
  std::vector<uint32_t> order;       ///< where it is not: the indices of members in that order
  std::vector<ColorGroup> groups;

  explicit Gathering(uint32_t most) { members.reserve(most); }
  Status add(int32_t color, int32_t rank, uint32_t led, const SplitOptions& its);
  void sort();
  void make_groups(const comm::SharedComm& shared);
  ColorMember& at(uint32_t i) { return members[ordered ? i : order[i]]; }
};

Status Gathering::add(int32_t color, int32_t rank, uint32_t led, const SplitOptions& its) {
  if (first_rank < 0) {
    options = its;
    first_rank = rank;
  } else if (!same_way(its, options)) {
    return options_differ(format("rank %d", first_rank), options, format("rank %d", rank), its);
  }
  if (color == MPI_UNDEFINED) return {};
  const ColorMember mine{static_cast<uint32_t>(color), rank, led};
  if (!members.empty()) {
    const ColorMember& last = members.back();
    ordered &= last.color == mine.color ? last.rank < rank : last.color < mine.color;
  }
  members.push_back(mine);
  return {};
}

void Gathering::sort() {
  if (ordered) return;
  auto before = [&](uint32_t i, uint32_t j) {
    const ColorMember &a = members[i], &b = members[j];
    return a.color != b.color ? a.color < b.color : a.rank < b.rank;
  };
  order.resize(members.size());
  std::iota(order.rbegin(), order.rend(), 0);
  // Members that waited for each other before mostly arrive in reverse order.
  if (!std::is_sorted(order.begin(), order.end(), before))
    std::sort(order.begin(), order.end(), before);
}

void Gathering::make_groups(const comm::SharedComm& shared) {
  sort();
  const uint32_t count = static_cast<uint32_t>(members.size());
  for (uint32_t i = 0; i < count;) {
    ColorGroup& group = groups.emplace_back(ColorGroup{at(i).color, i, i, {}, nullptr, {}});
    uint32_t led = ~0u;
    int32_t leader = -1;  // ties: the lowest world rank
    for (; i < count && at(i).color == group.color; ++i) {
      const ColorMember& member = at(i);
      if (member.led > led) continue;
      const int32_t world = shared.map.world_of(member.rank);
      if (member.led == led && world > leader) continue;
      led = member.led;
      leader = world;
    }
    group.past = i;
    group.candidate = comm::reserve(comm::state_of_world(static_cast<uint32_t>(leader)));
  }
}

/// The position of this process in the parent's tree: the tree of a system-ranked parent, else the
/// parent's processes in ascending order, level by level.
ParentPlace position_in(comm::SharedComm* shared, uint32_t k) {
  ParentPlace where;
  where.self = g_av.me();
  if (shared->tree) {
    const TreePosition& place = tree_of(*shared)->place();
    where.parent = place.parent;
    where.depth = place.depth;
    where.children = place.children;
    return where;
  }
  const comm::Hierarchy& h = comm::hierarchy(shared);
  if (h.my_index > 0) where.parent = h.processes[parent_of(h.my_index, k)];
  where.depth = depth_of(h.my_index, k);
  for (uint32_t c = 0; c < children_of(h.my_index, k, h.count()); ++c)
    where.children.push_back(h.processes[h.my_index * k + 1 + c]);
  return where;
}

/// The number of vertices of the tree of position_in(), if it is balanced with this k; else 0.
uint32_t balanced_vertices(comm::SharedComm* shared, uint32_t k) {
  if (shared->tree) return tree_of(*shared)->k() == k ? tree_of(*shared)->place().vertices : 0;
  return comm::hierarchy(shared).count();
}

/// Intermediaries are processes of the parent, or of the job where this process does not have the
/// parent's list.
Directory directory_of(comm::SharedComm* shared) {
  if (shared->tree) return Directory(g_av.processes());
  const comm::Series& processes = comm::hierarchy(shared).processes;
  return Directory(
      processes.size(),
      [](const void* list, uint32_t i) -> Address {
        return (*static_cast<const comm::Series*>(list))[i];
      },
      &processes);
}

/// Makes the shared part of a group's communicator, and sets its members' ranks. May switch.
Status attach(const comm::SharedComm& parent, Gathering* members, uint32_t index,
              const TreePosition& place, uint32_t k, const char* call) {
  ColorGroup& group = members->groups[index];
  comm::settle(group.candidate, {place.id.context});
  if (place.id.context == 0) return comm::none_left(call);
  std::vector<int32_t> worlds;
  worlds.reserve(group.past - group.first);
  int32_t rank = place.first;
  for (uint32_t i = group.first; i < group.past; ++i) {
    ColorMember& member = members->at(i);
    worlds.push_back(parent.map.world_of(member.rank));
    member.color = index;
    member.rank = rank++;
  }
  RankMap map;
  sched::call_on_host([&] { map = RankMap::from_ranks(worlds); });
  std::shared_ptr<GroupTree> tree;
  if (place.vertices > 1) {
    tree = GroupTree::make(place, k, std::move(map));
    if (groups_are_learned())
      FGMPI_TRY(learn_group(parent, tree.get(), &map));
    else
      map = tree->lazy_map();
  }
  group.made = comm::make_shared(
      {{place.id.context}, &map, nullptr, group.past - group.first, place.vertices, 0, call});
  group.made->tree = std::move(tree);
  if (groups_are_learned()) comm::hierarchy(group.made);
  return {};
}

/// The place of a group whose members are all in this process, found without messages.
TreePosition alone(const ColorGroup& group) {
  TreePosition place;
  place.color = group.color;
  place.weight = group.past - group.first;
  place.first = 0;
  place.size = static_cast<int32_t>(place.weight);
  place.vertices = 1;
  if (group.candidate.valid()) place.id.context = group.candidate.id().bits;
  return place;
}

/// Splits for all members of this process, once, when the last of them has arrived. May switch.
Status make(comm::SharedComm* shared, uint32_t sequence, const char* call, Gathering* members) {
  SplitOptions& options = members->options;
  members->make_groups(*shared);
  std::vector<TreePosition> places;
  if (shared->processes == 1) {
    for (const ColorGroup& group : members->groups) places.push_back(alone(group));
  } else {
    std::vector<Enrolment> mine;
    for (const ColorGroup& group : members->groups)
      mine.push_back({group.color, group.past - group.first, {group.candidate, next_serial()}});
    Directory directory = directory_of(shared);
    options.directory = &directory;
    options.first_world = [](Address process) { return g_av.first(process); };
    options.kept_vertices = balanced_vertices(shared, options.k);
    FGMPI_TRY(construct({shared->id.bits, sequence & 0xffffff}, options,
                        position_in(shared, options.k), std::move(mine), call, &places));
  }
  for (uint32_t i = 0; i < members->groups.size(); ++i)
    members->groups[i].status = attach(*shared, members, i, places[i], options.k, call);
  return {};
}

/// Makes a member's Comm.
Status take(const Gathering& members, uint32_t index, const comm::Comm* parent, comm::Comm** out) {
  const ColorMember& me = members.members[index];
  const ColorGroup& group = members.groups[me.color];
  if (!group.status.ok()) return comm::copy_status(group.status);
  return comm::enter(group.made, me.rank, parent, out);
}

// ---- Blocking: members gather as they arrive ----------------------------------------------------

void split_act(comm::SharedComm* shared, comm::Meeting* meeting) {
  Status status =
      make(shared, meeting->sequence, meeting->call, *comm::block_of<Gathering*>(meeting));
  if (!status.ok()) comm::fail_everywhere(shared, meeting, status);
}

/// Adds the caller to the members that have arrived. Returns nullptr if the meeting has an error:
/// members are in another collective, gave other options, or no memory is left.
Gathering* gather(comm::Meeting* meeting, const comm::Comm* comm, int32_t color,
                  const SplitOptions& options) {
  if (!meeting->status.ok()) return nullptr;
  if (meeting->arrived == 1) {
    try {
      comm::begin_block<Gathering*>(meeting, new Gathering(comm->shared->members));
    } catch (const std::bad_alloc&) {
      meeting->status = error(MPI_ERR_NO_MEM, "no memory is left for the colors of %u ranks",
                              comm->shared->members);
      return nullptr;
    }
    meeting->end_block = [](comm::Meeting* ended) { delete *comm::block_of<Gathering*>(ended); };
  }
  Gathering* members = *comm::block_of<Gathering*>(meeting);
  meeting->status = members->add(color, comm->rank, comm::rank_state()->led, options);
  return members;
}

// ---- Nonblocking: members are in their requests -------------------------------------------------

struct IsplitArrival : comm::Arrival {
  int32_t color = 0;
  const SplitOptions* options = nullptr;
};

struct SplitRequest final : pt2pt::Request {
  IsplitArrival arrival;
  SplitOptions options;
  MPI_Comm* result = nullptr;
  ~SplitRequest() override {
    if (comm_ref) comm_ref->release();
  }
  ToolEvent tool_event() const override {
    return {.what = ToolEvent::kCommunicator, .first = *result};
  }
};

void isplit_act(comm::SharedComm* shared, comm::Meeting* meeting) {
  Gathering members(meeting->arrived);
  Status status;
  for (comm::Arrival* a = meeting->arrivals; a && status.ok(); a = a->next) {
    auto* member = static_cast<IsplitArrival*>(a);
    status = members.add(member->color, member->rank, comm::state_of(*shared, *member)->led,
                         *member->options);
  }
  if (status.ok()) status = make(shared, meeting->sequence, meeting->call, &members);
  if (!status.ok()) return comm::fail_everywhere(shared, meeting, status);
  uint32_t index = 0;
  for (comm::Arrival* a = meeting->arrivals; a; a = a->next) {
    if (static_cast<IsplitArrival*>(a)->color == MPI_UNDEFINED) continue;
    comm::Comm* mine = nullptr;
    a->status = take(members, index++, a->comm, &mine);
    if (mine) *static_cast<SplitRequest*>(a->request)->result = mine->handle;
  }
}

Status check_parent(const comm::Comm* comm) {
  if (comm->shared->inter)
    return error(MPI_ERR_COMM, "comm is an intercommunicator; allowed is an intracommunicator");
  const comm::SharedComm& shared = *comm->shared;
  if (shared.id.is_drawn() && has_foreign(shared.map))
    return error(MPI_ERR_UNSUPPORTED_OPERATION,
                 "comm has members of several jobs; a group that the system ranks is of one job: "
                 "allowed is a communicator of members of one");
  return {};
}

/// The value of a hint, or nullptr.
const std::string* hint_of(const comm::Hints& hints, const char* key) {
  for (const auto& [k, value] : hints)
    if (k == key && !value.empty()) return &value;
  return nullptr;
}

}  // namespace

namespace {
SplitOptions read_environment() {
  static_assert(settings::has_choices(settings::kSystemRankedAlgorithm,
                                      "centralized|shrink_and_balance|rank_and_hash"));
  static_assert(settings::has_choices(settings::kSystemRankedFiller, "leaf|child"));
  SplitOptions options;
  options.algorithm = settings::choice<Algorithm>(settings::kSystemRankedAlgorithm);
  options.k = static_cast<uint32_t>(settings::number(settings::kSystemRankedK));
  options.filler = settings::choice<Filler>(settings::kSystemRankedFiller);
  return options;
}
}  // namespace

const SplitOptions& options_of_environment() {
  static const SplitOptions options = read_environment();
  return options;
}

Status options_from(const comm::Hints& hints, SplitOptions* out) {
  *out = options_of_environment();
  constexpr const char *kAlgorithm = "fgmpi_system_ranked_algorithm", *kK = "fgmpi_system_ranked_k",
                       *kFiller = "fgmpi_system_ranked_filler";
  if (const std::string* text = hint_of(hints, kAlgorithm);
      text && !parse_algorithm(*text, &out->algorithm))
    return error(MPI_ERR_INFO_VALUE, "info key %s is '%s'; allowed are %s", kAlgorithm,
                 text->c_str(), kAlgorithmNames);
  if (const std::string* text = hint_of(hints, kK)) {
    char* end;
    long k = std::strtol(text->c_str(), &end, 10);
    if (*end || k < long{kLeastBranching} || k > long{kMostBranching})
      return error(MPI_ERR_INFO_VALUE, "info key %s is '%s'; allowed is %u to %u", kK,
                   text->c_str(), kLeastBranching, kMostBranching);
    out->k = static_cast<uint32_t>(k);
  }
  if (const std::string* text = hint_of(hints, kFiller)) {
    if (*text != "leaf" && *text != "child")
      return error(MPI_ERR_INFO_VALUE, "info key %s is '%s'; allowed are leaf, child", kFiller,
                   text->c_str());
    out->filler = *text == "leaf" ? Filler::kLeaf : Filler::kChild;
  }
  return {};
}

Status split(comm::Comm* comm, int32_t color, const SplitOptions& options, const char* call,
             comm::Comm** out) {
  *out = nullptr;
  FGMPI_TRY(check_parent(comm));
  comm::Meeting* m = comm::join(comm, kOpSplit, call);
  Gathering* members = gather(m, comm, color, options);
  const bool belongs = color != MPI_UNDEFINED;
  const uint32_t index = members ? static_cast<uint32_t>(members->members.size()) - 1 : 0;
  if (m->full) {
    comm::run_action(comm->shared, m, split_act);
    comm::release(m);
  } else if (belongs) {
    comm::wait(comm, m, call);
  }  // else this member does not wait
  Status status;
  if (belongs && m->status.ok()) status = take(*members, index, comm, out);
  FGMPI_TRY(comm::leave(m));
  return status;
}

Status isplit(comm::Comm* comm, int32_t color, const SplitOptions& options, const char* call,
              MPI_Comm* out, pt2pt::Request** request) {
  FGMPI_TRY(check_parent(comm));
  auto* r = new SplitRequest;
  r->arrival.color = color;
  r->options = options;
  r->arrival.options = &r->options;
  r->call = call;
  r->comm_ref = comm;
  r->result = out;
  comm->retain();
  *request = r;
  return comm::meet_nonblocking(comm, &r->arrival, kOpIsplit, call, isplit_act, r);
}

}  // namespace fgmpi::system_ranked
