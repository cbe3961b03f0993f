// The sampler: a thread of the process that looks again and again at what its ranks are doing, and adds the time since it
// last looked to what it sees. So a call costs no reading of a clock, and a rank that never calls MPI is seen as well.
//
// Times are right to about the square root of how many samples saw them. It looks every millisecond at first and every 50 ms
// in long runs, less often where there are more ranks, so that it takes at most 1 % of a processor.
// Thread rule: one thread, which never calls MPI but the functions that only read; it holds no lock.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/page.h"
#include "proclet-sched/debug_table.h"
#include "tools/report/recorder.h"

#pragma weak fgmpi_debug_table

namespace fgmpi::report {
namespace {

constexpr int64_t kFirstInterval = 1'000'000, kLastInterval = 50'000'000;
constexpr uint64_t kFirstColumn = 2'000'000;
constexpr int64_t kCostShare = 100;  ///< a pause lasts so many times longer than the look before it

/// What the scheduler does with a rank. Without the library's table: as if each were running.
sched::State state_of(int32_t local) {
  if (!&fgmpi_debug_table) return sched::State::kRunning;
  const sched::DebugTable& t = fgmpi_debug_table;
  const char* ranks = reinterpret_cast<const char*>(t.ranks);
  if (!ranks || static_cast<uint64_t>(local) >= t.rank_count) return sched::State::kFinished;
  const char* state = ranks + static_cast<uint64_t>(local) * t.proclet_bytes + t.state_offset;
  return static_cast<sched::State>(*reinterpret_cast<const volatile uint8_t*>(state));
}

uint64_t program_address(uint64_t address) {
  if (!MPIX_Program_address || !address) return address;
  return reinterpret_cast<uint64_t>(MPIX_Program_address(reinterpret_cast<void*>(address)));
}

class Sampler {
 public:
  explicit Sampler(Header* header)
      : h_(header),
        sites_(at<SiteRecord>(header->sites_at)),
        columns_(at<Column>(header->columns_at)),
        rows_(at<uint8_t>(header->rows_at)) {
    statm_ = move_descriptor_up(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
    h_->column_ns = kFirstColumn;
    last_ = now_ns();
  }

  /// Looks once; returns how long to wait for the next look.
  int64_t look() {
    const int64_t begin = now_ns();
    const auto passed = static_cast<uint64_t>(begin - last_);
    last_ = begin;
    if (passed == 0) return kFirstInterval;
    look_at_ranks(passed);
    look_at_process();
    fill_columns(passed);
    ++h_->samples;
    h_->last_ns = static_cast<uint64_t>(begin);
    const int64_t cost = now_ns() - begin;
    h_->sampling_ns += static_cast<uint64_t>(cost);
    const int64_t age = begin - static_cast<int64_t>(h_->init_ns);
    return std::max(std::clamp(age / 256, kFirstInterval, kLastInterval), kCostShare * cost);
  }

 private:
  template <class T>
  T* at(uint64_t offset) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(h_) + offset);
  }

  void look_at_ranks(uint64_t passed) {
    int32_t running = -1;
    uint32_t ready = 0;
    const int32_t rows = static_cast<int32_t>(h_->rows);
    int32_t row = 0;
    for (int32_t i = 0; i < h_->ranks; ++i) {
      const Doing doing = look_at_rank(i, passed, &running, &ready);
      if (row < rows && rank_of_row(row, rows, h_->ranks) == i) doing_[row++] = doing;
    }
    RankRecord* r = running >= 0 ? &g_process.ranks[running] : nullptr;
    (!r ? h_->idle_ns : r->now ? h_->mpi_ns : h_->program_ns) += passed;
    share_of_column(!r ? 2 : r->now ? 1 : 0, passed);
    look_for_stretch(r && !r->now ? running : -1, ready, passed);
  }

  Doing look_at_rank(int32_t local, uint64_t passed, int32_t* running, uint32_t* ready) {
    RankRecord* r = &g_process.ranks[local];
    if (!(r->flags & kStarted) || (r->flags & kEnded)) return Doing::kNothing;
    const sched::State state = state_of(local);
    if (state == sched::State::kFinished) return Doing::kNothing;
    if (state == sched::State::kRunning) *running = local;
    const uint32_t now = r->now;
    if (state == sched::State::kReady) {
      ++*ready;
      r->turn_ns += passed;
      return Doing::kTurn;
    }
    if (now == 0 || now > kCallCount) {
      r->program_ns += passed;
      return Doing::kProgram;
    }
    add_to_call(r, static_cast<uint16_t>(now - 1), passed);
    if (state == sched::State::kParked && kCalls[now - 1].receives) add_to_peer(r, passed);
    return kCalls[now - 1].doing;
  }

  void add_to_call(RankRecord* r, uint16_t call, uint64_t passed) {
    if (const uint32_t cell = g_hot.cells[call])
      r->calls_made[(cell - kCellsAt) / sizeof(CallCell)].ns += passed;
    const uint64_t site = program_address(r->site);
    add_to_site_of_rank(r, site, passed);
    add_to_site(site, call, passed);
    if (kCalls[call].doing == Doing::kCollective && r->family < kFamilies)
      g_hot.families[r->family].ns += passed;
  }

  /// The place's own cell, or that with the least time, whose time it takes over: the most expensive places stay.
  static void add_to_site_of_rank(RankRecord* r, uint64_t site, uint64_t passed) {
    SiteCell* least = r->sites;
    for (SiteCell& cell : r->sites) {
      if (cell.site == site) {
        cell.ns += passed;
        return;
      }
      if (cell.ns < least->ns) least = &cell;
    }
    least->site = site;
    least->ns += passed;
  }

  void add_to_site(uint64_t site, uint16_t call, uint64_t passed) {
    uint32_t place = static_cast<uint32_t>(site * 0x9e3779b97f4a7c15u >> 55);
    static_assert(kSites == 512);
    for (int tries = 0; tries < 16; ++tries, place = (place + 1) % kSites) {
      SiteRecord& s = sites_[place];
      if (s.site == 0) s = {site, 0, call, 0};
      if (s.site != site) continue;
      s.ns += passed;
      return;
    }
  }

  /// Adds the wait for a source. In tenths of milliseconds, rounded by chance.
  void add_to_peer(RankRecord* r, uint64_t passed) {
    const int32_t peer = r->peer;
    if (peer < kIsSource) return;
    const uint32_t wanted = static_cast<uint32_t>(peer - kIsSource) + 1;
    chance_ = chance_ * 6364136223846793005u + 1442695040888963407u;
    WaitCell* cell = r->waits;
    for (WaitCell& c : r->waits) {
      if (c.source_and_one == wanted) {
        cell = &c;
        break;
      }
      if (c.tenths < cell->tenths) cell = &c;
    }
    cell->source_and_one = wanted;
    cell->tenths += static_cast<uint32_t>((passed + (chance_ >> 33) % 100'000) / 100'000);
  }

  /// A rank that goes on and on without a call, while others of the process are ready.
  void look_for_stretch(int32_t running, uint32_t ready, uint64_t passed) {
    uint64_t calls = 0;
    for (int i = 0; running >= 0 && i < kCallCells; ++i)
      calls += g_process.ranks[running].calls_made[i].count;
    if (running < 0 || running != stretch_rank_ || calls != stretch_calls_ || ready == 0) {
      stretch_rank_ = running;
      stretch_calls_ = calls;
      stretch_ = 0;
      return;
    }
    stretch_ += passed;
    if (stretch_ > kStretch) h_->starved_ns += passed;
    if (stretch_ <= h_->stretch_ns) return;
    h_->stretch_ns = stretch_;
    h_->stretch_rank = h_->first_rank + running;
    h_->stretch_ready = ready;
    h_->stretch_site = program_address(g_process.ranks[running].site);
  }

  void look_at_process() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    h_->cpu_ns = static_cast<uint64_t>(to_ns(t));
    char text[64];
    const ssize_t n = statm_ >= 0 ? pread(statm_, text, sizeof text - 1, 0) : -1;
    if (n > 0) {
      text[n] = '\0';
      char* end = nullptr;
      std::strtoull(text, &end, 10);
      h_->rss = std::strtoull(end, nullptr, 10) * kPage;
    }
    // The kernel's own high mark: between two looks memory may have come and gone.
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    h_->rss_most = std::max(h_->rss, static_cast<uint64_t>(used.ru_maxrss) << 10);
    const MPI_Count most = MPIX_Tool_counter ? MPIX_Tool_counter("unexpected_bytes_peak") : 0;
    if (most > 0) h_->unexpected_most = static_cast<uint64_t>(most);
  }

  // ---- Columns: what the process and some of its ranks did, over time ----

  void share_of_column(int which, uint64_t passed) { shares_[which] += passed; }

  void fill_columns(uint64_t passed) {
    (void)passed;
    const uint64_t age = static_cast<uint64_t>(last_) - h_->init_ns;
    while (age / h_->column_ns >= kColumns) join_columns();
    const auto column = static_cast<uint32_t>(age / h_->column_ns);
    const uint64_t all = std::max<uint64_t>(shares_[0] + shares_[1] + shares_[2], 1);
    auto share = [&](int i) { return static_cast<uint8_t>(shares_[i] * 255 / all); };
    const Column now = {static_cast<uint32_t>(h_->rss >> 10), share(0), share(1), share(2), 0};
    // A look that came late stands for the columns since the last one.
    for (uint32_t c = std::min(h_->columns, column); c <= column; ++c) {
      columns_[c] = now;
      for (uint32_t row = 0; row < h_->rows; ++row)
        rows_[row * kColumns + c] = static_cast<uint8_t>(doing_[row]);
    }
    if (column >= h_->columns) std::memset(shares_, 0, sizeof shares_);
    h_->columns = std::max(h_->columns, column + 1);
  }

  void join_columns() {
    for (uint32_t c = 0; c < kColumns / 2; ++c) {
      Column& to = columns_[c];
      const Column a = columns_[2 * c], b = columns_[2 * c + 1];
      auto mean = [](uint8_t x, uint8_t y) { return static_cast<uint8_t>((x + y) / 2); };
      to = {std::max(a.rss_kib, b.rss_kib), mean(a.program, b.program), mean(a.mpi, b.mpi),
            mean(a.idle, b.idle), 0};
      for (uint32_t row = 0; row < h_->rows; ++row) {
        uint8_t* cells = rows_ + row * kColumns;
        cells[c] = cells[2 * c + (c & 1)];
      }
    }
    h_->column_ns *= 2;
    h_->columns /= 2;
  }

  Header* h_;
  SiteRecord* sites_;
  Column* columns_;
  uint8_t* rows_;
  int64_t last_ = 0;
  int statm_ = -1;
  uint64_t chance_ = 1;
  Doing doing_[kRowsInAll] = {};
  uint64_t shares_[3] = {};
  int32_t stretch_rank_ = -1;
  uint64_t stretch_calls_ = 0, stretch_ = 0;
};

Sampler* g_sampler = nullptr;
/// Held while somebody looks: the thread, or the end of the last rank.
std::atomic_flag g_looking = ATOMIC_FLAG_INIT;

void* sample(void*) {
  for (;;) {
    int64_t pause = kFirstInterval;
    if (!g_looking.test_and_set(std::memory_order_acquire)) {
      pause = g_sampler->look();
      g_looking.clear(std::memory_order_release);
    }
    const timespec t = to_timespec(pause);
    nanosleep(&t, nullptr);
  }
}

}  // namespace

void sample_now() {
  if (!g_sampler || g_looking.test_and_set(std::memory_order_acquire)) return;
  g_sampler->look();
  g_looking.clear(std::memory_order_release);
}

void start_sampler() {
  g_sampler = new Sampler(g_process.header);
  // The C library's own functions: those of ours make a thread the rank's that starts it, and let ranks sleep.
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  auto create = libc ? reinterpret_cast<Create>(dlsym(libc, "pthread_create")) : nullptr;
  if (!create) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, size_t{256} << 10);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  create(&thread, &attributes, sample, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace fgmpi::report
