// The parser of cb_config_list, and the choice of aggregators by host.

#include "file/aggregators.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/strings.h"

namespace fgmpi::file {
namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

struct HostQuota {
  std::string host;  ///< "*": those that are not named before
  int64_t most = 1;
  bool matches(const std::string& name) const {
    // A short name stands for the full one.
    return host == "*" || host == name || host == name.substr(0, name.find('.'));
  }
};

bool parse(const std::string& list, std::vector<HostQuota>* out) {
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string word = list.substr(at, end - at);
    const size_t colon = word.find(':');
    HostQuota entry{word.substr(0, colon), 1};
    if (colon != std::string::npos) {
      const std::string number = word.substr(colon + 1);
      const auto parsed = parse_int(number);
      if (number != "*" && !(parsed && *parsed >= 0)) return false;
      entry.most = number == "*" ? kAll : *parsed;
    }
    if (entry.host.empty()) return false;
    out->push_back(std::move(entry));
    at = end + 1;
  }
  return true;
}

}  // namespace

bool is_config_list(const std::string& list) {
  std::vector<HostQuota> entries;
  return parse(list, &entries);
}

std::vector<uint32_t> choose_aggregators(const std::vector<FileProcess>& places,
                                         const std::string& list, int64_t most) {
  std::vector<HostQuota> entries;
  if (list.empty() || !parse(list, &entries)) entries = {{"*", most > 0 ? kAll : 1}};
  const std::vector<HostQuota> one_each{{"*", 1}};
  std::vector<std::pair<int64_t, uint32_t>> order;  // how many of the host come before, which
  for (const auto* use = &entries; order.empty(); use = &one_each) {
    std::unordered_map<uint64_t, int64_t> seen;
    for (uint32_t i = 0; i < places.size(); ++i) {
      auto entry = std::find_if(use->begin(), use->end(),
                                [&](const HostQuota& e) { return e.matches(places[i].name); });
      if (entry == use->end()) continue;
      const int64_t before = seen[places[i].host]++;
      if (before < entry->most) order.emplace_back(before, i);
    }
  }
  std::sort(order.begin(), order.end());
  if (most > 0 && order.size() > static_cast<size_t>(most)) order.resize(static_cast<size_t>(most));
  // Ascending processes get ascending windows, so neighbouring windows are at neighbouring
  // processes.
  std::vector<uint32_t> chosen;
  for (const auto& [before, i] : order) chosen.push_back(i);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace fgmpi::file
