#include "tools/findings/null_ranks.h"

#include <algorithm>

#include "base/strings.h"

namespace fgmpi::findings {
namespace {

constexpr int64_t kNull = -1;

}  // namespace

void NullRanks::add(std::string_view line) {
  Given given{};
  uint64_t place = 0;
  if (read_number(take_word(&line, ' '), &place, 16) &&
      read_number(take_word(&line, ' '), &given.rank, 10) &&
      read_number(take_word(&line, ' '), &given.value, 10) && read_number(line, &given.call, 16))
    places_[place].push_back(given);
}

/// Have all given their rank plus the same number, some of them another rank than -1?
bool NullRanks::is_sum_everywhere(const std::vector<Given>& given) const {
  const auto other =
      std::find_if(given.begin(), given.end(), [](const Given& one) { return one.value != kNull; });
  return other != given.end() && std::all_of(given.begin(), given.end(), [&](const Given& one) {
           return one.value - one.rank == other->value - other->rank;
         });
}

std::vector<Finding> NullRanks::find() const {
  std::vector<Finding> found;
  for (const auto& [place, given] : places_) {
    const auto null = std::find_if(given.begin(), given.end(),
                                   [](const Given& one) { return one.value == kNull; });
    if (null == given.end()) continue;
    if (!is_sum_everywhere(given)) return {};  // the program knows MPI_PROC_NULL
    const auto call = calls_.find(null->call);
    if (call == calls_.end()) continue;
    Finding f;
    f.kind = Kind::kArguments;
    f.note = true;
    f.sentence = "a rank of -1, which is MPI_PROC_NULL, looks computed";
    f.allowed =
        "harmless only if nothing is to be sent or received there; MPI_PROC_NULL by its name says "
        "so";
    f.calls.push_back(call->second);
    const auto other = std::find_if(given.begin(), given.end(),
                                    [](const Given& one) { return one.value != kNull; });
    if (const auto named = calls_.find(other->call); named != calls_.end()) {
      f.calls.push_back(named->second);
      f.calls.back().role = "gives its rank in the communicator " +
                            format(other->value < other->rank ? "minus %lld" : "plus %lld",
                                   static_cast<long long>(std::abs(other->value - other->rank)));
    }
    found.push_back(std::move(f));
  }
  return found;
}

}  // namespace fgmpi::findings
