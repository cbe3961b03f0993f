// Witnesses with the fewest forced choices, and their pictures.
#include <algorithm>
#include <fstream>

#include "base/clock.h"
#include "base/strings.h"
#include "readers/exploration/session.h"

namespace fgmpi::explore {
namespace {

constexpr int64_t kShrinking = 2 * kSecond;  ///< time limit for each finding
constexpr size_t kMostShrunk = 20;

/// The forced choices without n of them from the at-th on. `moves`: the decided events do not
/// happen at all, so the points behind come earlier.
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

/// Runs the program with these choices forced, and elsewhere the first one, as -replay
/// does. Returns whether it shows the same; then trial_forced_ holds the forced choices
/// that were possible.
bool Explorer::shows(const Example& example, const std::map<uint32_t, Choice>& forced) {
  trial_ = {};
  trial_steps_.clear();
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

/// Removes forced choices as long as the execution shows the same: half of them at once, then
/// fewer, down to single ones.
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

void Explorer::record_choice(const std::vector<Choice>& choices, size_t taken) {
  const auto alternatives = std::count_if(choices.begin(), choices.end(), [&](const Choice& c) {
    return c.same_operation(choices[taken]);
  });
  trial_steps_.push_back({choices[taken], -1, true, taken != 0, static_cast<size_t>(alternatives)});
}

void Explorer::record_match(int32_t sender, const Choice& match) {
  const bool chosen = !trial_steps_.empty() && trial_steps_.back().decided &&
                      trial_steps_.back().sender < 0 && trial_steps_.back().choice == match;
  if (!chosen) trial_steps_.push_back({match});
  trial_steps_.back().sender = sender;
}

/// Runs the witness once more, and draws it into NAME-number.html.
void Explorer::draw(Example* example, size_t number) {
  if (!shows(*example, example->forced)) return;
  const std::string& words = program_.words[0];
  const std::string path = words.substr(words.rfind('/') + 1) + format("-%zu.html", number);
  std::ofstream out(path, std::ios::trunc);
  out << picture_of(program_.ranks, trial_steps_, example->text.substr(0, example->text.find('\n')),
                    example->text + example->shown.output_text);
  out.close();
  if (out) example->picture = path;
}

void Explorer::shrink_all() {
  size_t number = 0;
  for (Example* example : findings_.examples(kMostShrunk)) {
    if (g_interrupted || !failure_.empty()) return;
    shrink(example);
    draw(example, ++number);
  }
}

}  // namespace fgmpi::explore
