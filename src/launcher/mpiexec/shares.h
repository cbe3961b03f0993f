// How processes share the ranks of a job, in the words of environment::kShares.
//
// Thread rule: any. Nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi::launcher {

/// So many processes that share so many ranks as evenly as possible: the first ones host one more.
struct ProcessShares {
  int64_t processes, ranks;
};

/// "2x3,1x5": two processes host three ranks each, the next one five. "": some number is not known.
inline std::string words_of_shares(const std::vector<ProcessShares>& all) {
  std::string words;
  const auto add = [&](int64_t processes, int64_t each) {
    if (processes == 0) return;
    if (!words.empty()) words += ',';
    words += std::to_string(processes) + 'x' + std::to_string(each);
  };
  for (const ProcessShares& these : all) {
    if (these.processes < 1) return "";
    const int64_t each = these.ranks / these.processes, larger = these.ranks % these.processes;
    add(larger, each + 1);
    add(these.processes - larger, each);
  }
  return words;
}

}  // namespace fgmpi::launcher
