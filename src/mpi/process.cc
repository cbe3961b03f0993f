#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/strings.h"
#include "ch4-av-rankmap/av.h"
#include "host/host.h"
#include "mpi/binding.h"
#include "mpi/runtime.h"
#include "privatize/privatize.h"
#include "proclet-sched/sched.h"
#include "pt2pt/pt2pt.h"
#include "transport/idle.h"
#include "transport/registry.h"

namespace fgmpi::mpi {
namespace {

/// Everything that exists once per process. Never destroyed: transports may be used until _exit.
struct Process {
  std::unique_ptr<bootstrap::Bootstrap> boot;
  std::vector<std::unique_ptr<transport::Transport>> transports;
  std::unique_ptr<transport::Idle> idle;
  uint32_t ranks = 0;
  bool connected = false;
  int unfinished = 0;  ///< ranks whose main has not returned yet
};

Process& process() {
  static Process* p = new Process;
  return *p;
}

[[noreturn]] void refuse(const std::string& line) {
  std::fprintf(stderr, "fgmpi: %s\n", line.c_str());
  std::_Exit(1);
}

int64_t positive_env(const char* name, int64_t max) {
  const char* text = std::getenv(name);
  if (!text || !*text) return 0;
  auto value = parse_int(text);
  if (!value || *value < 1 || *value > max) {
    refuse(format("%s=%s: allowed is a number of ranks from 1 to %lld", name, text, static_cast<long long>(max)));
  }
  return *value;
}

constexpr int64_t kMaxRanks = int64_t{1} << 30;

// ---- Exchange of addresses: "RANKS,address[,address]" under the key fgmpi-PROCESS ---------------------------
std::string key_of(uint32_t p) { return "fgmpi-" + std::to_string(p); }

struct Peer {
  uint32_t ranks = 0;
  std::vector<std::string> addresses;
};

Status parse_peer(uint32_t p, const std::string& value, Peer* peer) {
  size_t at = 0;
  for (bool first = true; at <= value.size(); first = false) {
    size_t comma = std::min(value.find(',', at), value.size());
    std::string part = value.substr(at, comma - at);
    at = comma + 1;
    if (!first) {
      peer->addresses.push_back(part);
      continue;
    }
    auto ranks = parse_int(part);
    if (!ranks || *ranks < 1 || *ranks > kMaxRanks)
      return error(MPI_ERR_OTHER, "process %u published '%s', which is not an address of this version", p, value.c_str());
    peer->ranks = static_cast<uint32_t>(*ranks);
  }
  return {};
}

Status open_transports(std::string* published) {
  Process& me = process();
  FGMPI_TRY(transport::make_all(&me.transports));
  *published = std::to_string(me.ranks);
  for (auto& t : me.transports) {
    std::string address;
    FGMPI_TRY(t->open(pt2pt::sink(), &address));
    *published += "," + address;
  }
  if (published->size() > me.boot->max_value())
    return error(MPI_ERR_OTHER, "the address of this process has %zu bytes; the launcher passes on %zu at most",
                 published->size(), me.boot->max_value());
  return {};
}

/// Picks for peer `p` the first transport that reaches one of its addresses.
Status add_peer(uint32_t p, const Peer& peer) {
  Process& me = process();
  for (size_t bit = 0; bit < me.transports.size(); ++bit) {
    for (const std::string& address : peer.addresses) {
      if (!me.transports[bit]->reaches(address)) continue;
      uint64_t local = 0;
      FGMPI_TRY(me.transports[bit]->add_peer(p, address, &local));
      g_av.set_address(p, local, bit == 1);
      return {};
    }
  }
  return error(MPI_ERR_OTHER, "no transport reaches process %u, ranks %u to %u (FGMPI_TRANSPORT may exclude it)", p,
               g_av.first(p), g_av.first(p) + g_av.count(p) - 1);
}

Status exchange(const std::string& published, std::vector<Peer>* peers) {
  bootstrap::Bootstrap& b = boot();
  FGMPI_TRY(b.put(key_of(b.rank()), published));
  FGMPI_TRY(b.fence());
  peers->resize(b.size());
  for (int p = 0; p < b.size(); ++p) {
    std::string value = published;
    if (p != b.rank()) FGMPI_TRY(b.get(key_of(p), &value));
    FGMPI_TRY(parse_peer(p, value, &(*peers)[p]));
  }
  return {};
}

Status connect_to_others(pt2pt::Setup* setup) {
  Process& me = process();
  std::string published;
  FGMPI_TRY(open_transports(&published));
  std::vector<Peer> peers;
  FGMPI_TRY(exchange(published, &peers));
  std::vector<uint32_t> starts{0};
  for (const Peer& peer : peers) {
    if (starts.back() + int64_t{peer.ranks} > kMaxRanks)
      return error(MPI_ERR_OTHER, "the job has more than %lld ranks", static_cast<long long>(kMaxRanks));
    starts.push_back(starts.back() + peer.ranks);
  }
  g_av.init(starts, me.boot->rank());
  for (uint32_t p = 0; p < peers.size(); ++p)
    if (p != g_av.me()) FGMPI_TRY(add_peer(p, peers[p]));
  FGMPI_TRY(me.boot->fence());
  for (size_t bit = 0; bit < me.transports.size(); ++bit) {
    me.transports[bit]->all_connected();
    setup->transports[bit] = me.transports[bit].get();
  }
  return {};
}

/// The last rank of the process to end waits, on its own stack, until all processes have come as far: whatever was
/// sent has then been taken in. A dissemination barrier of empty messages between processes.
void agree_to_end() {
  const char* kCall = "the end of the job";
  constexpr uint64_t kEndContext = ~uint64_t{0} << 8;  // LID and LBI that no communicator has
  uint32_t p = g_av.processes(), me = g_av.me();
  for (uint32_t distance = 1, round = 0; distance < p; distance *= 2, ++round) {
    pt2pt::Request* request = nullptr;
    Status sent = pt2pt::process_isend((me + distance) % p, kEndContext, round, nullptr, 0, kCall, &request);
    Status got = pt2pt::process_recv((me + p - distance) % p, kEndContext, round, nullptr, 0, kCall);
    if (!sent.ok() || !got.ok()) return;
    pt2pt::wait(request, kCall);
    pt2pt::free_request(request);
  }
}

void rank_main(void*) {
  uint32_t index = sched::current()->index;
  int status = privatize::run_rank(index);
  rank_exits(status);
  sched::finish(status);
}

}  // namespace

bootstrap::Bootstrap& boot() {
  Process& me = process();
  if (!me.boot) {
    Status opened = bootstrap::open(&me.boot);
    if (!opened.ok()) refuse(opened.what());
  }
  return *me.boot;
}

uint32_t ranks_of_this_process() {
  Process& me = process();
  if (me.ranks) return me.ranks;
  int64_t each = positive_env("FGMPI_NFG", kMaxRanks), total = positive_env("FGMPI_RANKS", kMaxRanks);
  if (total && !each) {
    int64_t p = boot().rank(), processes = boot().size();
    if (total < processes)
      refuse(format("FGMPI_RANKS=%lld: allowed is at least one rank for each of %lld processes",
                    static_cast<long long>(total), static_cast<long long>(processes)));
    each = total / processes + (p < total % processes ? 1 : 0);
  }
  me.ranks = each ? static_cast<uint32_t>(each) : 1;
  return me.ranks;
}

Status connect() {
  Process& me = process();
  if (me.connected) return {};
  pt2pt::Setup setup;
  setup.local_count = me.ranks;
  sched::Hooks hooks;
  hooks.poll = pt2pt::progress;
  hooks.all_parked = pt2pt::all_parked;
  if (boot().size() == 1) {
    g_av.init({0, me.ranks}, 0);
  } else {
    FGMPI_TRY(connect_to_others(&setup));
    me.idle = std::make_unique<transport::Idle>(me.transports);
    transport::Idle::set_current(me.idle.get());
    hooks.sleep = [](int64_t timeout_ns) { process().idle->sleep(timeout_ns); };
  }
  FGMPI_TRY(pt2pt::init(setup));
  sched::set_hooks(hooks);
  me.connected = true;
  return {};
}

void rank_exits(int status) {
  sched::Proclet* p = sched::current();
  if (p->mpi_phase == kEnded) return;
  if (p->mpi_phase == kInitialised) finalize_forgotten(status);
  p->mpi_phase = kEnded;
  Process& me = process();
  if (--me.unfinished == 0 && me.connected && g_av.processes() > 1) agree_to_end();
}

int process_main(privatize::Program& program) {
  Process& me = process();
  me.ranks = program.ranks;
  me.unfinished = static_cast<int>(program.ranks);
  Status created = sched::create_ranks(program.ranks, rank_main, nullptr);
  if (!created.ok()) refuse(created.what());
  int status = sched::run();
  if (me.connected) {
    pt2pt::finalize();
    for (auto& t : me.transports) t->close();
  }
  host::finalize();
  if (me.boot) {
    Status ended = me.boot->finalize();
    if (!ended.ok() && status == 0) {
      std::fprintf(stderr, "fgmpi: %s\n", ended.what().c_str());
      status = 1;
    }
  }
  return status;
}

}  // namespace fgmpi::mpi
