// Distributed graphs: edges travel to their ends, in one message for each pair of processes
// (MPI-4.0 section 8.5.4).

#include <algorithm>
#include <cstring>

#include "comm/create.h"
#include "comm/hierarchy.h"
#include "comm/topology.h"

namespace fgmpi::comm {
namespace {

/// An edge that is sent, with the rank that contributed it.
struct Travelling {
  int32_t source, destination, weight, contributor;
};

struct EdgeArrival : Arrival {
  std::vector<Edge> edges;
  Neighbors* out = nullptr;
};

/// Sorts the edges by the processes of their ends; each process's list is in the order
/// of contributors.
std::vector<std::vector<Travelling>> sort_out(SharedComm* shared,
                                              const std::vector<const EdgeArrival*>& members) {
  const Hierarchy& h = hierarchy(shared);
  std::vector<std::vector<Travelling>> to(h.count());
  for (const EdgeArrival* a : members) {
    for (const Edge& e : a->edges) {
      uint32_t from = h.index_of_rank(shared->map, e.source),
               into = h.index_of_rank(shared->map, e.destination);
      Travelling t{e.source, e.destination, e.weight, a->rank};
      to[from].push_back(t);
      if (into != from) to[into].push_back(t);
    }
  }
  return to;
}

/// Swaps the lists with the other processes; appends what they send to *mine.
Status swap_lists(SharedComm* shared, uint32_t number,
                  const std::vector<std::vector<Travelling>>& to, std::vector<Travelling>* mine,
                  const char* call) {
  const Hierarchy& h = hierarchy(shared);
  uint64_t ctx = shared->id.plane(kPlaneInternal);
  int32_t tag = tag_of(*shared, number, kStepExchange);
  std::vector<pt2pt::Request*> sent;
  Status status;
  for (uint32_t i = 0; i < h.count() && status.ok(); ++i) {
    if (i == h.my_index) continue;
    pt2pt::Request* r = nullptr;
    status = pt2pt::process_isend(h.processes[i], ctx, tag, to[i].data(),
                                  to[i].size() * sizeof(Travelling), call, &r);
    if (r) sent.push_back(r);
  }
  for (uint32_t i = 0; i < h.count() && status.ok(); ++i) {
    if (i == h.my_index) continue;
    std::vector<uint8_t> bytes;
    status = pt2pt::process_recv(h.processes[i], ctx, tag, &bytes, call);
    size_t old = mine->size();
    mine->resize(old + bytes.size() / sizeof(Travelling));
    if (!bytes.empty()) std::memcpy(mine->data() + old, bytes.data(), bytes.size());
  }
  pt2pt::wait_all(sent.data(), sent.size(), call);
  for (pt2pt::Request* r : sent) pt2pt::free_request(r);
  return status;
}

void edges_action(SharedComm* shared, Meeting* meeting) {
  std::vector<const EdgeArrival*> members;
  std::vector<Neighbors*> by_local(g_av.locals());
  for (Arrival* a = meeting->arrivals; a; a = a->next) {
    auto* arrival = static_cast<EdgeArrival*>(a);
    members.push_back(arrival);
    by_local[g_av.local_of(static_cast<uint32_t>(shared->map.world_of(a->rank)))] = arrival->out;
  }
  std::sort(members.begin(), members.end(),
            [](const EdgeArrival* a, const EdgeArrival* b) { return a->rank < b->rank; });
  const Hierarchy& h = hierarchy(shared);
  std::vector<std::vector<Travelling>> to = sort_out(shared, members);
  std::vector<Travelling> mine = std::move(to[h.my_index]);
  Status status = swap_lists(shared, meeting->sequence, to, &mine, meeting->call);
  if (!status.ok()) return fail_all(meeting, status);
  std::stable_sort(mine.begin(), mine.end(), [](const Travelling& a, const Travelling& b) {
    return a.contributor < b.contributor;
  });
  for (const Travelling& t : mine) {
    uint32_t local;
    if (g_av.is_here(static_cast<uint32_t>(shared->map.world_of(t.source)), &local)) {
      by_local[local]->destinations.push_back(t.destination);
      by_local[local]->destination_weights.push_back(t.weight);
    }
    if (g_av.is_here(static_cast<uint32_t>(shared->map.world_of(t.destination)), &local)) {
      by_local[local]->sources.push_back(t.source);
      by_local[local]->source_weights.push_back(t.weight);
    }
  }
}

}  // namespace

Status exchange_edges(Comm* comm, std::vector<Edge> edges, bool weighted, const char* call,
                      Neighbors* out) {
  EdgeArrival mine;
  mine.edges = std::move(edges);
  mine.out = out;
  Status status = meet(comm, &mine, kOpGather, call, edges_action);
  out->weighted = weighted;
  if (!weighted) {
    out->source_weights.clear();
    out->destination_weights.clear();
  }
  return status;
}

}  // namespace fgmpi::comm
