// Neighbourhood collectives, all five. Between members of a process, data goes straight from buffer
// to buffer. To each other process goes one message with everything that its members get, or
// several where that is long.
//
// Matching of parts: the edges from s to d are numbered at both ends, and the m-th edge of s to d
// is the m-th edge of d from s (MPI-4.0 section 8.6). In a grid, d receives from the opposite
// direction what s sends in one direction of a dimension. That distinguishes the two edges between
// s and d where a periodic dimension has one or two members.
//
// The parts between two processes are ordered by (source, destination, number), which sender and
// receiver both can list, and travel as a stream (streams.h).
#include <algorithm>

#include "base/count_words.h"
#include "coll/step.h"
#include "coll/streams.h"
#include "comm/topology.h"

namespace fgmpi::coll {
namespace {

/// One end of an edge at a member of this process.
struct End {
  int32_t source, destination;
  int32_t key;      ///< orders parallel edges alike at both ends
  uint32_t member;  ///< index of the member in the step
  int32_t segment;  ///< index in its send (out) or receive (in) side
};

bool before(const End& a, const End& b) {
  if (a.source != b.source) return a.source < b.source;
  if (a.destination != b.destination) return a.destination < b.destination;
  return a.key < b.key;
}

using Ends = std::vector<End>;

/// All edges of this process's members, by the process of the other end. Both processes of a pair
/// list their common edges in the same order.
struct Edges final : comm::TopologyPlan {
  explicit Edges(uint32_t processes) : out(processes), in(processes) {}
  std::vector<Ends> out, in;
  size_t count() const {
    size_t n = 0;
    for (const Ends& ends : out) n += ends.size();
    for (const Ends& ends : in) n += ends.size();
    return n;
  }
  size_t bytes() const override {
    return sizeof *this + (out.size() + in.size()) * sizeof(Ends) + count() * sizeof(End);
  }
};

std::shared_ptr<Edges> list_edges(const CollectiveStep& step, const Team& team) {
  auto edges = std::make_shared<Edges>(team.count());
  bool grid = step.shared->topology->kind == comm::Topology::Kind::kCart;
  std::vector<int32_t> sources, destinations;
  for (uint32_t i = 0; i < step.members.size(); ++i) {
    const Args* m = step.members[i];
    sources.clear();
    destinations.clear();
    comm::neighbors_of(m->comm, &sources, &destinations);
    for (int32_t k = 0; k < static_cast<int32_t>(destinations.size()); ++k) {
      int32_t d = destinations[static_cast<size_t>(k)];
      if (d != MPI_PROC_NULL) edges->out[team.team_rank_of(d)].push_back({m->rank, d, k, i, k});
    }
    for (int32_t k = 0; k < static_cast<int32_t>(sources.size()); ++k) {
      int32_t s = sources[static_cast<size_t>(k)];
      // A grid's in-edge from the negative side is the sender's out-edge to the positive side.
      if (s != MPI_PROC_NULL)
        edges->in[team.team_rank_of(s)].push_back({s, m->rank, grid ? k ^ 1 : k, i, k});
    }
  }
  for (Ends& ends : edges->out) std::sort(ends.begin(), ends.end(), before);
  for (Ends& ends : edges->in) std::sort(ends.begin(), ends.end(), before);
  return edges;
}

/// The most edges that are cached with the topology. Beyond this number, moving the data costs more
/// than listing them, and their memory would grow with the members.
constexpr size_t kKeptEdges = 4096;

std::shared_ptr<const Edges> edges_of(const CollectiveStep& step, const Team& team) {
  std::shared_ptr<comm::TopologyPlan>& plan = step.shared->topology->plan;
  if (plan) return std::static_pointer_cast<const Edges>(plan);
  std::shared_ptr<Edges> edges = list_edges(step, team);
  if (edges->count() <= kKeptEdges) plan = edges;
  return edges;
}

Segment sent(const CollectiveStep& step, const End& e) {
  return step.members[e.member]->send.segment(e.segment);
}
Segment received(const CollectiveStep& step, const End& e) {
  return step.members[e.member]->recv.segment(e.segment);
}

/// "1 edge leaves", "2 edges leave".
std::string edges_that(size_t count, const char* verb) {
  return count_words(count, "edge") + " " + verb + (count == 1 ? "s" : "");
}

Status inside(const CollectiveStep& step, const Ends& out, const Ends& in) {
  if (out.size() != in.size())
    return error(
        MPI_ERR_TOPOLOGY,
        "%s and %s among the members of one process: the graph must name every edge at both "
        "ends",
        edges_that(out.size(), "leave").c_str(), edges_that(in.size(), "enter").c_str());
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].source != in[i].source || out[i].destination != in[i].destination)
      return error(MPI_ERR_TOPOLOGY,
                   "rank %d sends to %d, but rank %d receives from %d: the graph must name every "
                   "edge at both ends",
                   out[i].source, out[i].destination, in[i].destination, in[i].source);
    FGMPI_TRY(copy(sent(step, out[i]), received(step, in[i])));
  }
  return {};
}

/// The edges of a pair of processes, as the parts of a stream.
struct PartsOfEdges {
  const CollectiveStep* step;
  const Ends* ends;  ///< nullptr: none
  Segment (*segment)(const CollectiveStep&, const End&);
  size_t size() const { return ends ? ends->size() : 0; }
  Segment operator[](size_t k) const { return segment(*step, (*ends)[k]); }
};

Status between(const CollectiveStep& step, const Team& team, const Edges& edges) {
  std::vector<Stream<PartsOfEdges>> out, in;
  for (uint32_t p = 0; p < team.count(); ++p) {
    bool other = p != team.me();
    out.emplace_back(PartsOfEdges{&step, other ? &edges.out[p] : nullptr, sent});
    in.emplace_back(PartsOfEdges{&step, other ? &edges.in[p] : nullptr, received});
  }
  // Messages go only to processes that have a common edge with this one.
  auto together = [&](const ProcessBlocks& sizes_out, const char* outgoing,
                      const ProcessBlocks& sizes_in, char* incoming) -> Status {
    std::vector<pt2pt::Request*> requests;
    Status first;
    for (uint32_t p = 0; p < team.count(); ++p) {
      if (p == team.me() || edges.in[p].empty()) continue;
      pt2pt::Request* request;
      FGMPI_TRY(team.irecv(p, incoming + sizes_in.offset[p], sizes_in.size(p), &request));
      requests.push_back(request);
    }
    for (uint32_t p = 0; p < team.count(); ++p) {
      if (p == team.me() || edges.out[p].empty()) continue;
      Status status = team.send(p, outgoing + sizes_out.offset[p], sizes_out.size(p));
      if (first.ok()) first = std::move(status);
    }
    return team.finish(&requests, std::move(first));
  };
  return StreamExchange(team, std::move(out), std::move(in)).run(together);
}

}  // namespace

Status step_neighbor(CollectiveStep& step) {
  Team team = step.team(0);
  std::shared_ptr<const Edges> edges = edges_of(step, team);
  Status here = inside(step, edges->out[team.me()], edges->in[team.me()]);
  if (team.count() == 1) return here;
  Status elsewhere = between(step, team, *edges);
  FGMPI_TRY(std::move(here));
  return elsewhere;
}

}  // namespace fgmpi::coll
