// The exchange of addresses between the processes of a job, through the launcher.
//
// Transport by transport, in order of preference, each process publishes "RANKS:CARD,ADDRESS" under
// "fgmpi1-T-PROCESS". After the first round, peers that share the host are reached by shared
// memory; where all do, the network is never opened. Reaching is an equivalence (same host or not),
// so all processes agree on whether a next round is needed.

#include <algorithm>
#include <string>
#include <vector>

#include "base/attach.h"
#include "base/strings.h"
#include "ch4-av-rankmap/av.h"
#include "ch4-av-rankmap/hosts.h"
#include "dynamic/connect.h"
#include "liveness/lost_peer.h"
#include "mpi/binding.h"
#include "mpi/life/peer_failures.h"
#include "mpi/life/process.h"
#include "mpi/life/runtime.h"
#include "privatize/load/rank_heaps.h"
#include "proclet-sched/coroutine/debug_table.h"
#include "transport/host_id.h"
#include "transport/registry.h"

namespace fgmpi::mpi {
namespace {

struct PeerReach {
  uint32_t ranks = 0;
  int pid = 0;  ///< 0: on another host
  bool reached = false;
};

std::string key_of(size_t transport, uint32_t p) {
  return "fgmpi1-" + std::to_string(transport) + "-" + std::to_string(p);
}

/// Splits "RANKS:CARD,ADDRESS" into its three values.
Status parse_published(uint32_t p, const std::string& value, uint32_t* ranks, liveness::Card* card,
                       std::string* address) {
  size_t comma = std::min(value.find(','), value.size());
  size_t colon = std::min(value.find(':'), comma);
  auto number = parse_int(value.substr(0, colon));
  if (!number || *number < 1 || *number > kMaxRanks || comma == value.size() || colon == comma ||
      !card->parse(value.substr(colon + 1, comma - colon - 1)))
    return error(MPI_ERR_OTHER,
                 "process %u published '%s', which is not an address of this version", p,
                 value.c_str());
  *ranks = static_cast<uint32_t>(*number);
  *address = value.substr(comma + 1);
  return {};
}

/// A fence while processes connect. A process that fails before all know each other ends the job,
/// even one that would go on after failures later: the launcher's fence would wait for that
/// process.
Status fence_of_all() {
  if (!job_survives_failures()) return boot().fence();
  constexpr int64_t kBetweenLooks = 100'000'000;  // ns
  FGMPI_TRY(boot().enter_fence());
  bool over = false;
  while (!over) {
    FGMPI_TRY(boot().fence_is_over(kBetweenLooks, &over));
    if (!over && was_noticed())
      return error(MPI_ERR_OTHER, "a process has failed before all were connected");
  }
  return {};
}

/// Announces to the launcher's client which values will be got next: those of the other processes
/// from `p` on, as many as may be announced at once. Returns the first process after them.
uint32_t ask_ahead(size_t t, uint32_t p, uint32_t count) {
  std::vector<std::string> keys;
  for (; p < count && keys.size() < bootstrap::Bootstrap::kMostAhead; ++p)
    if (p != static_cast<uint32_t>(boot().rank())) keys.push_back(key_of(t, p));
  boot().ask_ahead(keys);
  return p;
}

/// One round: opens transport `t`, publishes, collects all processes' addresses for it.
Status publish_and_collect(size_t t, const liveness::Card& card, std::vector<PeerReach>* peers,
                           std::vector<std::string>* addresses, liveness::WatchRing* ring) {
  ProcessState& me = process();
  bootstrap::Bootstrap& b = boot();
  std::string address;
  FGMPI_TRY(me.transports[t]->open(pt2pt::sinks(), &address));
  std::string published = std::to_string(me.ranks) + ":" + card.to_string() + "," + address;
  if (published.size() > b.max_value())
    return error(MPI_ERR_OTHER,
                 "the address of this process has %zu bytes; the launcher passes on %zu at most",
                 published.size(), b.max_value());
  FGMPI_TRY(b.put(key_of(t, b.rank()), published));
  FGMPI_TRY(fence_of_all());
  addresses->resize(peers->size());
  uint32_t asked = 0;
  for (uint32_t p = 0; p < peers->size(); ++p) {
    std::string value = published;
    if (p == asked) asked = ask_ahead(t, p, static_cast<uint32_t>(peers->size()));
    if (p != static_cast<uint32_t>(b.rank()))
      FGMPI_TRY(b.get(key_of(t, p), &value, static_cast<int>(p)));
    liveness::Card theirs;
    FGMPI_TRY(parse_published(p, value, &(*peers)[p].ranks, &theirs, &(*addresses)[p]));
    ring->add(p, theirs);
    if (job_survives_failures()) remember_card(p, theirs);
    if (t == 0) g_hosts.add(theirs.host_id);
    if (theirs.host_id == card.host_id) (*peers)[p].pid = theirs.pid;
    if (t == 0 && p == 0) dynamic::set_own_job_uid(b.job() + value);
  }
  return {};
}

/// Shows the debugger which processes there are, where ranks may move.
void show_processes(const std::vector<PeerReach>& peers) {
  if (!privatize::rank_slots_are_files()) return;
  static sched::DebugPlaces places;
  auto* processes = new sched::DebugProcess[peers.size()];  // for as long as the process lives
  for (uint32_t p = 0; p < peers.size(); ++p) processes[p] = {g_av.first(p), peers[p].pid};
  places = {&g_av.moved(), processes, peers.size(), g_av.my_count()};
  fgmpi_debug_table.places = &places;
}

Status init_address_vector(const std::vector<PeerReach>& peers) {
  std::vector<uint32_t> starts{0};
  for (const PeerReach& peer : peers) {
    if (starts.back() + int64_t{peer.ranks} > kMaxRanks)
      return error(MPI_ERR_OTHER, "the job has more than %lld ranks",
                   static_cast<long long>(kMaxRanks));
    starts.push_back(starts.back() + peer.ranks);
  }
  g_av.init(starts, boot().rank());
  return {};
}

}  // namespace

Status exchange_addresses(pt2pt::Setup* setup) {
  ProcessState& me = process();
  me.transports = transport::make_all();
  std::vector<PeerReach> peers(boot().size());
  peers[boot().rank()].reached = true;
  size_t reached = 1, t = 0;
  const liveness::Card card = liveness::own_card(boot().launcher_fd(), transport::host_id());
  if (job_survives_failures()) heed_notices();
  attach_permission().set_launcher(maker_of_socket(boot().launcher_fd()));
  liveness::WatchRing ring(card, static_cast<uint32_t>(boot().rank()),
                           static_cast<uint32_t>(peers.size()));
  for (; t < me.transports.size() && reached < peers.size(); ++t) {
    std::vector<std::string> addresses;
    FGMPI_TRY(publish_and_collect(t, card, &peers, &addresses, &ring));
    if (t == 0) {
      FGMPI_TRY(init_address_vector(peers));
      show_processes(peers);
    }
    for (uint32_t p = 0; p < peers.size(); ++p) {
      if (peers[p].reached || !me.transports[t]->reaches(addresses[p])) continue;
      uint64_t local = 0;
      FGMPI_TRY(me.transports[t]->add_peer(p, addresses[p], &local));
      g_av.set_address(p, local, t == 1);
      peers[p].reached = true;
      ++reached;
    }
    setup->transports[t] = me.transports[t].get();
  }
  me.transports.resize(t);
  for (uint32_t p = 0; p < peers.size(); ++p) {
    if (peers[p].reached) continue;
    const std::string lacks = transport::lacking();
    return error(MPI_ERR_OTHER, "no transport reaches process %u, ranks %u to %u (%s)", p,
                 g_av.first(p), g_av.first(p) + g_av.count(p) - 1,
                 lacks.empty() ? "FGMPI_TRANSPORT may exclude it" : lacks.c_str());
  }
  ring.allow_watch();
  FGMPI_TRY(fence_of_all());
  ring.start();
  for (auto& transport : me.transports)
    transport->all_connected(static_cast<uint32_t>(boot().rank()));
  return {};
}

Status card_of(uint32_t p, liveness::Card* card) {
  std::string value, address;
  uint32_t ranks;
  FGMPI_TRY(boot().get(key_of(0, p), &value, static_cast<int>(p)));
  return parse_published(p, value, &ranks, card, &address);
}

}  // namespace fgmpi::mpi
