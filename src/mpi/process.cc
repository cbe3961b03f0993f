#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/attach.h"
#include "base/clock.h"
#include "base/end_hooks.h"
#include "base/settings.h"
#include "base/strings.h"
#include "ch4-av-rankmap/av.h"
#include "coll/failure.h"
#include "host/host.h"
#include "liveness/launcher_signal.h"
#include "liveness/lost_peer.h"
#include "mpi/binding.h"
#include "mpi/runtime.h"
#include "privatize/privatize.h"
#include "proclet-sched/sched.h"
#include "pt2pt/pt2pt.h"
#include "transport/host_id.h"
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
  bool leaving = false;  ///< it needs nothing of other processes any more
  int unfinished = 0;    ///< ranks whose main has not returned yet
};

Process& process() {
  static Process* p = new Process;
  return *p;
}

/// This process ends before its time, perhaps before it has met the others: those would wait for it for ever, and the
/// launcher takes a process that ends by itself for one that is no part of the job.
void end_the_others(int status) {
  Process& me = process();
  if (!me.boot && !bootstrap::open(&me.boot).ok()) return;
  if (me.boot->size() > 1) me.boot->abort(status, "");
}
[[maybe_unused]] const bool g_prepared_for_the_worst =
    (set_tell_others_of_end(end_the_others), liveness::ignore_notices_of_launcher(), true);

[[noreturn]] void refuse(const std::string& line) {
  std::fprintf(stderr, "fgmpi: %s\n", line.c_str());
  end_process(1);
}

constexpr int64_t kMaxRanks = int64_t{1} << 30;

// ---- Exchange of addresses ------------------------------------------------------------------------------
// Transport by transport, in order of preference, each process publishes "RANKS:CARD,ADDRESS" under "fgmpi1-T-PROCESS".
// After the first round, peers that share the host are reached by shared memory; where all do, the network is never
// opened. Reaching is an equivalence (same host or not), so all processes agree on whether a next round is needed.
struct Peer {
  uint32_t ranks = 0;
  bool reached = false;
};

std::string key_of(size_t transport, uint32_t p) {
  return "fgmpi1-" + std::to_string(transport) + "-" + std::to_string(p);
}

/// Splits "RANKS:CARD,ADDRESS".
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

/// What a process that is gone had published about itself.
Status card_of(uint32_t p, liveness::Card* card) {
  std::string value, address;
  uint32_t ranks;
  FGMPI_TRY(boot().get(key_of(0, p), &value));
  return parse_published(p, value, &ranks, card, &address);
}

/// One round: opens transport `t`, publishes, collects everybody's addresses for it.
Status publish_and_collect(size_t t, const liveness::Card& card, std::vector<Peer>* peers,
                           std::vector<std::string>* addresses, liveness::Neighbour* neighbour) {
  Process& me = process();
  bootstrap::Bootstrap& b = boot();
  std::string address;
  FGMPI_TRY(me.transports[t]->open(pt2pt::sink(), &address));
  std::string published = std::to_string(me.ranks) + ":" + card.to_string() + "," + address;
  if (published.size() > b.max_value())
    return error(MPI_ERR_OTHER,
                 "the address of this process has %zu bytes; the launcher passes on %zu at most",
                 published.size(), b.max_value());
  FGMPI_TRY(b.put(key_of(t, b.rank()), published));
  FGMPI_TRY(b.fence());
  addresses->resize(peers->size());
  for (uint32_t p = 0; p < peers->size(); ++p) {
    std::string value = published;
    if (p != static_cast<uint32_t>(b.rank())) FGMPI_TRY(b.get(key_of(t, p), &value));
    liveness::Card theirs;
    FGMPI_TRY(parse_published(p, value, &(*peers)[p].ranks, &theirs, &(*addresses)[p]));
    neighbour->consider(p, theirs);
  }
  return {};
}

Status init_address_vector(const std::vector<Peer>& peers) {
  std::vector<uint32_t> starts{0};
  for (const Peer& peer : peers) {
    if (starts.back() + int64_t{peer.ranks} > kMaxRanks)
      return error(MPI_ERR_OTHER, "the job has more than %lld ranks",
                   static_cast<long long>(kMaxRanks));
    starts.push_back(starts.back() + peer.ranks);
  }
  g_av.init(starts, boot().rank());
  return {};
}

Status connect_to_others(pt2pt::Setup* setup) {
  Process& me = process();
  me.transports = transport::make_all();
  std::vector<Peer> peers(boot().size());
  peers[boot().rank()].reached = true;
  size_t reached = 1, t = 0;
  const liveness::Card card = liveness::own_card(boot().launcher_fd(), transport::host_id());
  attach_permission().set_launcher(maker_of_socket(boot().launcher_fd()));
  liveness::Neighbour neighbour(card, static_cast<uint32_t>(boot().rank()),
                                static_cast<uint32_t>(peers.size()));
  for (; t < me.transports.size() && reached < peers.size(); ++t) {
    std::vector<std::string> addresses;
    FGMPI_TRY(publish_and_collect(t, card, &peers, &addresses, &neighbour));
    if (t == 0) FGMPI_TRY(init_address_vector(peers));
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
    if (!peers[p].reached)
      return error(
          MPI_ERR_OTHER,
          "no transport reaches process %u, ranks %u to %u (FGMPI_TRANSPORT may exclude it)", p,
          g_av.first(p), g_av.first(p) + g_av.count(p) - 1);
  }
  neighbour.allow_watch();
  FGMPI_TRY(boot().fence());
  neighbour.watch();
  for (auto& transport : me.transports) transport->all_connected();
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
    Status sent =
        pt2pt::process_isend((me + distance) % p, kEndContext, round, nullptr, 0, kCall, &request);
    Status got =
        pt2pt::process_recv((me + p - distance) % p, kEndContext, round, nullptr, 0, kCall);
    if (!sent.ok() || !got.ok()) return;
    pt2pt::wait(request, kCall);
    pt2pt::free_request(request);
  }
}

/// All ranks of this process have ended, and what was sent to it has been taken in. Waits until all processes of the
/// job have come as far, and moves messages meanwhile: others may still need some of this process, but nobody does
/// afterwards. So no process closes a connection, or ends, while another could take that for a loss.
///
/// The launcher carries this agreement: whoever carries it must be there after the last process has left.
void leave_together() {
  constexpr int64_t kFirstWait = 50'000, kLongestWait = 5'000'000;
  process().leaving = true;
  bool over = false;
  Status status = boot().enter_fence();
  for (int64_t wait = kFirstWait; status.ok() && !over; wait = std::min(2 * wait, kLongestWait)) {
    while (pt2pt::progress()) {
    }
    status = boot().fence_is_over(wait, &over);
  }
  if (!status.ok())
    std::fprintf(stderr, "fgmpi: at the end of the job: %s\n", status.what().c_str());
}

/// A transport has found that a peer's end of a connection is closed.
void on_peer_failed(uint32_t peer, const std::string& why) {
  // It may be one step ahead and have ended in order. If it was killed, the launcher does not say that all have come
  // as far, and ends the job instead.
  if (process().leaving) return;
  liveness::end_for_lost_peer(boot(), peer, why, card_of);
}

/// No rank of this process called MPI_Init. Those of other processes may be waiting in theirs for this one, whose ranks
/// are part of the job all the same.
void join_at_the_end() {
  Status connected;
  sched::call_on_host([&] { connected = connect(); });
  if (!connected.ok()) std::fprintf(stderr, "fgmpi: %s\n", connected.what().c_str());
}

void rank_main(void*) { privatize::run_rank(sched::current()->index); }

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
  int64_t each = settings::number(settings::kNfg);
  if (settings::is_set(settings::kRanks) && !settings::is_set(settings::kNfg)) {
    const int64_t total = settings::number(settings::kRanks);
    int64_t p = boot().rank(), processes = boot().size();
    if (total < processes)
      refuse(format("FGMPI_RANKS=%lld: allowed is at least one rank for each of %lld processes",
                    static_cast<long long>(total), static_cast<long long>(processes)));
    each = total / processes + (p < total % processes ? 1 : 0);
  }
  me.ranks = static_cast<uint32_t>(each);
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
    liveness::start_watch(boot().launcher_fd(), nullptr, "", true);
    // Without a timeout only when a deadlock is to be suffered (FGMPI_DEADLOCK=report or off): nothing can come.
    hooks.sleep = [](int64_t timeout_ns) {
      const timespec timeout = to_timespec(timeout_ns < 0 ? 0 : timeout_ns);
      ::ppoll(nullptr, 0, timeout_ns < 0 ? nullptr : &timeout, nullptr);
    };
  } else {
    pt2pt::set_peer_failed_handler(on_peer_failed);
    FGMPI_TRY(connect_to_others(&setup));
    me.idle = std::make_unique<transport::Idle>(me.transports);
    hooks.sleep = [](int64_t timeout_ns) {
      int64_t limit = pt2pt::sleep_limit(), look = coll::look_for_disagreement();
      if (limit < 0 || (look >= 0 && look < limit)) limit = look;
      process().idle->sleep(limit >= 0 && (timeout_ns < 0 || limit < timeout_ns) ? limit
                                                                                 : timeout_ns);
    };
  }
  FGMPI_TRY(pt2pt::init(setup));
  coll::init_failures();
  sched::set_hooks(hooks);
  install_naming();
  privatize::set_first_world_rank(g_av.my_first());
  me.connected = true;
  return {};
}

void rank_exits(int status) {
  sched::Proclet* p = sched::current();
  if (p->mpi_phase == kEnded) return;
  if (p->mpi_phase == kInitialised) finalize_forgotten(status);
  p->mpi_phase = kEnded;
  p->exit_status = status;  // counts also if the others never come to their ends
  Process& me = process();
  if (--me.unfinished > 0) return;
  if (!me.connected && boot().size() > 1) join_at_the_end();
  if (me.connected && g_av.processes() > 1) agree_to_end();
}

namespace {

pid_t g_adopted_by = -1;

/// All ranks have ended. Returns the process's exit status.
int end_process(int status) {
  Process& me = process();
  if (me.connected) {
    if (g_av.processes() > 1) leave_together();
    report_leaked_comms();
    pt2pt::finalize();
    me.idle.reset();
    for (auto& t : me.transports) t->close();
  }
  host::finalize();
  if (me.boot) {
    Status ended = me.boot->finalize();
    if (!ended.ok() && status == 0) {
      std::fprintf(stderr, "fgmpi: %s\n", ended.what().c_str());
      status = 1;
    } else if (ended.ok()) {
      leave_end_mark();
    }
  }
  return status;
}

void adopted_program_exits(int status, void*) {
  if (getpid() != g_adopted_by) return;  // a child that the program has forked
  rank_exits(status);
  sched::call_on_host([&] { end_process(status); });
}

}  // namespace

Status adopt_program() {
  Process& me = process();
  if (privatize::started_through_us())
    return error(MPI_ERR_OTHER, "called outside of a rank; allowed is the thread that runs main");
  if (ranks_of_this_process() != 1)
    return error(MPI_ERR_OTHER,
                 "called in a program that loaded this library with dlopen, with %u ranks a "
                 "process; allowed is 1 "
                 "(-nfg 1), or a program linked with mpicc, mpicxx or mpifort",
                 me.ranks);
  FGMPI_TRY(sched::adopt_caller());
  me.unfinished = 1;
  g_adopted_by = getpid();
  on_exit(adopted_program_exits, nullptr);
  return {};
}

int process_main(privatize::Program& program) {
  Process& me = process();
  me.ranks = program.ranks;
  me.unfinished = static_cast<int>(program.ranks);
  Status created = sched::create_ranks(program.ranks, rank_main, nullptr);
  if (!created.ok()) refuse(created.what());
  return end_process(sched::run());
}

}  // namespace fgmpi::mpi
