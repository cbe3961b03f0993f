// The notices by which processes of a job under -ft learn of failures.

#include "mpi/life/peer_failures.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <unordered_map>

#include "base/clock.h"
#include "base/environment.h"
#include "base/strings.h"
#include "ch4-av-rankmap/av.h"
#include "ch4-av-rankmap/hosts.h"
#include "liveness/launcher_signal.h"
#include "liveness/liveness.h"
#include "liveness/lost_peer.h"
#include "liveness/report_line.h"
#include "mpi/life/process.h"
#include "mpi/life/runtime.h"
#include "pt2pt/lost.h"
#include "survivors/survivors.h"

namespace fgmpi::mpi {
namespace {

std::atomic<bool> g_noticed{false};
std::unordered_map<uint32_t, liveness::Card> g_cards;

void on_notice() {
  g_noticed.store(true);
  if (process().idle) process().idle->interrupt();
}

/// The first remaining process of the job reports the loss, for all.
bool is_speaker() {
  for (uint32_t p = 0; p < g_av.me(); ++p)
    if (!pt2pt::is_lost(p)) return false;
  return true;
}

void print_loss(uint32_t peer, const std::string& why) {
  const auto card = g_cards.find(peer);
  const std::string who = card != g_cards.end() ? liveness::describe_process(peer, card->second)
                                                : format("process %u of a connected job", peer);
  const std::string line = liveness::begin_of_loss(who) + why + std::string(liveness::kGoesOn);
  std::fputs((line + "\n").c_str(), stderr);  // by one system call (base/error_line.h)
}

/// Calls f(process) for each process in the launcher's answer, for instance "0,3,4-7".
template <class F>
void for_each_listed(const std::string& list, F&& f) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string item = list.substr(at, end - at);
    const size_t dash = std::min(item.find('-', 1), item.size());
    const auto first = parse_int(item.substr(0, dash));
    const auto last = dash < item.size() ? parse_int(item.substr(dash + 1)) : first;
    if (first && last && *first >= 0)
      for (int64_t p = *first; p <= *last && p < g_av.processes(); ++p) f(static_cast<uint32_t>(p));
    at = end + 1;
  }
}

/// Asks the launcher which processes have ended that this one does not see itself. For the others
/// the kernel reports the end, after the messages that the process has sent.
void ask_launcher() {
  std::string ended;
  if (!boot().get("PMI_dead_processes", &ended).ok()) return;
  for_each_listed(ended, [](uint32_t p) {
    if (p != g_av.me() && !survivors::may_notice_loss(p, g_av.me()))
      survive_failure(p, "the launcher has seen its end");
  });
}

/// Nanoseconds; an end lasts some hundred microseconds on an idle host.
constexpr int64_t kLookAgainFor = 50'000'000;

}  // namespace

bool job_survives_failures() { return environment::text(environment::kFt) != nullptr; }

void remember_card(uint32_t process, const liveness::Card& card) { g_cards[process] = card; }

void heed_notices() {
  liveness::set_notice_handler(on_notice);
  survivors::set_reported_loss_handler(
      [](uint32_t process) { survive_failure(process, "another process has seen its end"); });
}

bool was_noticed() { return g_noticed.load(); }

bool handle_loss_notices() {
  if (!g_noticed.load(std::memory_order_relaxed)) return false;
  g_noticed.store(false);
  const size_t before = pt2pt::lost_processes().size();
  for (auto& transport : process().transports) transport->tick();
  if (g_hosts.count() > 1 || !survivors::may_notice_loss(g_av.me(), g_av.me())) ask_launcher();
  // The launcher sees the end of a process a little earlier than the kernel reports it: so the
  // search is repeated.
  static int64_t first = 0;
  const bool found = pt2pt::lost_processes().size() > before;
  if (first == 0) first = now_ns();
  if (!found && now_ns() - first < kLookAgainFor) {
    on_notice();
  } else {
    first = 0;
  }
  return true;
}

void survive_failure(uint32_t peer, const std::string& why) {
  if (!survivors::process_lost(peer, true)) return;
  if (!why.empty() && !survivors::end_is_agreed() && is_speaker()) print_loss(peer, why);
}

}  // namespace fgmpi::mpi
