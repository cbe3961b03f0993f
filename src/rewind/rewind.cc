// The start of a recorded or repeated run, and its clocks.

#include "rewind/rewind.h"

#include <errno.h>
#include <mpi.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error_line.h"
#include "base/recorded_memory.h"
#include "base/repeatable.h"
#include "privatize/privatize.h"
#include "pt2pt/requests.h"
#include "rewind/control.h"
#include "rewind/descriptors.h"
#include "rewind/ends.h"
#include "rewind/events.h"
#include "rewind/format.h"
#include "rewind/hooks.h"
#include "rewind/inputs.h"
#include "rewind/kept_files.h"
#include "rewind/recording.h"
#include "rewind/signals.h"
#include "rewind/snapshots.h"
#include "rewind/special_calls.h"
#include "rewind/trap.h"

#pragma weak fgmpi_check_begin_rewound

namespace fgmpi::rewind {
namespace {

// ---- The counting clock of the library ----------------------------------------------------------

/// The clock moves so far each time that it is asked (ns). So long is about what the library does
/// between two questions.
constexpr int64_t kStep = 1000;
int64_t g_time = 0;

int64_t counted_now() { return g_time += kStep; }

int64_t stamp() {
  static int64_t last = 0;
  return last = std::clamp(last + 1, g_time, g_time + kStep - 1);
}

/// Waits may be limited by times of this clock, so it must not fall behind the system's for long.
void catch_up() {
  timespec now{};
  if (is_recorded()) direct_call(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  int64_t ahead = to_ns(now) - g_time;
  ahead = std::max<int64_t>(ahead, 0) / kStep;
  begin_input(kCatchUpTag);
  pass(&ahead);
  end_input();
  g_time += ahead * kStep;
}

void sleep(int64_t timeout_ns) {
  if (is_recorded()) {
    // Without a limit: until a signal.
    const timespec time = to_timespec(std::min(timeout_ns < 0 ? kSecond : timeout_ns, kSecond));
    if (timeout_ns != 0) direct_call(SYS_nanosleep, &time, 0);
  }
  pass_signals(nullptr);
  catch_up();
}

constexpr RepeatableTime kTime = {counted_now, stamp, catch_up, sleep};

// ---- Start --------------------------------------------------------------------------------------

/// Passes what differs between two processes of the same run.
void pass_process() {
  begin_input(kProcessTag);
  int64_t pid = direct_call(SYS_getpid);
  pass(&pid);
  g_recorded_pid = pid;
  timespec now{};
  direct_call(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  g_time = to_ns(now);
  pass(&g_time);
  end_input();
}

/// Reads what mpiexec wants, if it listens. Then the output of the program is not shown.
bool is_served(ControlOrder* order) {
  const long n = direct_call(SYS_recvfrom, kControlFd, order, sizeof *order, MSG_WAITALL, 0, 0);
  if (n != sizeof *order) return false;
  g_shows_output = order->shows_output != 0;
  g_is_checked = order->checks != 0;
  return true;
}

void pass_random(void* bytes, size_t size) {
  begin_input(kRandomTag);
  pass_bytes(bytes, size);
  end_input();
}

constexpr RewindHooks kHooks = {count_call,   add_detail, &g_lists,
                                pass_random,  set_places, fgmpi_rewind_direct_call,
                                &g_is_checked};

}  // namespace

long answer_clock(clockid_t clock, timespec* time) {
  constexpr clockid_t kKnown = 16;
  static int64_t last[kKnown + 1];
  int64_t& before = last[clock >= 0 && clock < kKnown ? clock : kKnown];
  timespec now{};
  int64_t result = is_recorded() ? direct_call(SYS_clock_gettime, clock, &now) : 0;
  int64_t passed = result == 0 ? to_ns(now) - before : 0;
  begin_input(kClockTag);
  pass(&result);
  pass(&passed);
  end_input();
  if (result != 0) return result;
  before += passed;
  if (time) *time = to_timespec(before);
  return 0;
}

Status begin() {
  const char* mode = environment::text(environment::kRewind);
  if (!mode) return {};
  const bool repeats = std::strcmp(mode, "rewind") == 0;
  const char* failed = open_recording(repeats ? RunMode::kRepeated : RunMode::kRecorded);
  if (!failed && !repeats && header().keeps_inputs) failed = begin_keeping();
  if (!failed) {
    look_at_standard_files();
    ControlOrder order{};
    if (repeats && is_served(&order)) begin_serving(order);
    pass_process();
    g_repeatable_time = &kTime;
    pt2pt::fast::begin_turn_of_handles();
    g_untrapped_call = fgmpi_rewind_direct_call;
    if (repeats) g_untrapped_errors = kStderrFd;
    failed = start_trap();
    // The number of the process is now the recorded one.
    if (!failed) privatize::restore_after_fork();
    if (!failed && g_is_checked && !&fgmpi_check_begin_rewound) failed = "the checker is not there";
    if (!failed && g_is_checked) fgmpi_check_begin_rewound(order.checks, kFindingsFd);
  }
  if (failed) return error(MPI_ERR_OTHER, "%s: %s", repeats ? "rewind" : "record", failed);
  return {};
}

}  // namespace fgmpi::rewind

const fgmpi::rewind::RewindHooks* fgmpi_rewind_hooks() {
  return fgmpi::rewind::g_mode == fgmpi::rewind::RunMode::kNone ? nullptr : &fgmpi::rewind::kHooks;
}
