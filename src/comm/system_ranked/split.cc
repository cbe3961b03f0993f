#include "comm/system_ranked/split.h"

#include <algorithm>
#include <cstdlib>

#include "base/settings.h"
#include "base/strings.h"
#include "comm/create.h"
#include "comm/hierarchy.h"
#include "comm/jobs.h"
#include "comm/system_ranked/construction.h"
#include "comm/system_ranked/group_tree.h"

namespace fgmpi::comm::system_ranked {
namespace {

struct SplitArrival : CreateArrival {
  int32_t color = 0;
  const Options* options = nullptr;
};

/// The members of this process of one color, in the order of their ranks in the parent.
struct Part {
  uint32_t color;
  std::vector<SplitArrival*> members;
  Candidate candidate;
};

/// Numbers this process's bids.
uint32_t g_serial = 0;

std::vector<Part> parts_of(const SharedComm& shared, const Meeting* meeting) {
  std::vector<SplitArrival*> members;
  members.reserve(meeting->arrived);
  for (Arrival* a = meeting->arrivals; a; a = a->next) {
    auto* member = static_cast<SplitArrival*>(a);
    if (member->color != MPI_UNDEFINED) members.push_back(member);
  }
  auto before = [](const SplitArrival* a, const SplitArrival* b) {
    return a->color != b->color ? a->color < b->color : a->rank < b->rank;
  };
  // Members of one color mostly arrive in the order of their ranks.
  if (!std::is_sorted(members.begin(), members.end(), before))
    std::sort(members.begin(), members.end(), before);
  std::vector<Part> parts;
  for (SplitArrival* member : members) {
    uint32_t color = static_cast<uint32_t>(member->color);
    if (parts.empty() || parts.back().color != color) parts.push_back({color, {}, {}});
    parts.back().members.push_back(member);
  }
  for (Part& part : parts) {
    RankState* least = nullptr;
    for (const SplitArrival* a : part.members) {
      RankState* r = state_of(shared, *a);
      if (!least || r->led < least->led ||
          (r->led == least->led && r->world_rank < least->world_rank))
        least = r;
    }
    part.candidate = reserve(least);
  }
  return parts;
}

/// This process in the tree of the parent: its own, where that is system-ranked; else its processes in ascending order,
/// level by level.
ParentPlace place_in(SharedComm* shared, uint32_t k) {
  ParentPlace where;
  where.self = g_av.me();
  if (shared->tree) {
    const Place& place = shared->tree->place();
    where.parent = place.parent;
    where.depth = place.depth;
    where.children = place.children;
    return where;
  }
  const Hierarchy& h = hierarchy(shared);
  if (h.my_index > 0) where.parent = h.processes[parent_of(h.my_index, k)];
  where.depth = depth_of(h.my_index, k);
  for (uint32_t c = 0; c < children_of(h.my_index, k, h.count()); ++c)
    where.children.push_back(h.processes[h.my_index * k + 1 + c]);
  return where;
}

/// How many vertices the tree of place_in() has, if it is balanced with this k; else 0.
uint32_t balanced_vertices(SharedComm* shared, uint32_t k) {
  if (shared->tree) return shared->tree->k() == k ? shared->tree->place().vertices : 0;
  return hierarchy(shared).count();
}

/// Intermediaries are processes of the parent, or of the job where the parent's are not known.
Directory directory_of(SharedComm* shared) {
  if (shared->tree) return Directory(g_av.processes());
  const Series& processes = hierarchy(shared).processes;
  return Directory(
      processes.size(),
      [](const void* list, uint32_t i) -> Address {
        return (*static_cast<const Series*>(list))[i];
      },
      &processes);
}

Status attach(const SharedComm& parent, const Meeting* meeting, const Part& part,
              const Place& place, uint32_t k) {
  settle(part.candidate, {place.id.context});
  if (place.id.context == 0) return none_left(meeting->call);
  std::vector<int32_t> worlds;
  for (const SplitArrival* a : part.members) worlds.push_back(parent.map.world_of(a->rank));
  RankMap map;
  sched::call_on_host([&] { map = RankMap::from_ranks(worlds); });
  std::shared_ptr<GroupTree> tree;
  if (place.vertices > 1) {
    tree = GroupTree::make(place, k, std::move(map));
    map = tree->lazy_map();
  }
  SharedComm* made = establish({{place.id.context},
                                &map,
                                nullptr,
                                static_cast<uint32_t>(part.members.size()),
                                place.vertices,
                                0,
                                meeting->call});
  made->tree = std::move(tree);
  int32_t rank = place.first;
  for (SplitArrival* a : part.members) a->status = enter(made, rank++, a->comm, &a->out);
  return {};
}

/// Nobody else has to be asked.
Place alone(const Part& part) {
  Place place;
  place.color = part.color;
  place.weight = static_cast<uint32_t>(part.members.size());
  place.first = 0;
  place.size = static_cast<int32_t>(place.weight);
  place.vertices = 1;
  if (part.candidate.valid()) place.id.context = part.candidate.id().bits;
  return place;
}

Status run(SharedComm* shared, Meeting* meeting) {
  const auto* first = static_cast<const SplitArrival*>(meeting->arrivals);
  Options options = *first->options;
  for (const Arrival* a = first; a; a = a->next) {
    const Options& other = *static_cast<const SplitArrival*>(a)->options;
    if (&other == first->options) continue;
    if (!same_way(other, options))
      return options_differ(format("rank %d", first->rank), options, format("rank %d", a->rank),
                            other);
  }
  std::vector<Part> parts = parts_of(*shared, meeting);
  std::vector<Place> places;
  if (shared->processes == 1) {
    for (const Part& part : parts) places.push_back(alone(part));
  } else {
    std::vector<Enrolment> mine;
    for (const Part& part : parts)
      mine.push_back(
          {part.color, static_cast<uint32_t>(part.members.size()), {part.candidate, ++g_serial}});
    Directory directory = directory_of(shared);
    options.directory = &directory;
    options.first_world = [](Address process) { return g_av.first(process); };
    options.kept_vertices = balanced_vertices(shared, options.k);
    FGMPI_TRY(construct({shared->id.bits, meeting->sequence & 0xffffff}, options,
                        place_in(shared, options.k), std::move(mine), meeting->call, &places));
  }
  Status status;
  for (size_t i = 0; i < parts.size(); ++i) {
    Status one = attach(*shared, meeting, parts[i], places[i], options.k);
    for (SplitArrival* a : parts[i].members)
      if (!one.ok()) a->status = copy_status(one);
  }
  return status;
}

struct SplitRequest final : pt2pt::Request {
  SplitArrival arrival;
  Options options;
  MPI_Comm* result = nullptr;
  ~SplitRequest() override {
    if (keep) keep->release();
  }
};

void split_act(SharedComm* shared, Meeting* meeting) {
  Status status = run(shared, meeting);
  if (!status.ok()) fail_everywhere(shared, meeting, status);
}

void isplit_act(SharedComm* shared, Meeting* meeting) {
  split_act(shared, meeting);
  for (Arrival* a = meeting->arrivals; a; a = a->next) {
    Comm* mine = static_cast<CreateArrival*>(a)->out;
    if (mine) *static_cast<SplitRequest*>(a->request)->result = mine->handle;
  }
}

Status check_parent(const Comm* comm) {
  if (comm->shared->inter)
    return error(MPI_ERR_COMM, "comm is an intercommunicator; allowed is an intracommunicator");
  return check_one_job(comm, "a group that the system ranks");
}

/// What the hint says, or nullptr.
const std::string* hint_of(const Hints& hints, const char* key) {
  for (const auto& [k, value] : hints)
    if (k == key && !value.empty()) return &value;
  return nullptr;
}

}  // namespace

namespace {
Options read_environment() {
  static_assert(settings::has_choices(settings::kSystemRankedAlgorithm,
                                      "centralized|shrink_and_balance|rank_and_hash"));
  static_assert(settings::has_choices(settings::kSystemRankedFiller, "leaf|child"));
  Options options;
  options.algorithm = settings::choice<Algorithm>(settings::kSystemRankedAlgorithm);
  options.k = static_cast<uint32_t>(settings::number(settings::kSystemRankedK));
  options.filler = settings::choice<Filler>(settings::kSystemRankedFiller);
  return options;
}
}  // namespace

const Options& options_of_environment() {
  static const Options options = read_environment();
  return options;
}

Status options_from(const Hints& hints, Options* out) {
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

Status split(Comm* comm, int32_t color, const Options& options, const char* call, Comm** out) {
  *out = nullptr;
  FGMPI_TRY(check_parent(comm));
  SplitArrival mine;
  mine.color = color;
  mine.options = &options;
  Status status = meet(comm, &mine, kOpSystemRanked, call, split_act);
  *out = mine.out;
  return status;
}

Status isplit(Comm* comm, int32_t color, const Options& options, const char* call, MPI_Comm* out,
              pt2pt::Request** request) {
  FGMPI_TRY(check_parent(comm));
  auto* r = new SplitRequest;
  r->arrival.color = color;
  r->options = options;
  r->arrival.options = &r->options;
  r->call = call;
  r->keep = comm;
  r->result = out;
  comm->retain();
  *request = r;
  return meet_nonblocking(comm, &r->arrival, kOpSystemRankedNonblocking, call, isplit_act, r);
}

}  // namespace fgmpi::comm::system_ranked
