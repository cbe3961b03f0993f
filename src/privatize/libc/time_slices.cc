// The timer that lets other ranks run while one computes.

#include "privatize/libc/time_slices.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <utility>

#include "base/clock.h"
#include "base/settings.h"
#include "privatize/image/allocator.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/scheduler_signal.h"
#include "privatize/processor/machine_code.h"

namespace fgmpi::privatize {

namespace {

constexpr int64_t kMillisecond = 1'000'000;
/// A rank that computes on after it has been interrupted is interrupted again after this time (ns),
/// instead of FGMPI_TIME_SLICE: a rank that waits in a loop mostly waits for several events one
/// after the other.
constexpr int64_t kNextSlice = 5 * kMillisecond;

std::atomic<bool> g_begun{false};
timer_t g_timer;
// Only the scheduler's thread uses these two.
int64_t g_slice = 0;                            ///< the timer's period (ns)
const sched::Proclet* g_interrupted = nullptr;  ///< the rank that the last signal interrupted

/// The kernel's clock of the processor time of a thread. pthread_getcpuclockid() would need a
/// pthread_t, which the caller may lack.
clockid_t processor_time_of(int thread) {
  constexpr unsigned kOfThread = 4, kExact = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kOfThread | kExact);
}

struct SliceWalk {
  uintptr_t interrupted;
  uint32_t image;
  bool has_left_handler = false;  ///< the walk has left the handler's frames
  bool to_main = false;
};

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<SliceWalk*>(data);
  int before_instruction = 0;
  const uintptr_t pc = _Unwind_GetIPInfo(context, &before_instruction);
  walk->has_left_handler |= before_instruction && pc == walk->interrupted;
  if (!walk->has_left_handler) return _URC_NO_REASON;
  Images::ImageLocation where;
  if (g_images.locate(pc, &where) && where.image == walk->image) return _URC_NO_REASON;
  walk->to_main = _Unwind_GetRegionStart(context) == reinterpret_cast<uintptr_t>(&run_main);
  return _URC_END_OF_STACK;
}

/// True where all code on the rank's stack, from the interrupted instruction to main, is of the
/// rank's image.
bool only_own_code(const sched::Proclet* rank, const ucontext_t* context) {
  const auto pc = machine::program_counter(*context);
  const auto sp = machine::stack_pointer(*context);
  if (sp - reinterpret_cast<uintptr_t>(rank->stack_low) >= rank->stack_size) return false;
  SliceWalk walk{pc, static_cast<const Image*>(rank->image)->index};
  Images::ImageLocation where;
  if (!g_images.locate(pc, &where) || where.image != walk.image) return false;
  _Unwind_Backtrace(visit_frame, &walk);
  return walk.to_main;
}

void set_timer(int64_t slice) {
  if (g_slice == slice) return;
  g_slice = slice;
  const itimerspec time{to_timespec(slice), to_timespec(slice)};
  timer_settime(g_timer, 0, &time, nullptr);
}

int64_t first_slice() { return settings::number(settings::kTimeSlice) * kMillisecond; }

/// Called when the scheduler's thread has used up a slice. May switch: where a rank with threads
/// has computed since the last signal, other ranks run.
void on_timer(const ucontext_t* context) {
  const int error = errno;
  sched::Proclet* rank =
      sched::outside() && on_proclet() && sched::live_ranks() > 1 ? sched::running() : nullptr;
  if (!rank || rank->kind != sched::ProcletKind::kRank || !rank->image ||
      !sched::has_threads(rank)) {
    g_interrupted = nullptr;
    set_timer(first_slice());
  } else if (std::exchange(g_interrupted, rank) == rank && only_own_code(rank, context)) {
    set_timer(kNextSlice);
    sched::SwitchingCall inside;
    sched::yield();
  }
  errno = error;
}

}  // namespace

void begin_time_slices() {
  if (g_begun.load() || g_mode != ImageMode::kImages || !sched::threads_enabled() ||
      first_slice() == 0)
    return;
  // The C library sets its handler of the signal when the first thread is started.
  const sched::Proclet* rank = sched::rank_of_thread();
  if (!rank || !sched::has_threads(rank) || g_begun.exchange(true)) return;
  // All ranks use a program's own allocator in image 0. Its code counts as a rank's own, so that a
  // rank could be interrupted in the middle of it.
  if (!allocator_functions(g_images.program()).empty()) return;
  const int scheduler_thread = getpid();  // the one that runs main
  scheduler_signal::call(scheduler_signal::kTimer, on_timer);
  sigevent event = scheduler_signal::notify_by(scheduler_thread);
  if (timer_create(processor_time_of(scheduler_thread), &event, &g_timer) != 0) return;
  set_timer(first_slice());
}

void run_main(int (*main)(int, char**, char**), int argc, char** argv, char** envp) {
  exit(main(argc, argv, envp));
}

}  // namespace fgmpi::privatize
