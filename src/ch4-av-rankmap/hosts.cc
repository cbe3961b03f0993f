// The runs of processes that share a host: adding to them and looking them up.

#include "ch4-av-rankmap/hosts.h"

#include <algorithm>

#include "base/hash.h"

namespace fgmpi {

Hosts g_hosts;

void Hosts::add(const std::string& identity) {
  const uint64_t hash = hash_text(identity);
  auto known = std::find(hashes_.rbegin(), hashes_.rend(), hash);  // mostly the last one
  const uint32_t host =
      known == hashes_.rend() ? count() : static_cast<uint32_t>(hashes_.rend() - known) - 1;
  if (host == count()) hashes_.push_back(hash);
  if (runs_.empty() || runs_.back().host != host) runs_.push_back({processes_, host});
  ++processes_;
}

uint32_t Hosts::host_of(uint32_t process) const {
  auto after = std::upper_bound(runs_.begin(), runs_.end(), process,
                                [](uint32_t p, const HostRun& run) { return p < run.first; });
  return std::prev(after)->host;
}

bool Hosts::is_shared(uint32_t process) const {
  if (processes_ < 2) return false;
  const uint32_t host = host_of(process);
  uint32_t there = 0;
  for (size_t i = 0; i < runs_.size(); ++i) {
    const uint32_t end = i + 1 < runs_.size() ? runs_[i + 1].first : processes_;
    if (runs_[i].host == host) there += end - runs_[i].first;
  }
  return there > 1;
}

}  // namespace fgmpi
