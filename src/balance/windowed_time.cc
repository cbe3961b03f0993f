// Loads in windows of time.
#include "balance/windowed_time.h"

#include <algorithm>

namespace fgmpi::balance {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// A window counts by 1/16 in the average, and after so many more no longer.
constexpr int64_t kAverage = 16;
constexpr int32_t kForgotten = 128;

uint32_t window_of(int64_t at) { return static_cast<uint32_t>(at / kWindow); }
/// Another process may have begun a window before this one has read its clock.
int32_t windows_between(uint32_t known, uint32_t present) {
  return std::clamp(static_cast<int32_t>(present - known), 0, kForgotten);
}

}  // namespace

int64_t WindowedTime::average_at(uint32_t present) const {
  const int32_t passed = windows_between(window.load(kRelaxed), present);
  int64_t sum = average.load(kRelaxed);
  for (int32_t i = 0; i < passed; ++i)
    sum += ((i == 0 ? int64_t{now.load(kRelaxed)} : 0) - sum) / kAverage;
  return sum;
}

int64_t WindowedTime::lasting(int64_t at) const { return average_at(window_of(at)); }

void WindowedTime::begin_window(int64_t at) {
  const uint32_t present = window_of(at), known = window.load(kRelaxed);
  if (windows_between(known, present) == 0) return;
  average.store(static_cast<uint32_t>(average_at(present)), kRelaxed);
  last.store(known + 1 == present ? now.load(kRelaxed) : 0, kRelaxed);
  now.store(0, kRelaxed);
  window.store(present, kRelaxed);
}

void WindowedTime::add(int64_t at, int64_t ns) {
  begin_window(at);
  now.store(now.load(kRelaxed) + static_cast<uint32_t>(std::min(ns, kWindow)), kRelaxed);
}

int64_t WindowedTime::load(int64_t at) const {
  const int32_t passed = windows_between(window.load(kRelaxed), window_of(at));
  int64_t in_now = now.load(kRelaxed), in_last = last.load(kRelaxed);
  if (passed > 0) {
    in_last = passed == 1 ? in_now : 0;
    in_now = 0;
  }
  return in_now + in_last * (kWindow - at % kWindow) / kWindow;
}

void WindowedTime::move(int64_t at, const WindowedTime& other, WindowedTime* from,
                        WindowedTime* to) {
  const uint32_t present = window_of(at), sum = other.now.load(kRelaxed);
  const int32_t passed = windows_between(other.window.load(kRelaxed), present);
  const uint32_t in_now = passed == 0 ? sum : 0;
  const uint32_t in_last = passed == 0 ? other.last.load(kRelaxed) : passed == 1 ? sum : 0;
  const auto in_average = static_cast<uint32_t>(other.average_at(present));
  from->begin_window(at);
  to->begin_window(at);
  const auto move_part = [](std::atomic<uint32_t>* out, std::atomic<uint32_t>* in, uint32_t part) {
    out->store(out->load(kRelaxed) - std::min(out->load(kRelaxed), part), kRelaxed);
    in->store(in->load(kRelaxed) + part, kRelaxed);
  };
  move_part(&from->now, &to->now, in_now);
  move_part(&from->last, &to->last, in_last);
  move_part(&from->average, &to->average, in_average);
}

uint32_t next_burst(uint32_t burst, int64_t ns) {
  const int64_t most = UINT32_MAX, now = std::min(ns, most);
  return static_cast<uint32_t>(now >= burst ? now : burst - (burst - now) / 8);
}

}  // namespace fgmpi::balance
