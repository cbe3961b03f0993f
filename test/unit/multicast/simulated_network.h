// A simulated network for groups of the reliable multicast. A seed decides which datagrams are
// lost, doubled, late and out of order; members may be deaf for a while. The switch's ports may
// have a rate and a queue, which drops datagrams when it is full. Each member may be in several
// groups, each of which has all members; the groups share the member's window as those of a process
// do. Time is simulated: a minute of it takes milliseconds.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "multicast/group.h"

namespace fgmpi::multicast::testing {

constexpr int64_t kMs = 1'000'000;

struct Faults {
  double loss = 0, doubled = 0;
  int64_t least_delay = 50'000, most_delay = 60'000;  ///< ns
  int64_t port_rate = 0;   ///< bytes that a port sends in a millisecond; 0: any number
  int64_t port_queue = 0;  ///< the most bytes that wait in a port
};

class Network {
 public:
  Network(uint32_t members, const TransferOptions& options, const Faults& faults, uint64_t seed,
          uint32_t groups = 1)
      : faults_(faults),
        random_(seed),
        flows_(members),
        deaf_until_(members, 0),
        port_free_(members, 0),
        hears_all_(members, true),
        groups_(groups) {
    for (uint32_t m = 0; m < members; ++m) {
      wires_.push_back(std::make_unique<Link>(this, m));
      TransferOptions own = options;
      own.seed = seed * 1000 + m;
      own.flow = &flows_[m];
      for (uint32_t g = 0; g < groups; ++g)
        groups_[g].push_back(
            std::make_unique<TransferGroup>(kId + g, members, m, own, wires_.back().get()));
    }
  }
  static constexpr uint64_t kId = 77;

  TransferGroup& at(uint32_t m, uint32_t group = 0) { return *groups_[group][m]; }
  const Macroflow& flow(uint32_t m) const { return flows_[m]; }
  uint32_t members() const { return static_cast<uint32_t>(flows_.size()); }
  uint32_t groups() const { return static_cast<uint32_t>(groups_.size()); }
  int64_t now() const { return now_; }
  /// Until that time no datagram reaches this member, and the member does nothing.
  void set_deaf(uint32_t m, int64_t until) { deaf_until_[m] = until; }
  /// Sets whether datagrams to all reach this member.
  void set_hears_all(uint32_t m, bool hears) { hears_all_[m] = hears; }
  void set_faults(const Faults& faults) { faults_ = faults; }
  /// Calls f at that time.
  void at_time(int64_t time, std::function<void()> f) { events_.emplace(time, std::move(f)); }

  /// Runs until done() is true, or nothing more can happen before `limit`. Returns whether done()
  /// is true.
  bool run(int64_t limit, const std::function<bool()>& done) {
    while (!done()) {
      int64_t next = events_.empty() ? kNever : events_.begin()->first;
      for_all([&](uint32_t m, TransferGroup& group) {
        next = std::min(next, std::max(group.next_time(), deaf_until_[m]));
      });
      if (next > limit) return false;
      now_ = std::max(now_, next);
      while (!events_.empty() && events_.begin()->first <= now_) {
        auto f = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        f();
      }
      for_all([&](uint32_t m, TransferGroup& group) {
        if (deaf_until_[m] <= now_ && group.next_time() <= now_) group.on_time(now_);
      });
    }
    return true;
  }

  uint64_t sent = 0, lost = 0;
  uint64_t dropped = 0;  ///< those of `lost` that ports have dropped
  uint64_t later = 0;    ///< acknowledgements that no member waits for

 private:
  template <class F>
  void for_all(F&& f) {
    for (auto& groups : groups_)
      for (uint32_t m = 0; m < members(); ++m) f(m, *groups[m]);
  }
  /// The time at which the last byte of a datagram leaves the port; kNever where the port drops it.
  int64_t through_port(uint32_t to, size_t bytes) {
    if (faults_.port_rate == 0) return now_;
    int64_t& free = port_free_[to];
    const int64_t begins = std::max(free, now_);
    if ((begins - now_) * faults_.port_rate / 1'000'000 > faults_.port_queue) return kNever;
    free = begins + static_cast<int64_t>(bytes) * 1'000'000 / faults_.port_rate;
    return free;
  }
  struct Link final : DatagramWire {
    Link(Network* n, uint32_t m) : network(n), me(m) {}
    void to_all(const DatagramHeader& h, const void* payload, size_t length) override {
      for (uint32_t m = 0; m < network->members(); ++m)
        if (m != me && network->hears_all_[m]) network->carry(m, h, payload, length);
    }
    void to_member(uint32_t m, const DatagramHeader& h, const void* payload,
                   size_t length) override {
      network->carry(m, h, payload, length);
    }
    /// Sends a header after a while, unless a newer one of the same transfer replaces it.
    void to_member_later(uint32_t m, const DatagramHeader& h) override {
      ++network->later;
      const GroupKey key(h.root, h.serial);
      const bool waits = held.contains(key);
      held[key] = h;
      if (waits) return;
      const auto busy = static_cast<int64_t>(network->random_.next() % 500'000);
      leave_at(network->now_ + busy, m, key);
    }
    using GroupKey = std::pair<uint16_t, uint64_t>;
    void leave_at(int64_t time, uint32_t m, const GroupKey& key) {
      network->at_time(time, [this, m, key] {
        const int64_t deaf_until = network->deaf_until_[me];
        if (deaf_until > network->now_) return leave_at(deaf_until, m, key);
        network->carry(m, held[key], nullptr, 0);
        held.erase(key);
      });
    }
    std::map<GroupKey, DatagramHeader> held;
    Network* network;
    uint32_t me;
  };
  double chance() { return static_cast<double>(random_.next() >> 11) / 9007199254740992.0; }
  void carry(uint32_t to, const DatagramHeader& h, const void* payload, size_t length) {
    ++sent;
    const int copies = chance() < faults_.doubled ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (chance() < faults_.loss) {
        ++lost;
        continue;
      }
      // The bytes pass through the decoder, as those from a socket do.
      std::string bytes(reinterpret_cast<const char*>(&h), sizeof h);
      if (length) bytes.append(static_cast<const char*>(payload), length);
      const uint64_t spread = static_cast<uint64_t>(faults_.most_delay - faults_.least_delay) + 1;
      const int64_t delay = faults_.least_delay + static_cast<int64_t>(random_.next() % spread);
      const int64_t out = through_port(to, bytes.size());
      if (out == kNever) {
        ++lost, ++dropped;
        continue;
      }
      at_time(out + delay, [this, to, bytes] {
        DatagramHeader decoded;
        if (deaf_until_[to] > now_ || !decode(bytes.data(), bytes.size(), &decoded)) return;
        at(to, static_cast<uint32_t>(decoded.group - kId))
            .receive_datagram(decoded, bytes.data() + sizeof decoded, bytes.size() - sizeof decoded,
                              now_);
      });
    }
  }

  Faults faults_;
  RandomSequence random_;
  int64_t now_ = 1'000'000;
  std::multimap<int64_t, std::function<void()>> events_;
  std::vector<Macroflow> flows_;
  std::vector<int64_t> deaf_until_, port_free_;
  std::vector<bool> hears_all_;
  std::vector<std::unique_ptr<Link>> wires_;
  std::vector<std::vector<std::unique_ptr<TransferGroup>>> groups_;  ///< by member in each
};

inline std::string content(uint64_t seed, size_t bytes) {
  RandomSequence random(seed);
  std::string text(bytes, 0);
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

/// A broadcast of `bytes` from `root`. The data that each member receives is checked at the end.
struct Broadcast {
  Broadcast(Network* n, uint32_t r, const Match& m, size_t bytes, uint64_t seed, uint32_t g = 0)
      : network(n),
        root(r),
        group(g),
        match(m),
        data(content(seed, bytes)),
        got(n->members()),
        ends(n->members()) {
    for (auto& g : got) g.assign(bytes, 'x');
  }
  void enter(uint32_t m) {
    if (m == root) {
      network->at(m, group).send(match, data.data(), data.size(), &ends[m], network->now());
    } else {
      network->at(m, group).receive(root, match, got[m].data(), got[m].size(), &ends[m],
                                    network->now());
    }
  }
  bool done() const {
    for (const TransferCompletion& c : ends)
      if (c.outcome == TransferCompletion::TransferOutcome::kPending) return false;
    return true;
  }
  void check() const {
    for (uint32_t m = 0; m < got.size(); ++m) {
      ASSERT_EQ(ends[m].outcome, TransferCompletion::TransferOutcome::kDone) << "member " << m;
      ASSERT_TRUE(m == root || got[m] == data) << "member " << m << ", root " << root;
    }
  }
  Network* network;
  uint32_t root, group;
  Match match;
  std::string data;
  std::vector<std::string> got;
  std::vector<TransferCompletion> ends;
};

}  // namespace fgmpi::multicast::testing
