// The sampler: a thread of the process that repeatedly looks at what its ranks are doing, and adds
// the time since its last look to each. So a call need not read a clock, and ranks that never call
// MPI are seen as well.
//
// The relative error of a time is about one over the square root of the number of samples that saw
// it. The sampler looks every millisecond at first and every 50 ms in long runs, so that it takes
// at most 1 % of a processor. Of more than kSliceRanks ranks it visits a part at each look, as
// large as this limit allows. When the first rank of the process calls MPI_Finalize it visits all,
// because ranks that have ended show nothing. Thread rule: one thread, which calls only those
// functions of MPI that only read; it holds no lock.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/heap_link.h"
#include "base/page.h"
#include "proclet-sched/coroutine/debug_table.h"
#include "profile/call_times.h"
#include "profile/extensions.h"
#include "profile/timeline.h"
#include "profile/waits.h"

#pragma weak fgmpi_debug_table
#pragma weak fgmpi_heap_hooks

namespace fgmpi::report {
namespace {

constexpr int64_t kFirstInterval = 1'000'000, kLastInterval = 50'000'000;
constexpr int64_t kProcessInterval = 4'000'000;  ///< between two looks at the process's memory
constexpr uint64_t kFirstColumn = 2'000'000;
constexpr uint32_t kStackLooks = 512;  ///< one in so many looks at a rank also reads its stack
constexpr int64_t kCostShare = 100;    ///< ratio of a pause to the look before it
/// The first looks touch all memory for the first time. Their duration (0.1 ms, or 2 ms beside
/// other programs) says little about later ones, which take 3 to 50 us. So up to this look the
/// pause is at most kMostAfterCold.
constexpr uint64_t kColdLooks = 4;
constexpr int64_t kMostAfterCold = 10'000'000;

/// The scheduler's state of a rank. Without the library's table every rank counts as running.
sched::ProcletState state_of(int32_t local) {
  if (!&fgmpi_debug_table) return sched::ProcletState::kRunning;
  const sched::DebugTable& t = fgmpi_debug_table;
  const char* ranks = reinterpret_cast<const char*>(t.ranks);
  if (!ranks || static_cast<uint64_t>(local) >= t.rank_count) return sched::ProcletState::kFinished;
  const char* state = ranks + static_cast<uint64_t>(local) * t.proclet_bytes + t.state_offset;
  return static_cast<sched::ProcletState>(*reinterpret_cast<const volatile uint8_t*>(state));
}

class Sampler {
 public:
  /// REQUIRES: `timeline` is a part of timeline_bytes(), or 0.
  Sampler(ProfileHeader* header, Part timeline)
      : h_(header),
        times_(header),
        timeline_(header, timeline, kFirstColumn),
        slices_(slices_of(header->ranks)) {
    statm_ = move_descriptor_up(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
    stat_ = move_descriptor_up(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
    pagemap_ = move_descriptor_up(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    last_ = now_ns();
    sample_process(last_);
    h_->rss_first = h_->rss;
    sample_memory(true);
    std::memcpy(memory_before_, rank_memory_, sizeof memory_before_);
    h_->looked = make_part(sizeof(uint64_t) * static_cast<size_t>(slices_));
    looked_ = in_part<uint64_t>(header, h_->looked);
    if (!looked_) looked_ = new uint64_t[static_cast<size_t>(slices_)];
    std::fill_n(looked_, slices_, static_cast<uint64_t>(last_));
    ready_of_slice_.resize(static_cast<size_t>(slices_));
    // Until it is known, all ranks count as waiting. Otherwise the first visit of a slice would
    // read the waits of all its ranks.
    parked_of_slice_.assign(static_cast<size_t>(slices_),
                            static_cast<uint32_t>(std::min(kSliceRanks, header->ranks)));
  }

  /// Looks once, and returns the time until the next look. `all`: visits every rank,
  /// however many there are.
  int64_t look(bool all = false) {
    stacks_left_ = kStacksRead;
    const int64_t begin = now_ns(), used = own_cpu_ns();
    const auto passed = static_cast<uint64_t>(begin - last_);
    last_ = begin;
    if (passed == 0) return kFirstInterval;
    sample_thread(passed);
    const int32_t slices = all ? slices_ : slices_at_once_;
    for (int32_t i = 0; i < slices; ++i) {
      slice_ = (slice_ + 1) % slices_;
      sample_slice(static_cast<uint64_t>(begin));
    }
    sample_visitors(passed);
    update_stretch();
    if (all || begin - process_seen_ > kProcessInterval) {
      sample_process(begin);
      sample_memory(all);
    }
    sample_rows();
    fill_columns();
    ++h_->samples;
    h_->slice_looks += static_cast<uint64_t>(slices);
    h_->last_ns = static_cast<uint64_t>(begin);
    const int64_t cost = own_cpu_ns() - used;
    h_->sampling_ns += static_cast<uint64_t>(cost);
    const int64_t age = begin - static_cast<int64_t>(h_->init_ns);
    const int64_t pause = std::clamp(age / 256, kFirstInterval, kLastInterval);
    const int64_t affordable = pause * slices / kCostShare / std::max<int64_t>(cost, 1);
    slices_at_once_ = static_cast<int32_t>(std::clamp<int64_t>(affordable, 1, slices_));
    const int64_t afforded = kCostShare * cost;
    return std::max(pause,
                    h_->samples <= kColdLooks ? std::min(afforded, kMostAfterCold) : afforded);
  }

 private:
  /// The stacks that a look reads, by a system call each of some microseconds.
  static constexpr int kStacksRead = 2;
  /// The waits that a look reads, by one or more system calls each.
  static constexpr uint32_t kWaitsRead = 16;

  static int64_t own_cpu_ns() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return to_ns(t);
  }

  // ---- The process's thread ----

  /// Adds the time to what the thread that runs the ranks is doing. A helper counts as
  /// its rank, in MPI.
  void sample_thread(uint64_t passed) {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    const uint64_t cpu = static_cast<uint64_t>(to_ns(t)), used = cpu - h_->cpu_ns;
    if (h_->samples > 0) cpu_passed_ = std::min(used, passed);
    h_->cpu_ns = cpu;
    bool idle = false;
    running_ = running_rank(&idle);
    RankRecord* r = running_ >= 0 ? record_of(running_) : nullptr;
    const bool in_program = r && !r->now && (r->flags & kStarted) && !(r->flags & kEnded);
    if (in_program) {
      h_->program_ns += passed;
      h_->program_cpu_ns += cpu_passed_;
      r->cpu_ns += cpu_passed_;
      r->program_ns += passed;
    } else {
      (idle ? h_->idle_ns : h_->mpi_ns) += passed;
    }
    shares_[in_program ? 0 : idle ? 2 : 1] += passed;
    passed_ = passed;
    if (!in_program) running_ = -1;
  }

  int32_t running_rank(bool* idle) const {
    if (!&fgmpi_debug_table) return -1;
    const sched::DebugTable& t = fgmpi_debug_table;
    const auto* p = *const_cast<sched::Proclet* const volatile*>(t.current);
    *idle = p == nullptr;
    const auto at = reinterpret_cast<uint64_t>(p) - reinterpret_cast<uint64_t>(t.ranks);
    const bool is_rank = p && at < t.rank_count * t.proclet_bytes && at % t.proclet_bytes == 0;
    const auto local = static_cast<int32_t>(at / t.proclet_bytes);
    return is_rank && (local < h_->ranks || g_moving) ? local : -1;
  }

  // ---- Ranks ----

  void sample_slice(uint64_t now) {
    const uint64_t passed = now - looked_[slice_];
    looked_[slice_] = now;
    uint32_t& ready = ready_of_slice_[static_cast<size_t>(slice_)];
    ready = 0;
    // Where more ranks wait than can be read, every n-th is read and stands for n.
    uint32_t& parked = parked_of_slice_[static_cast<size_t>(slice_)];
    every_ = std::max(1u, (parked + kWaitsRead - 1) / kWaitsRead);
    parked_ = times_.random(every_);
    const uint32_t first = parked_;
    const int32_t past = std::min((slice_ + 1) * kSliceRanks, h_->ranks);
    for (int32_t i = slice_ * kSliceRanks; i < past; ++i) {
      ready += sample_rank(i, passed);
      if (g_moving && record_of(i)) g_moving->copy(i);
    }
    parked = parked_ - first;
  }

  /// The ranks of other processes that are here.
  void sample_visitors(uint64_t passed) {
    if (!g_moving || !&fgmpi_debug_table) return;
    const auto past = static_cast<int32_t>(fgmpi_debug_table.rank_count);
    for (int32_t i = h_->ranks; i < past; ++i) sample_rank(i, passed);
  }

  /// The record of a rank or visitor. Where ranks move, one that has ended in its own way has none.
  static RankRecord* record_of(int32_t local) {
    if (g_moving && state_of(local) == sched::ProcletState::kFinished) return nullptr;
    return g_process.record_of(local);
  }

  Doing doing_of(int32_t local) const {
    const RankRecord* r = record_of(local);
    if (!r) return Doing::kNothing;
    if (g_moving && g_moving->is_away(local)) return g_moving->doing_of(local);
    if (!(r->flags & kStarted) || (r->flags & kEnded)) return Doing::kNothing;
    const sched::ProcletState state = state_of(local);
    if (state == sched::ProcletState::kFinished) return Doing::kNothing;
    if (state == sched::ProcletState::kReady) return Doing::kTurn;
    const uint32_t now = r->now;
    return now == 0 || now > kCallCount ? Doing::kProgram : kCalls[now - 1].doing;
  }

  /// Returns whether the rank is ready while another one runs.
  bool sample_rank(int32_t local, uint64_t passed) {
    RankRecord* r = record_of(local);
    if (!r || (g_moving && g_moving->is_away(local))) return false;
    if (!(r->flags & kStarted)) return state_of(local) == sched::ProcletState::kReady;
    const Doing doing = doing_of(local);
    if (g_moving) static_cast<LiveRecord*>(r)->doing = doing;
    if (doing == Doing::kNothing) return false;
    if (doing == Doing::kTurn) r->turn_ns += passed;
    // The running rank is seen at every look, not only when its slice is visited.
    if (doing == Doing::kProgram && local != running_) r->program_ns += passed;
    if (stacks_left_ > 0 && (r->stack_bytes == 0 || times_.random(kStackLooks) == 0)) {
      --stacks_left_;
      sample_stack(local, r);
    }
    if (doing == Doing::kTurn || doing == Doing::kProgram) return doing == Doing::kTurn;
    const uint32_t now = r->now;
    if (now == 0 || now > kCallCount) return false;
    times_.add_to_call(r, static_cast<uint16_t>(now - 1), passed);
    const bool named = kCalls[now - 1].receives || r->peer >= 0;
    if ((named || doing == Doing::kCompletion) && state_of(local) == sched::ProcletState::kParked &&
        ++parked_ % every_ == 0)
      sample_wait(local, r, passed * every_);
    return false;
  }

  void sample_wait(int32_t local, RankRecord* r, uint64_t passed) {
    Awaited awaited{.peer = r->peer, .others = 0};
    if (waits_.readable() && !g_moving)
      awaited = waits_.of(local, proclet_field(local, fgmpi_debug_table.wait_offset), *r);
    if (awaited.peer >= 0) times_.add_to_peer(r, awaited.peer, passed);
    if (awaited.others >= kManyOthers) r->behind_ns += passed;
  }

  static uint64_t proclet_field(int32_t local, uint64_t offset) {
    const sched::DebugTable& t = fgmpi_debug_table;
    const char* p = reinterpret_cast<const char*>(t.ranks) +
                    static_cast<uint64_t>(local) * t.proclet_bytes + offset;
    return *reinterpret_cast<const volatile uint64_t*>(p);
  }

  /// Stores how much of its stack the rank has written: the pages that are present.
  void sample_stack(int32_t local, RankRecord* r) {
    if (!&fgmpi_debug_table) return;
    const sched::DebugTable& t = fgmpi_debug_table;
    const uint64_t page = machine_page_bytes(), bottom = proclet_field(local, t.stack_low_offset);
    const uint64_t top = page_down(bottom + proclet_field(local, t.stack_size_offset), page);
    const uint64_t pages = std::min<uint64_t>((top - bottom) / page, sizeof stack_pages_);
    const uint64_t low = top - pages * page;
    if (bottom == 0 || mincore(reinterpret_cast<void*>(low), pages * page, stack_pages_) != 0)
      return;
    const auto there =
        std::count_if(stack_pages_, stack_pages_ + pages, [](auto p) { return p & 1; });
    r->stack_bytes = std::max<uint64_t>(r->stack_bytes, static_cast<uint64_t>(there) * page);
  }

  /// Finds a rank that runs on while others of the process are ready: without a call of MPI, and
  /// without a switch, which MPIX_Yield and functions outside of MPI also make.
  void update_stretch() {
    uint32_t ready = 0;
    for (uint32_t n : ready_of_slice_) ready += n;
    uint64_t calls = 0;
    const RankRecord* const r = running_ >= 0 ? record_of(running_) : nullptr;
    for (int i = 0; r && i < kCallCells; ++i) calls += r->calls_made[i].count;
    const MPI_Count switches = MPIX_Tool_counter ? MPIX_Tool_counter("switches") : 0;
    if (!r || running_ != stretch_rank_ || calls != stretch_calls_ ||
        switches != stretch_switches_ || ready == 0) {
      stretch_rank_ = running_;
      stretch_calls_ = calls;
      stretch_switches_ = switches;
      stretch_ = 0;
      return;
    }
    // Where the thread only waited for a processor, the rank is not to blame.
    const uint64_t ran = is_runnable() ? std::min(passed_, cpu_passed_) : passed_;
    stretch_ += ran;
    if (stretch_ > kStretch) h_->starved_ns += ran;
    if (stretch_ <= h_->stretch_ns) return;
    h_->stretch_ns = stretch_;
    h_->stretch_rank =
        g_moving ? static_cast<const LiveRecord*>(r)->world : h_->first_rank + running_;
    h_->stretch_ready = ready;
    h_->stretch_site = program_address(r->site);
  }

  /// Does the process's first thread, which runs the ranks of most programs, run or wait for a
  /// processor? Else it is blocked in the kernel.
  bool is_runnable() const {
    char text[128];
    const ssize_t n = stat_ >= 0 ? pread(stat_, text, sizeof text - 1, 0) : -1;
    if (n <= 0) return true;
    text[n] = '\0';
    const char* name_end = std::strrchr(text, ')');  // "PID (NAME) STATE ..."
    return !name_end || name_end[1] == '\0' || name_end[2] == 'R';
  }

  void sample_process(int64_t now) {
    process_seen_ = now;
    char text[64];
    const ssize_t n = statm_ >= 0 ? pread(statm_, text, sizeof text - 1, 0) : -1;
    if (n > 0) {
      text[n] = '\0';
      char* end = nullptr;
      std::strtoull(text, &end, 10);
      h_->rss = std::strtoull(end, nullptr, 10) * machine_page_bytes();
    }
    // The kernel's own maximum, because memory may have come and gone between two looks.
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    h_->rss_most = std::max(h_->rss, static_cast<uint64_t>(used.ru_maxrss) << 10);
    const MPI_Count most = MPIX_Tool_counter ? MPIX_Tool_counter("unexpected_bytes_peak") : 0;
    if (most > 0) h_->unexpected_most = static_cast<uint64_t>(most);
  }

  // ---- Memory of some ranks ----

  /// Records the memory of the next of these ranks, or of all: present pages of its stack, pages
  /// of its image that it has written, and what its heap has taken, where it has one.
  void sample_memory(bool all) {
    const int32_t rows = static_cast<int32_t>(h_->memory_rows);
    for (int32_t i = 0; i < (all ? rows : 1); ++i) {
      next_memory_ = (next_memory_ + 1) % rows;
      rank_memory_[next_memory_] = memory_of(rank_of_memory_row(next_memory_, rows, h_->ranks));
    }
  }

  /// The memory of a rank in KiB.
  uint32_t memory_of(int32_t local) {
    if (!&fgmpi_debug_table || pagemap_ < 0) return 0;
    const sched::DebugTable& t = fgmpi_debug_table;
    if (static_cast<uint64_t>(local) >= t.rank_count) return 0;
    const uint64_t stack = proclet_field(local, t.stack_low_offset);
    uint64_t pages = stack ? own_pages(stack, proclet_field(local, t.stack_size_offset)) : 0;
    const auto rank = static_cast<uint64_t>(local);
    if (rank >= h_->image_first && rank < h_->image_count)
      pages += own_pages(h_->image_region + (rank - h_->image_first) * h_->image_stride,
                         h_->image_bytes);
    uint64_t bytes = pages * machine_page_bytes();
    // Heaps of ranks that move have the ranks' numbers in the job.
    const int32_t heap = g_moving ? h_->first_rank + local : local;
    if (&fgmpi_heap_hooks) bytes += fgmpi_heap_hooks()->taken_of(static_cast<uint32_t>(heap));
    return static_cast<uint32_t>(bytes >> 10);
  }

  /// The bytes of pages that are present or swapped out and not shared with a file: in a private
  /// mapping, those that were written. Only the last kMostPages are read, because stacks are used
  /// from their end.
  uint64_t own_pages(uint64_t low, uint64_t bytes) {
    constexpr uint64_t kMostPages = 16384, kAtOnce = 512;
    constexpr uint64_t kPresent = uint64_t{3} << 62, kOfFile = uint64_t{1} << 61;
    const uint64_t page = machine_page_bytes();
    const uint64_t past = (low + bytes) / page, first = (low + page - 1) / page;
    uint64_t found = 0, entries[kAtOnce];
    for (uint64_t at = past - std::min(past - first, kMostPages); at < past;) {
      const ssize_t got = pread(pagemap_, entries, std::min(past - at, kAtOnce) * sizeof entries[0],
                                static_cast<off_t>(at * sizeof entries[0]));
      if (got <= 0) break;
      const uint64_t n = static_cast<uint64_t>(got) / sizeof entries[0];
      for (uint64_t i = 0; i < n; ++i) found += (entries[i] & kPresent) && !(entries[i] & kOfFile);
      at += n;
    }
    return found;
  }

  void sample_rows() {
    const int32_t rows = static_cast<int32_t>(h_->rows);
    for (int32_t row = 0; row < rows; ++row)
      doing_[row] = doing_of(rank_of_row(row, rows, h_->ranks));
  }

  // ---- Columns: what the process and some of its ranks did, over time ----

  void fill_columns() {
    if (!timeline_) return;
    const uint32_t column = timeline_.column_at(static_cast<uint64_t>(last_) - h_->init_ns);
    const uint64_t all = std::max<uint64_t>(shares_[0] + shares_[1] + shares_[2], 1);
    auto share = [&](int i) { return static_cast<uint8_t>(shares_[i] * 255 / all); };
    const TimeColumn now = {pack_kib(h_->rss >> 10), share(0), share(1)};
    // A late look stands for all columns since the last one.
    for (uint32_t c = std::min(h_->columns, column); c <= column; ++c) {
      timeline_.columns()[c] = now;
      for (uint32_t row = 0; row < h_->rows; ++row) timeline_.set_doing(row, c, doing_[row]);
      // Until now the memory was as the last look saw it.
      for (uint32_t row = 0; row < h_->memory_rows; ++row)
        timeline_.memory_of(row)[c] =
            pack_kib(c < column ? memory_before_[row] : rank_memory_[row]);
    }
    std::memcpy(memory_before_, rank_memory_, sizeof memory_before_);
    if (column >= h_->columns) std::memset(shares_, 0, sizeof shares_);
    h_->columns = std::max(h_->columns, column + 1);
  }

  ProfileHeader* h_;
  CallTimes times_;
  Timeline timeline_;
  int64_t last_ = 0, process_seen_ = 0;
  int statm_ = -1, stat_ = -1, pagemap_ = -1;
  uint32_t rank_memory_[kMemoryRowsInAll] = {}, memory_before_[kMemoryRowsInAll] = {};
  int32_t next_memory_ = 0;
  Doing doing_[kRowsInAll] = {};
  uint64_t shares_[3] = {};
  /// Slices of ranks; each look visits as many as its allowed cost permits. A visit of all 50,000
  /// ranks would take milliseconds.
  int32_t slices_, slice_ = 0, slices_at_once_ = 1;
  uint64_t* looked_;  ///< ProfileHeader::looked
  std::vector<uint32_t> ready_of_slice_, parked_of_slice_;
  uint32_t every_ = 1, parked_ = 0;
  int stacks_left_ = 0;
  Waits waits_;
  unsigned char stack_pages_[16384];
  uint64_t passed_ = 0, cpu_passed_ = 0;
  int32_t running_ = -1;  ///< the rank that runs the program's code
  int32_t stretch_rank_ = -1;
  uint64_t stretch_calls_ = 0, stretch_ = 0;
  MPI_Count stretch_switches_ = 0;
};

Sampler* g_sampler = nullptr;
/// Held during a look, by the thread or at the end of the last rank.
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
  g_sampler->look(true);
  g_looking.clear(std::memory_order_release);
}

// The memory of the record ends with the rank, so no look may be under way. A look takes far less
// than a millisecond, except where the thread of the sampler has lost its processor.
void end_moving_rank(int32_t local) {
  while (g_looking.test_and_set(std::memory_order_acquire)) {
    const timespec t = to_timespec(kFirstInterval / 10);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
  }
  g_moving->end_rank(local);
  g_looking.clear(std::memory_order_release);
}

void start_sampler() {
  ProfileHeader* h = g_process.header;
  g_sampler = new Sampler(h, make_part(timeline_bytes(h->rows, h->memory_rows)));
  // The C library's own functions are called, because ours would make the thread belong to the rank
  // that starts it, and let ranks run while it sleeps.
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
