// How a run ends that cannot be recorded, or repeated, any further. Thread rule: the scheduler's
// thread, also in a signal handler.
#pragma once

namespace fgmpi::rewind {

/// Statuses of processes that end themselves here.
inline constexpr int kStatusRefused = 1, kStatusDamaged = 1, kStatusDiffers = 87;

/// The run does something that cannot be recorded. Ends the process with one line, which names the
/// rank.
[[noreturn, gnu::format(printf, 1, 2)]] void refuse_run(const char* format, ...);

/// The repeated run differs from the recorded one. Ends the process with one line, which names the
/// event, the rank and its call.
[[noreturn, gnu::format(printf, 1, 2)]] void report_difference(const char* format, ...);

/// The recording has no more: the recorded process was killed here, or the file is damaged.
[[noreturn]] void end_with_recording();

}  // namespace fgmpi::rewind
