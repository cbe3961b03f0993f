// Names and counts in Slurm's short form.
#include "launcher/mpiexec/host_names.h"

#include <mpi.h>

#include <algorithm>

#include "base/strings.h"

namespace fgmpi::launcher {
namespace {

/// Appends the names of "a[1-3,07]b".
Status expand_one(const std::string& word, Words* names) {
  const size_t open = word.find('['), close = word.find(']', std::min(open, word.size()));
  if (open == word.npos) return names->push_back(word), Status();
  const auto refuse = [&] {
    return error(MPI_ERR_ARG, "hosts %s: allowed are names such as node[1-3,07]", word.c_str());
  };
  if (close == word.npos) return refuse();
  std::string_view ranges = std::string_view(word).substr(open + 1, close - open - 1);
  while (!ranges.empty()) {
    std::string_view range = split_word(&ranges, ',');
    const std::string first(split_word(&range, '-'));
    const auto begin = parse_int(first), end = range.empty() ? begin : parse_int(range);
    constexpr int64_t kMost = 1 << 20;
    if (!begin || !end || *begin < 0 || *end < *begin || *end - *begin > kMost) return refuse();
    for (int64_t i = *begin; i <= *end; ++i) {
      std::string number = std::to_string(i);
      if (number.size() < first.size()) number.insert(0, first.size() - number.size(), '0');
      FGMPI_TRY(expand_one(word.substr(0, open) + number + word.substr(close + 1), names));
    }
  }
  return {};
}

}  // namespace

Status expand_host_names(std::string_view text, Words* names) {
  std::string word;
  bool inside = false;
  for (const char c : std::string(text) + ",") {
    if (c == '[' || c == ']') inside = c == '[';
    if (c == ',' && !inside) {
      if (!word.empty()) FGMPI_TRY(expand_one(word, names));
      word.clear();
    } else {
      word += c;
    }
  }
  return word.empty() ? Status() : expand_one(word, names);  // without its bracket
}

std::optional<std::vector<int64_t>> parse_slurm_counts(std::string_view text) {
  std::vector<int64_t> counts;
  while (!text.empty()) {
    std::string_view word = split_word(&text, ',');
    const auto count = parse_int(split_word(&word, '('));
    int64_t times = 1;
    if (!word.empty()) {
      const bool closed = word.starts_with('x') && word.ends_with(')');
      const auto number = closed ? parse_int(word.substr(1, word.size() - 2)) : std::nullopt;
      if (!number) return std::nullopt;
      times = *number;
    }
    constexpr int64_t kMost = 1 << 20;
    if (!count || *count < 1 || times < 1 || times > kMost) return std::nullopt;
    counts.insert(counts.end(), static_cast<size_t>(times), *count);
  }
  return counts;
}

}  // namespace fgmpi::launcher
