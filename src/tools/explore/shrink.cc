// Witnesses of the fewest forced choices.
#include <algorithm>

#include "base/clock.h"
#include "tools/explore/session.h"

namespace fgmpi::explore {
namespace {

constexpr int64_t kShrinking = 2 * kSecond;  ///< for each finding
constexpr size_t kMostShrunk = 20;

/// Without n choices from the at-th on. `moves`: what they decided does not happen at all, so that the points behind come
/// earlier.
std::map<uint32_t, Choice> without(const std::map<uint32_t, Choice>& forced, size_t at, size_t n,
                                   bool moves) {
  std::map<uint32_t, Choice> fewer;
  size_t i = 0;
  for (const auto& [point, choice] : forced) {
    if (i < at) fewer[point] = choice;
    if (i >= at + n) fewer[moves ? point - static_cast<uint32_t>(n) : point] = choice;
    ++i;
  }
  return fewer;
}

}  // namespace

/// Runs the program with these choices forced, the first one elsewhere, as -replay does. Does it show the same? Then
/// trial_forced_ are those that were possible.
bool Explorer::shows(const Example& example, const std::map<uint32_t, Choice>& forced) {
  trial_ = {};
  begin_alone(
      [forced](uint32_t point, const std::vector<Choice>& choices) {
        return index_of_forced(forced, point, choices);
      },
      true);
  while (!running_.empty() && failure_.empty() && !g_interrupted) {
    wait_for_words();
    stop_stuck();
  }
  return example.shown.finding ? trial_.finding == example.shown.finding
                               : trial_.output == example.shown.output;
}

/// Leaves out forced choices, half of them at once, then fewer, down to one, as long as the execution shows the same.
void Explorer::shrink(Example* example) {
  const int64_t until = now_ns() + kShrinking;
  for (size_t piece = example->forced.size(); piece >= 1; piece /= 2)
    for (size_t at = 0; at < example->forced.size() && now_ns() < until;) {
      const size_t before = example->forced.size(), n = std::min(piece, before - at);
      bool fewer = false;
      for (bool moves : {false, true})
        fewer = fewer || (shows(*example, without(example->forced, at, n, moves)) &&
                          trial_forced_.size() < before);
      if (fewer)
        example->forced = trial_forced_;
      else
        at += n;
    }
}

void Explorer::shrink_all() {
  for (Example* example : findings_.examples(kMostShrunk))
    if (!g_interrupted && failure_.empty()) shrink(example);
}

}  // namespace fgmpi::explore
