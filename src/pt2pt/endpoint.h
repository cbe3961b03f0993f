// Endpoints: the matching queues of each proclet of this process, and of the process itself.
//
//   | of the process | of proclet 0 | of proclet 1 | ...       64 bytes each
//
// Address space is reserved for all ranks that the process may ever host, so that an endpoint never
// moves; only endpoints that are used cost memory. Thread rule: one thread.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "proclet-sched/sched.h"
#include "pt2pt/match.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::pt2pt {

/// A proclet parked in MPI_Probe, or a rank that calls MPI_Iprobe in vain (polls.h).
struct Prober {
  Prober* next;
  Envelope pattern;
  sched::Waiter* waiter;
  bool found;         ///< it is in no list any more
  Status error = {};  ///< why nothing can be found any more (lost.h)
};

class alignas(64) Endpoint {
 public:
  PostedQueue posted;
  UnexpectedQueue unexpected;
  Prober* probers = nullptr;
};
static_assert(sizeof(Endpoint) <= 64, "memory budget: an idle endpoint");

class Endpoints {
 public:
  /// The endpoint of proclet `local`, or of the process (kProcessEndpoint).
  Endpoint* at(uint32_t local) const { return &memory_[local + 1u]; }  // kProcessEndpoint + 1 is 0
  /// As at(), for a proclet only.
  Endpoint* of_proclet(uint32_t local) const { return memory_ + 1 + local; }
  /// The inverse of at(), for the endpoint of a proclet.
  uint32_t find_local(const Endpoint* endpoint) const {
    return static_cast<uint32_t>(endpoint - at(0));
  }
  bool has(uint32_t local) const { return local < ranks_ || local == kProcessEndpoint; }
  /// Calls f(endpoint, local) for the process's endpoint, then for each proclet's. Does nothing
  /// where no memory is reserved.
  template <class F>
  void for_each(F&& f) const {
    if (!memory_) return;
    f(at(kProcessEndpoint), kProcessEndpoint);
    for (uint32_t i = 0; i < ranks_; ++i) f(at(i), i);
  }

  /// Reserves address space for sched::most_ranks() endpoints, at least `ranks`, and makes the
  /// process's own and the first `ranks`.
  Status reserve(uint32_t ranks);
  /// Makes the endpoints of the proclets below `ranks`. REQUIRES: they are reserved.
  void add_until(uint32_t ranks);
  /// Ends all endpoints and gives their memory back.
  void release();
  /// Where the address of the first endpoint is stored, for debuggers (sites.h).
  constexpr Endpoint* const* memory_cell() const { return &memory_; }

 private:
  Endpoint* memory_ = nullptr;
  uint32_t room_ = 0;   ///< how many endpoints are reserved
  uint32_t ranks_ = 0;  ///< how many proclets have one
};

}  // namespace fgmpi::pt2pt
