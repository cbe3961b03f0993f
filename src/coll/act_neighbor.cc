// Neighbourhood collectives, all five: between members of a process straight from buffer to buffer;
// to each other process one message with everything that its members get.
//
// Which part goes where: the edges from s to d are numbered at both ends, the m-th of s to d is the
// m-th of d from s (MPI-4.0 section 8.6). In a grid, what s sends in one direction of a dimension d
// receives from the opposite one, which tells the two edges apart where a periodic dimension has
// one or two members.
//
// A message is ordered by (source, destination, number), which sender and receiver both can list.
#include <algorithm>

#include "coll/act.h"
#include "comm/topology.h"

namespace fgmpi::coll {
namespace {

/// One end of an edge at a member of this process.
struct End {
  int32_t source, destination;
  int32_t key;      ///< orders parallel edges the same way at both ends
  uint32_t member;  ///< index of the member here
  int32_t segment;  ///< of its send (out) or receive (in) side
};

bool before(const End& a, const End& b) {
  if (a.source != b.source) return a.source < b.source;
  if (a.destination != b.destination) return a.destination < b.destination;
  return a.key < b.key;
}

class Exchange {
 public:
  Exchange(const Act& act, const Team& team)
      : act_(act), team_(team), out_(team.count()), in_(team.count()) {}

  void list_edges() {
    bool grid = act_.shared->topology && act_.shared->topology->kind == comm::Topology::Kind::kCart;
    std::vector<int32_t> sources, destinations;
    for (uint32_t i = 0; i < act_.members.size(); ++i) {
      const Args* m = act_.members[i];
      sources.clear();
      destinations.clear();
      comm::neighbors_of(m->comm, &sources, &destinations);
      for (int32_t k = 0; k < static_cast<int32_t>(destinations.size()); ++k) {
        int32_t d = destinations[static_cast<size_t>(k)];
        if (d != MPI_PROC_NULL) out_[team_.place_of_rank(d)].push_back({m->rank, d, k, i, k});
      }
      for (int32_t k = 0; k < static_cast<int32_t>(sources.size()); ++k) {
        int32_t s = sources[static_cast<size_t>(k)];
        // A grid's in-edge from the negative side is the sender's out-edge to the positive side.
        if (s != MPI_PROC_NULL)
          in_[team_.place_of_rank(s)].push_back({s, m->rank, grid ? k ^ 1 : k, i, k});
      }
    }
    for (auto& ends : out_) std::sort(ends.begin(), ends.end(), before);
    for (auto& ends : in_) std::sort(ends.begin(), ends.end(), before);
  }

  Status inside() {
    const auto &out = out_[team_.me()], &in = in_[team_.me()];
    if (out.size() != in.size())
      return error(
          MPI_ERR_TOPOLOGY,
          "%zu edges leave and %zu edges enter among the members of one process: the graph "
          "must name every edge at both ends",
          out.size(), in.size());
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i].source != in[i].source || out[i].destination != in[i].destination)
        return error(MPI_ERR_TOPOLOGY,
                     "rank %d sends to %d, but rank %d receives from %d: the graph must name every "
                     "edge at both ends",
                     out[i].source, out[i].destination, in[i].destination, in[i].source);
      FGMPI_TRY(copy(sent(out[i]), received(in[i])));
    }
    return {};
  }

  Status between() {
    std::vector<pt2pt::Request*> requests;
    std::vector<std::unique_ptr<char[]>> incoming(team_.count());
    for (uint32_t p = 0; p < team_.count(); ++p) {
      if (p == team_.me() || in_[p].empty()) continue;
      size_t bytes = 0;
      for (const End& e : in_[p]) bytes += static_cast<size_t>(received(e).bytes());
      incoming[p] = raw_memory(bytes);
      pt2pt::Request* request;
      FGMPI_TRY(team_.irecv(p, incoming[p].get(), bytes, &request));
      requests.push_back(request);
    }
    FGMPI_TRY(team_.finish(&requests, send_all()));
    for (uint32_t p = 0; p < team_.count(); ++p) {
      if (!incoming[p]) continue;
      const char* at = incoming[p].get();
      for (const End& e : in_[p]) {
        Segment s = received(e);
        FGMPI_TRY(unpack(at, s.bytes(), s));
        at += s.bytes();
      }
    }
    return {};
  }

 private:
  Segment sent(const End& e) const { return act_.members[e.member]->send.segment(e.segment); }
  Segment received(const End& e) const { return act_.members[e.member]->recv.segment(e.segment); }

  Status send_all() {
    Status first;
    for (uint32_t p = 0; p < team_.count(); ++p) {
      if (p == team_.me() || out_[p].empty()) continue;
      size_t bytes = 0;
      for (const End& e : out_[p]) bytes += static_cast<size_t>(sent(e).bytes());
      auto packed = raw_memory(bytes);
      char* at = packed.get();
      for (const End& e : out_[p]) {
        Segment s = sent(e);
        if (first.ok()) first = pack(s, at);
        at += s.bytes();
      }
      Status status = team_.send(p, packed.get(), bytes);
      if (first.ok()) first = std::move(status);
    }
    return first;
  }

  const Act& act_;
  const Team& team_;
  std::vector<std::vector<End>> out_, in_;  ///< by place of the other end
};

}  // namespace

Status act_neighbor(Act& act) {
  Team team = act.team();
  Exchange exchange(act, team);
  exchange.list_edges();
  Status inside = exchange.inside();
  Status between = exchange.between();
  FGMPI_TRY(std::move(inside));
  return between;
}

}  // namespace fgmpi::coll
