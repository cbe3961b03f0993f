// Cost of a switch between proclets, without MPI: yield among n proclets, and ping-pong by park and
// ready. Prints nanoseconds of processor time a switch, the best of five runs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "proclet-sched/sched.h"

using namespace fgmpi;

namespace {

double now_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);  // others may use the machine
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

uint64_t g_rounds;
const sched::WaitSite kSite{"benchmark", nullptr, true};

void yielder(void*) {
  for (uint64_t i = 0; i < g_rounds; ++i) sched::yield();
}

/// Two proclets wake each other; an even number of wakeups each.
void pingpong(void*) {
  sched::Proclet* other = sched::rank_proclet(1 - sched::current()->index);
  for (uint64_t i = 0; i < g_rounds; ++i) {
    if (other->state == sched::ProcletState::kParked) sched::ready(other);
    if (i + 1 < g_rounds) sched::park(&kSite);
  }
}

double best(uint32_t ranks, uint64_t rounds, void (*entry)(void*)) {
  double least = 1e30;
  for (int run = 0; run < 5; ++run) {
    g_rounds = rounds;
    Status created = sched::create_ranks(ranks, entry, nullptr);
    if (!created.ok()) {
      std::fprintf(stderr, "%s\n", created.what().c_str());
      return -1;
    }
    uint64_t before = sched::switch_count();
    double start = now_ns();
    sched::run();
    double elapsed = now_ns() - start;
    least = std::min(least, elapsed / static_cast<double>(sched::switch_count() - before));
  }
  return least;
}

}  // namespace

int main() {
  std::printf("%-28s %10s\n", "case", "ns/switch");
  std::printf("%-28s %10.1f\n", "yield, 2 proclets", best(2, 2000000, yielder));
  std::printf("%-28s %10.1f\n", "yield, 100 proclets", best(100, 40000, yielder));
  std::printf("%-28s %10.1f\n", "yield, 10000 proclets", best(10000, 100, yielder));
  std::printf("%-28s %10.1f\n", "park and ready, 2 proclets", best(2, 2000000, pingpong));
  return 0;
}
