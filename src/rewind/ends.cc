// The lines with which a run ends that goes no further.

#include "rewind/ends.h"

#include <sys/syscall.h>

#include <cstdarg>
#include <cstdio>

#include "privatize/libc/output.h"
#include "proclet-sched/coroutine/identity.h"
#include "rewind/descriptors.h"
#include "rewind/events.h"
#include "rewind/format.h"
#include "rewind/recording.h"
#include "rewind/trap.h"

namespace fgmpi::rewind {
namespace {

/// A process ends that was killed, as the shell shows it.
constexpr int kStatusKilled = 137;

void write_line(const char* line, size_t length) { direct_call(SYS_write, 2, line, length); }

/// From here on what is written is not answered by the recording, but written.
void begin_last_words() {
  stop_trap();
  if (is_repeated()) {
    if (g_shows_output) direct_call(SYS_dup3, kStdoutFd, 1, 0);
    direct_call(SYS_dup3, kStderrFd, 2, 0);
  }
  privatize::write_output_in_crash();
}

[[noreturn]] void end(int status) {
  at_end_of_run();
  for (;;) direct_call(SYS_exit_group, status);
}

}  // namespace

void refuse_run(const char* format, ...) {
  begin_last_words();
  char what[512], who[sched::kMostIdentityWords], line[1024];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(what, sizeof what, format, values);
  va_end(values);
  sched::name_identity(sched::identify_caller(__builtin_frame_address(0)), who, sizeof who);
  const int length = std::snprintf(line, sizeof line,
                                   "fgmpi: record: the run of %s cannot be recorded further: %s\n",
                                   *who ? who : "the process", what);
  write_line(line, static_cast<size_t>(length));
  if (is_recorded()) header().ended = 1, header().status = kStatusRefused;
  end(kStatusRefused);
}

void report_difference(const char* format, ...) {
  begin_last_words();
  char what[512], where[512], line[1200];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(what, sizeof what, format, values);
  va_end(values);
  describe_last_event(where, sizeof where);
  const int length =
      std::snprintf(line, sizeof line,
                    "fgmpi: rewind: the run differs from the recorded one: %s (%s)\n", what, where);
  write_line(line, static_cast<size_t>(length));
  end(kStatusDiffers);
}

void end_with_recording() {
  begin_last_words();
  char where[512], line[640];
  describe_last_event(where, sizeof where);
  const bool refused = header().ended && header().status == kStatusRefused;
  const int length =
      std::snprintf(line, sizeof line, "fgmpi: rewind: the recording ends here: %s (%s)\n",
                    g_is_damaged ? "the file is damaged behind this"
                    : refused    ? "what the run did next cannot be recorded"
                                 : "the process was killed",
                    where);
  write_line(line, static_cast<size_t>(length));
  end(g_is_damaged ? kStatusDamaged : refused ? kStatusRefused : kStatusKilled);
}

}  // namespace fgmpi::rewind
