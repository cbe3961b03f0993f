// The search for ranks of -1 that look computed.

#include "readers/findings/null_ranks.h"

#include <algorithm>

#include "base/strings.h"

namespace fgmpi::findings {
namespace {

constexpr int64_t kNull = -1;

}  // namespace

void NullRanks::add(std::string_view line) {
  GivenValue given{};
  uint64_t place = 0;
  if (read_number(split_word(&line, ' '), &place, 16) &&
      read_number(split_word(&line, ' '), &given.rank, 10) &&
      read_number(split_word(&line, ' '), &given.value, 10) && read_number(line, &given.call, 16))
    places_[place].push_back(given);
}

std::vector<Finding> NullRanks::find(const NamedCalls& calls) const {
  std::vector<Finding> found;
  for (const auto& [place, given] : places_) {
    const auto is_null = [](const GivenValue& one) { return one.value == kNull; };
    const auto null = std::find_if(given.begin(), given.end(), is_null);
    if (null == given.end()) continue;
    const auto other = std::find_if_not(given.begin(), given.end(), is_null);
    if (other == given.end()) return {};
    const int64_t sum = other->value - other->rank;
    if (std::any_of(given.begin(), given.end(),
                    [&](const GivenValue& one) { return one.value - one.rank != sum; }))
      return {};  // the program uses MPI_PROC_NULL knowingly
    const auto call = calls.find(null->call), named = calls.find(other->call);
    if (call == calls.end()) continue;
    Finding f;
    f.kind = FindingKind::kArguments;
    f.note = true;
    f.sentence = "a rank of -1, which is MPI_PROC_NULL, looks computed";
    f.allowed = "harmless only if no data is to be moved there; MPI_PROC_NULL by its name says so";
    f.calls.push_back(call->second.front());
    if (named != calls.end()) {
      f.calls.push_back(named->second.front());
      f.calls.back().role = "gives its own rank " + format(sum < 0 ? "minus %lld" : "plus %lld",
                                                           static_cast<long long>(std::abs(sum)));
    }
    found.push_back(std::move(f));
  }
  return found;
}

}  // namespace fgmpi::findings
