// The end of a process whose ranks have all ended: it leaves together with the other processes of
// the job (src/liveness/liveness.h has the states).

#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/error_line.h"
#include "base/raw_call.h"
#include "base/strings.h"
#include "ch4-av-rankmap/av.h"
#include "ch4-av-rankmap/process_groups.h"
#include "comm/of_rank.h"
#include "dynamic/connect.h"
#include "dynamic/names.h"
#include "dynamic/proclets.h"
#include "liveness/liveness.h"
#include "liveness/lost_peer.h"
#include "mpi/binding.h"
#include "mpi/dynamic/dynamic.h"
#include "mpi/life/answering_thread.h"
#include "mpi/life/bound_functions.h"
#include "mpi/life/peer_failures.h"
#include "mpi/life/process.h"
#include "mpi/life/runtime.h"
#include "mpi/tools/balance.h"
#include "multicast/service.h"
#include "privatize/privatize.h"
#include "proclet-sched/sched.h"
#include "survivors/survivors.h"

namespace fgmpi::mpi {
namespace {

/// Waits until the last rank of every process has called this: all messages for which ranks wait
/// have then been received. A dissemination barrier of empty messages between processes. May
/// switch.
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

/// Waits until all processes of the job have passed agree_to_end(). A process may pass that while
/// others still wait for messages that this process has not sent on, so messages are moved
/// meanwhile. Afterwards no process needs anything of another one: connections may be closed, and
/// no process reports that as a loss.
///
/// This agreement goes through the launcher, because messages between processes cannot carry it:
/// the last message of all would have to arrive at a process that has not left yet, from one that
/// does not know so.
void leave_together() {
  // A fence of hydra's lasts 0.07 ms among 2 processes and 0.2 ms among 16 on an otherwise idle
  // host. During a longer one this process polls for messages every 5 ms, so that waiting costs
  // next to no processor time.
  constexpr int64_t kFirstWait = 50'000, kLongestWait = 5'000'000;
  liveness::start_leaving();
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

/// Leaves a job that goes on without processes that fail, because the launcher's fence would wait
/// for those. All remaining processes have agreed already; this process sends what it has not sent
/// yet.
void leave_without_fence() {
  constexpr int64_t kLongest = 5'000'000'000;
  const int64_t start = now_ns();
  while (!pt2pt::quiet() && now_ns() - start < kLongest) pt2pt::progress();
}

/// A rank that ends with an error status and without MPI_Finalize has failed, and its process with
/// it: the other ranks of the process could not go on without it any more than those of other
/// processes.
void fail_with_rank(int status) {
  privatize::finish_output();
  std::fflush(nullptr);
  raw_call(SYS_exit_group, status);
}

/// Waits until all ranks of the job have ended. May switch.
void wait_for_end_of_job() {
  if (!job_survives_failures()) return agree_to_end();
  survivors::agree_to_end();
  liveness::start_leaving();
}

/// For a process in which no rank has called MPI_Init. Its ranks belong to the job all the same,
/// and other processes may be waiting for its address in their MPI_Init.
void connect_at_the_end() {
  const Status connected = connect_from_rank();
  if (!connected.ok()) write_error_line(connected.what());
}

/// Reports a lost process of a connected job: a rank that communicates with it would wait for ever.
void on_other_job_failed(uint32_t peer, const std::string& why) {
  if (!liveness::ends_are_losses()) return;
  const uint32_t pgid = g_process_groups.group_of_process(peer);
  if (pgid == ProcessGroups::kNone) return;
  const uint32_t first = g_av.first(peer) - g_process_groups.first_rank(pgid);
  const std::string ranks = g_av.count(peer) == 1
                                ? format("rank %u", first)
                                : format("ranks %u to %u", first, first + g_av.count(peer) - 1);
  const std::string line =
      format("fgmpi: process %u of a connected job (%s of its MPI_COMM_WORLD) is gone: %s\n",
             peer - g_process_groups.first_process(pgid), ranks.c_str(), why.c_str());
  std::fputs(line.c_str(), stderr);
  boot().abort(1, line);
}

}  // namespace

void on_peer_failed(uint32_t peer, const std::string& why) {
  if (job_survives_failures()) return survive_failure(peer, why);
  if (peer >= g_av.processes()) return on_other_job_failed(peer, why);
  if (liveness::ends_are_losses()) liveness::abort_for_lost_peer(boot(), peer, why, card_of);
}

void rank_exits(int status) {
  sched::Proclet* p = sched::current();
  if (p->mpi_phase == kEnded) return;
  // The status counts also if the others never come to their ends, or if delete functions of
  // attributes wait for ever.
  p->exit_status = status;
  if (p->mpi_phase == kInitialised) {
    finalize_forgotten(status);
    if (status != 0 && job_survives_failures() && process().connected) fail_with_rank(status);
  }
  if (p->mpi_phase == kBefore) notify_parents_of_end(p->index);
  p->mpi_phase = kEnded;
  comm::forget_rank(p);
  if (p->index == 0) privatize::release_late_ranks_at_end();
  if (dynamic::is_spawned(p->index))
    dynamic::spawned_rank_ends(p->index);
  else
    record_bound_function_end(p->index);
  ProcessState& me = process();
  if (--me.unfinished > 0) return;
  if (!me.connected && !privatize::late_ranks_never_began() && boot().size() > 1)
    connect_at_the_end();
  if (me.connected && g_av.processes() > 1) {
    wait_for_end_of_job();
    stop_answering_thread();
  }
}

void thread_ends_process(sched::Proclet* rank, int status) {
  if (!sched::threads_enabled()) return;
  if (sched::outside() && !sched::EngineEntry::enter()) return;
  if (rank->mpi_phase == kEnded) {
    sched::EngineEntry::leave();
    for (;;) pause();
  }
  if (rank->mpi_phase != kFinalised) return sched::EngineEntry::leave();
  rank->exit_status = status;
  rank->mpi_phase = kEnded;
  ProcessState& me = process();
  if (me.connected && g_av.processes() > 1) {
    wait_for_end_of_job();
    stop_answering_thread();
  }
  // The caller stays inside the library, so that the main thread does not end the process as well.
  finish_process(status);
}

int finish_process(int status) {
  ProcessState& me = process();
  if (me.connected) {
    if (g_av.processes() > 1) job_survives_failures() ? leave_without_fence() : leave_together();
    tell_balance();
    dynamic::withdraw_names();
    dynamic::finish();
    report_leaked_comms();
    pt2pt::finalize();
    me.idle.reset();
    multicast::service().close();
    for (auto& t : me.transports) t->close();
  }
  if (me.boot) {
    Status ended = me.boot->finalize();
    if (!ended.ok() && status == 0) {
      write_error_line(ended.what());
      status = 1;
    } else if (ended.ok()) {
      liveness::end_in_order();
    }
  }
  return status;
}

}  // namespace fgmpi::mpi
