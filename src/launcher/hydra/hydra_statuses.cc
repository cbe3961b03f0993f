// The true statuses in place of those that a proxy has forgotten.

#include "launcher/hydra/hydra_statuses.h"

#include <algorithm>
#include <cstring>

namespace fgmpi::launcher {
namespace {

/// What a proxy stores for a status that it has forgotten. A process that SIGHUP has ended has
/// this status, too.
constexpr int kForgotten = 1;

}  // namespace

std::vector<int> ProxyStatuses::mended(const void* bytes, size_t count) const {
  if (count == 0 || count != ended_ * sizeof(int)) return {};
  std::vector<int> statuses(ended_), missing = bad_;
  std::memcpy(statuses.data(), bytes, count);
  std::vector<size_t> forgotten, zeros;
  for (size_t i = 0; i < statuses.size(); ++i) {
    const auto known = std::find(missing.begin(), missing.end(), statuses[i]);
    if (known != missing.end())
      missing.erase(known);
    else if (statuses[i] == kForgotten)
      forgotten.push_back(i);
    else if (statuses[i] == 0)
      zeros.push_back(i);
    // A status that waitpid() has not returned: the bytes are another message.
    else
      return {};
  }
  if (forgotten.size() + zeros.size() < missing.size()) return {};
  for (const std::vector<size_t>* places : {&forgotten, &zeros})
    for (const size_t i : *places) {
      statuses[i] = missing.empty() ? 0 : missing.back();
      if (!missing.empty()) missing.pop_back();
    }
  return statuses;
}

}  // namespace fgmpi::launcher
