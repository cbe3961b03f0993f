// Waiting without wasting cores: the poll and sleep hooks of the scheduler over all sources
// (waiting.h) in use.
//
// sleep() polls for a short while, then sleeps in the kernel: on shm's futex when shm is the only
// source, else in epoll on the descriptors of all. While it polls it yields the core now and
// then. When other processes turn out to want the core, the polling time falls to a microsecond;
// when waits end undisturbed during the polling, it grows again. So two busy processes among
// sixteen that sleep are as fast as two alone, and sixteen busy ones on two cores do not use up
// each other's time.
//
// Thread rule: one thread at a time. While one sleeps, others may poll the sources in turn
// (set_gate()). Any thread may end the sleep (interrupt()). FGMPI_SPIN=microseconds sets the
// longest polling time (default 200; 0: sleep at once).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/core_demand.h"
#include "transport/waiting.h"

namespace fgmpi::transport {

class Idle {
 public:
  /// REQUIRES: the sources are open and outlive this object.
  explicit Idle(std::vector<WaitSource*> sources);
  /// Waits for transports, or for others that are each a WaitSource.
  template <class Source>
  explicit Idle(const std::vector<std::unique_ptr<Source>>& sources) : Idle(plain(sources)) {}
  ~Idle();
  /// Adds a source that has a descriptor to sleep on and outlives this object. The next sleep
  /// includes it.
  void add(WaitSource* source);
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

  /// Polls every source once; true when one had anything.
  bool poll();
  /// Polls and sleeps until a source had something or `timeout_ns` has passed (-1: no limit).
  /// Frames that arrive are delivered to the sinks.
  void sleep(int64_t timeout_ns);

  /// Sets functions that are called before and after each system call that waits: other threads may
  /// use the sources meanwhile.
  void set_gate(void (*open)(), void (*close)()) { open_gate_ = open, close_gate_ = close; }
  /// Makes the sleep() under way, or else the next one, return soon. May be called by any thread.
  void interrupt();

  uint64_t kernel_sleeps() const { return kernel_sleeps_; }
  /// How long (ns) the next sleep() polls: short while other processes want the core.
  int64_t next_spin() const { return spin_; }

 private:
  template <class Source>
  static std::vector<WaitSource*> plain(const std::vector<std::unique_ptr<Source>>& sources) {
    std::vector<WaitSource*> out;
    for (const auto& source : sources) out.push_back(source.get());
    return out;
  }
  void sleep_on_descriptors();
  void sleep_on_descriptor_of(WaitSource* source);
  bool spin(int64_t start, int64_t limit);
  bool sleep_once(int64_t* now, int64_t deadline);
  bool arm_all();
  void disarm_all();
  void block(int64_t timeout_ns);
  void sleep_regardless(int64_t at_most_ns);
  /// True when interrupt() was called since the last call of this function.
  bool clear_interrupt();
  bool empty_wake_fd();
  /// Lets the sources check their peers, about once a second; true when one had anything.
  bool tick(int64_t now);

  std::vector<WaitSource*> sources_;
  OwnSleep* own_sleep_ = nullptr;  ///< of the only source, until there are descriptors
  void (*open_gate_)() = nullptr;
  void (*close_gate_)() = nullptr;
  std::atomic<bool> interrupted_{false};
  int wake_fd_ = -1;  ///< an eventfd among those of epoll_
  int epoll_ = -1;
  bool all_wake_ = true;      ///< every source can wake this process; else kPollInterval
  int64_t longest_spin_ = 0;  ///< ns
  int64_t spin_ = 0;          ///< ns, adapts; at most longest_spin_
  CoreDemand core_demand_;
  int64_t next_tick_ = 0;
  uint64_t kernel_sleeps_ = 0;
  /// Early wake-ups in a row that brought nothing, without those that signals explain.
  int spurious_ = 0;
};

}  // namespace fgmpi::transport
