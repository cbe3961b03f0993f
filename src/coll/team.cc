// Teams: which processes are in one, and messages between them.

#include "coll/team.h"

#include <algorithm>

#include "base/counters.h"
#include "coll/move.h"
#include "coll/type_fingerprint.h"
#include "system-ranked/group_tree.h"

namespace fgmpi::coll {
namespace {

/// Bytes of a piece: at most those of a frame of the shared memory transport.
constexpr size_t kPiece = 16 * 1024;

/// Calls one(at, n, &request) for each piece.
template <class F>
Status in_pieces(size_t bytes, std::vector<pt2pt::Request*>* requests, F&& one) {
  for (size_t at = 0; at < bytes; at += kPiece) {
    pt2pt::Request* request = nullptr;
    FGMPI_TRY(one(at, std::min(kPiece, bytes - at), &request));
    requests->push_back(request);
  }
  return {};
}

}  // namespace

LevelTwoCounters g_counters;

namespace {
[[maybe_unused]] const bool g_counters_provided = [] {
  using namespace counters;
  provide(kCollectives, [](const void*) { return g_counters.collectives; });
  provide(kCollectiveMessages, [](const void*) { return g_counters.messages; });
  provide(kCollectiveBytes, [](const void*) { return g_counters.bytes; });
  return true;
}();
}  // namespace

Team::Team(comm::SharedComm* shared, const comm::Meeting* m, uint64_t agreed, Reach reach)
    : map_(&shared->map),
      open_(shared, shared->id.plane(comm::kPlaneColl, m->round),
            team_tag(m->sequence, m->operation, reach == kTree && shared->tree, shared->side),
            agreed, m->call) {
  if (__builtin_expect(reach == kTree && shared->tree != nullptr, 0))
    add_neighbours(system_ranked::tree_of(*shared)->place());
  else
    add_all(comm::hierarchy(shared));
}

Team::Team(comm::SharedComm* shared, const comm::Meeting* m, Direction direction)
    : map_(shared->remote.get()),
      open_(shared, shared->id.plane(comm::kPlaneColl, m->round),
            team_tag(m->sequence, m->operation, true,
                     direction == kToRemote ? shared->side : !shared->side),
            0, m->call) {
  add_all(comm::remote_hierarchy(shared));
}

void Team::add_all(const comm::Hierarchy& h) {
  hierarchy_ = &h;
  using boost::container::default_init;
  processes_.resize(h.count(), default_init);
  team_rank_of_index_.resize(h.count(), default_init);
  uint32_t team_rank = 0;
  auto add = [&](uint32_t index) {
    if (index == h.my_index) me_ = team_rank;
    processes_[team_rank] = h.processes[index];
    team_rank_of_index_[index] = team_rank++;
  };
  if (h.one_run_each) {
    h.for_each_run(*map_, [&](const comm::ProcessRun& run) { add(run.index); });
  } else {
    for (uint32_t i = 0; i < h.count(); ++i) add(i);
  }
}

uint32_t Team::members(uint32_t team_rank) const {
  const comm::Hierarchy& h = *hierarchy_;
  if (h.one_run_each && !h.runs.empty()) return static_cast<uint32_t>(h.runs[team_rank].count);
  return h.members(*map_, h.index_of_process(processes_[team_rank]));
}

Team::Team(const std::vector<uint32_t>& processes, uint32_t my_team_rank, uint64_t ctx, int32_t tag,
           const char* call)
    : processes_(processes.begin(), processes.end()),
      me_(my_team_rank),
      open_(nullptr, ctx, tag, 0, call) {}

void Team::add_neighbours(const system_ranked::TreePosition& place) {
  processes_.push_back(g_av.me());
  has_parent_ = place.parent != system_ranked::kNobody;
  if (has_parent_) processes_.push_back(place.parent);
  for (uint32_t child : place.children) processes_.push_back(child);
  tree_size_ = place.vertices;
  own_first_ = place.first;
  own_past_ = place.first + static_cast<int32_t>(place.weight);
}

uint32_t Team::add_process_of(uint32_t elsewhere) const {
  int32_t rank = static_cast<int32_t>(elsewhere - kElsewhere);
  processes_.push_back(
      g_av.process_of(static_cast<uint32_t>(system_ranked::tree_of(*open_.shared)->find(rank))));
  return count() - 1;
}

uint32_t Team::types() const {
  if (!type_) return 0;
  return type_count_ < 0 ? type_fingerprint(*type_) : type_fingerprint(*type_, type_count_);
}

Status Team::recv_any(void* data, size_t bytes, uint32_t* from) const {
  if (__builtin_expect(open_.failed(), 0)) return open_.failure();
  uint32_t process;
  FGMPI_TRY(pt2pt::process_recv_any(open_.ctx, open_.tag, data, bytes, open_.call, &process));
  auto it = std::find(processes_.begin(), processes_.end(), process);
  *from = static_cast<uint32_t>(it - processes_.begin());
  return {};
}

uint32_t Team::team_rank_of(int32_t rank) const {
  if (tree_size_ > 0)
    return rank >= own_first_ && rank < own_past_ ? me_ : kElsewhere + static_cast<uint32_t>(rank);
  return team_rank_of_index_[hierarchy_->index_of_rank(*map_, rank)];
}

Status Team::send(uint32_t to, const void* data, size_t bytes) const {
  if (__builtin_expect(open_.failed(), 0)) return open_.failure();
  ++g_counters.messages;
  g_counters.bytes += bytes;
  return pt2pt::process_send(processes_[to], open_.ctx, open_.tag, data, bytes, open_.call,
                             open_.signature);
}

Status Team::recv(uint32_t from, void* data, size_t bytes) const {
  if (__builtin_expect(open_.failed(), 0)) return open_.failure();
  if (__builtin_expect(from == kAnyProcess, 0)) return recv_any(data, bytes, &from);
  return pt2pt::process_recv(processes_[from], open_.ctx, open_.tag, data, bytes, open_.call,
                             open_.signature);
}

Status Team::irecv(uint32_t from, void* data, size_t bytes, pt2pt::Request** request) const {
  if (__builtin_expect(open_.failed(), 0)) return open_.failure();
  return pt2pt::process_irecv(processes_[from], open_.ctx, open_.tag, data, bytes, open_.call,
                              request, open_.signature);
}

Status Team::isend(uint32_t to, const void* data, size_t bytes, pt2pt::Request** request) const {
  if (__builtin_expect(open_.failed(), 0)) return open_.failure();
  ++g_counters.messages;
  g_counters.bytes += bytes;
  return pt2pt::process_isend(processes_[to], open_.ctx, open_.tag, data, bytes, open_.call,
                              request, open_.signature);
}

Status Team::isend_pieces(uint32_t to, const char* data, size_t bytes,
                          std::vector<pt2pt::Request*>* requests) const {
  return in_pieces(bytes, requests, [&](size_t at, size_t n, pt2pt::Request** request) {
    return isend(to, data + at, n, request);
  });
}

Status Team::irecv_pieces(uint32_t from, char* data, size_t bytes,
                          std::vector<pt2pt::Request*>* requests) const {
  return in_pieces(bytes, requests, [&](size_t at, size_t n, pt2pt::Request** request) {
    return irecv(from, data + at, n, request);
  });
}

Status Team::finish(pt2pt::Request* request) const {
  pt2pt::wait(request, open_.call);
  Status status = pt2pt::process_outcome(request);
  pt2pt::free_request(request);
  return status;
}

Status Team::finish(std::vector<pt2pt::Request*>* requests, Status first) const {
  pt2pt::wait_all(requests->data(), requests->size(), open_.call);
  for (pt2pt::Request* request : *requests) {
    if (first.ok()) first = pt2pt::process_outcome(request);
    pt2pt::free_request(request);
  }
  requests->clear();
  return first;
}

Status Team::exchange(uint32_t to, const void* out, size_t out_bytes, uint32_t from, void* in,
                      size_t in_bytes) const {
  pt2pt::Request* request = nullptr;
  FGMPI_TRY(irecv(from, in, in_bytes, &request));
  Status first = send(to, out, out_bytes);
  Status second = finish(request);
  return first.ok() ? std::move(second) : std::move(first);
}

Placement::Placement(const comm::Hierarchy& h, const RankMap& map, const Team& team) {
  if (h.one_run_each && !h.runs.empty()) {  // the team orders its processes in the same way
    runs_ = h.runs.data();
    return;
  }
  PerProcess<uint32_t> team_rank(h.count());
  for (uint32_t p = 0; p < team.count(); ++p) team_rank[h.index_of_process(team.process(p))] = p;
  start_.assign(team.count() + 1, 0);
  PerProcess<comm::ProcessRun> in_rank_order;
  h.for_each_run(map, [&](const comm::ProcessRun& run) {
    ++start_[team_rank[run.index] + 1];
    in_rank_order.push_back(run);
  });
  for (uint32_t p = 0; p < team.count(); ++p) start_[p + 1] += start_[p];
  PerProcess<uint32_t> next(start_.begin(), start_.end() - 1);
  own_runs_.resize(in_rank_order.size());
  for (const comm::ProcessRun& run : in_rank_order) own_runs_[next[team_rank[run.index]]++] = run;
  for (size_t i = 1; i < own_runs_.size(); ++i)
    if (own_runs_[i].first < own_runs_[i - 1].first) in_rank_order_ = false;
  runs_ = own_runs_.data();
}

}  // namespace fgmpi::coll
