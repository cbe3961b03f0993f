// A simulated network for groups of the reliable multicast: datagrams get lost, doubled, late and out of order, as a seed
// says; members may be deaf for a while. Time is simulated: what takes a minute takes milliseconds.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "transport/multicast/group.h"

namespace fgmpi::transport::multicast::testing {

struct Faults {
  double loss = 0, doubled = 0;
  int64_t least_delay = 50'000, most_delay = 60'000;  ///< ns
};

class Network {
 public:
  Network(uint32_t members, const Options& options, const Faults& faults, uint64_t seed)
      : faults_(faults), random_(seed), deaf_until_(members, 0), hears_all_(members, true) {
    for (uint32_t m = 0; m < members; ++m) {
      wires_.push_back(std::make_unique<Link>(this, m));
      Options own = options;
      own.seed = seed * 1000 + m;
      groups_.push_back(std::make_unique<Group>(kId, members, m, own, wires_.back().get()));
    }
  }
  static constexpr uint64_t kId = 77;

  Group& at(uint32_t m) { return *groups_[m]; }
  uint32_t members() const { return static_cast<uint32_t>(groups_.size()); }
  int64_t now() const { return now_; }
  /// Nothing reaches this member, and it does nothing, until then.
  void set_deaf(uint32_t m, int64_t until) { deaf_until_[m] = until; }
  /// Datagrams to all do not reach this member.
  void set_hears_all(uint32_t m, bool hears) { hears_all_[m] = hears; }
  void set_faults(const Faults& faults) { faults_ = faults; }
  /// Calls f at that time.
  void at_time(int64_t time, std::function<void()> f) { events_.emplace(time, std::move(f)); }

  /// Runs until nothing can happen before `limit` any more, or done() is true. True: it is.
  bool run(int64_t limit, const std::function<bool()>& done) {
    while (!done()) {
      int64_t next = events_.empty() ? kNever : events_.begin()->first;
      for (uint32_t m = 0; m < members(); ++m)
        next = std::min(next, std::max(at(m).next_time(), deaf_until_[m]));
      if (next > limit) return false;
      now_ = std::max(now_, next);
      while (!events_.empty() && events_.begin()->first <= now_) {
        auto f = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        f();
      }
      for (uint32_t m = 0; m < members(); ++m)
        if (deaf_until_[m] <= now_ && at(m).next_time() <= now_) at(m).on_time(now_);
    }
    return true;
  }

  uint64_t sent = 0, lost = 0;

 private:
  struct Link final : Wire {
    Link(Network* n, uint32_t m) : network(n), me(m) {}
    void to_all(const Header& h, const void* payload, size_t length) override {
      for (uint32_t m = 0; m < network->members(); ++m)
        if (m != me && network->hears_all_[m]) network->carry(m, h, payload, length);
    }
    void to_member(uint32_t m, const Header& h, const void* payload, size_t length) override {
      network->carry(m, h, payload, length);
    }
    Network* network;
    uint32_t me;
  };
  double chance() { return static_cast<double>(random_.next() >> 11) / 9007199254740992.0; }
  void carry(uint32_t to, const Header& h, const void* payload, size_t length) {
    ++sent;
    const int copies = chance() < faults_.doubled ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (chance() < faults_.loss) {
        ++lost;
        continue;
      }
      // Through the decoder, as from a socket.
      std::string bytes(reinterpret_cast<const char*>(&h), sizeof h);
      if (length) bytes.append(static_cast<const char*>(payload), length);
      const uint64_t spread = static_cast<uint64_t>(faults_.most_delay - faults_.least_delay) + 1;
      const int64_t delay = faults_.least_delay + static_cast<int64_t>(random_.next() % spread);
      at_time(now_ + delay, [this, to, bytes] {
        Header decoded;
        if (deaf_until_[to] > now_ || !decode(bytes.data(), bytes.size(), &decoded)) return;
        at(to).take(decoded, bytes.data() + sizeof decoded, bytes.size() - sizeof decoded, now_);
      });
    }
  }

  Faults faults_;
  RandomSequence random_;
  int64_t now_ = 1'000'000;
  std::multimap<int64_t, std::function<void()>> events_;
  std::vector<int64_t> deaf_until_;
  std::vector<bool> hears_all_;
  std::vector<std::unique_ptr<Link>> wires_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace fgmpi::transport::multicast::testing
