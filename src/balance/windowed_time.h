// Loads of ranks and processes: processor time in windows of a length that all processes of a host
// share.
//
//   windows   ...|    last    |   now  :
//   load      all of `now`, and of `last` the part that the present window has still to come
//   average   of the windows before, each of which counts by 15/16 of the next one
//
// Estimates: two processes that change one at once may lose one of the changes.
//
// Thread rule: the scheduler's thread. Nothing here switches.
#pragma once

#include <atomic>
#include <cstdint>

namespace fgmpi::balance {

/// Length of a window, ns. It has to be long beside a move and its first effects (0.1 ms), and
/// short beside what a user would call lasting.
inline constexpr int64_t kWindow = int64_t{1} << 25;

/// Processor time of the present window, the one before, and of all before on average.
struct WindowedTime {
  std::atomic<uint32_t> window{0}, now{0}, last{0}, average{0};

  /// Adds to the present window.
  void add(int64_t at, int64_t ns);
  /// What is expected of one window, at this time.
  int64_t load(int64_t at) const;
  /// What is expected of a window in the long run.
  int64_t lasting(int64_t at) const;
  /// Moves all that `other` has from one sum to the other.
  static void move(int64_t at, const WindowedTime& other, WindowedTime* from, WindowedTime* to);

 private:
  /// The average when the window at this time has begun.
  int64_t average_at(uint32_t present) const;
  void begin_window(int64_t at);
};

/// A rank or process has run for so long: what it is expected to run for the next time. A longer
/// time counts at once. A shorter one counts by an eighth: some calls only cut a long run in two.
uint32_t next_burst(uint32_t burst, int64_t ns);

}  // namespace fgmpi::balance
