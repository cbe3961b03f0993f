// Compares Hosts with a list of identities.
#include "ch4-av-rankmap/hosts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/hash.h"

namespace fgmpi {
namespace {

TEST(Hosts, AsAListOfIdentitiesSays) {
  RandomSequence random(3);
  for (int round = 0; round < 200; ++round) {
    const uint32_t n = 1 + static_cast<uint32_t>(random.next() % 40);
    const uint32_t kinds = 1 + static_cast<uint32_t>(random.next() % 6);
    const bool in_blocks = random.next() % 2;
    std::vector<std::string> names;
    Hosts hosts;
    for (uint32_t p = 0; p < n; ++p) {
      const uint64_t host = in_blocks ? p * kinds / n : random.next() % kinds;
      names.push_back("host" + std::to_string(host));
      hosts.add(names.back());
    }
    EXPECT_EQ(hosts.count(), std::set<std::string>(names.begin(), names.end()).size());
    for (uint32_t p = 0; p < n; ++p) {
      uint32_t same = 0;
      for (uint32_t q = 0; q < n; ++q) {
        EXPECT_EQ(hosts.host_of(p) == hosts.host_of(q), names[p] == names[q]);
        same += names[p] == names[q];
      }
      EXPECT_EQ(hosts.is_shared(p), same > 1);
    }
    std::vector<uint32_t> some;
    std::set<std::string> of_some;
    for (uint32_t p = 0; p < n; ++p) {
      if (random.next() % 2) continue;
      some.push_back(p);
      of_some.insert(names[p]);
    }
    if (some.empty()) continue;
    EXPECT_EQ(
        hosts.count_of([&](uint32_t i) { return some[i]; }, static_cast<uint32_t>(some.size())),
        of_some.size());
  }
}

TEST(Hosts, OfAJobOfOneProcessThereAreNone) {
  const Hosts hosts;
  EXPECT_EQ(hosts.count(), 0u);
  EXPECT_FALSE(hosts.is_shared(0));
}

}  // namespace
}  // namespace fgmpi
