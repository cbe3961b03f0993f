// The address vector: one 12-byte element a process (never a proclet), one vector a process.
//
//     0                                       62 63        8          12
//    | transport's address of the process (63)  | T        | first     |
//
//   T: the transport bit (which of the job's two transports reaches it); first: world rank of the
//   process's first proclet. World ranks are block-distributed: process p hosts [first(p),
//   first(p+1)).
//
// locate() is the last step of a send: communicator rank -> world rank (rankmap.h) -> (process,
// local proclet) -> element. When all processes host equally many proclets, locate() is one
// multiplication.
//
// Processes of connected jobs follow the job's own, a range for each job. Their ranks follow the
// world ranks in the same order. These numbers are the global ranks:
//
//    | own processes 0 .. P-1 | job 1 | (hole) | job 3 |
//
// A job that was spawned as proclets has a range as well, but no processes of its own. The elements
// of such a range hold the numbers at which its ranks begin. A table beside them holds the process
// (of the own or of another job) that hosts the ranks, and its first local index for them. locate()
// returns the hosting process.
//
// A range is released when its job is not connected any more; later ranges fill the hole. While any
// range exists, locate() calls locate_slowly(): so programs without connections pay nothing for
// connections.
//
// Ranks that move (let_ranks_move()) keep their home, which locate() names. Their user's messages
// go to destination(), which then names every rank of the own job by its world rank: the process is
// found anew at each send (src/pt2pt/moved_endpoints.h). Other jobs pay no instruction for that.
//
// Thread rule: one thread. Invariant: first() ascends; sizes may differ between processes. Source:
// IPDPS'17 section III (12-byte AV elements); design section 5.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/assert.h"
#include "ch4-av-rankmap/moved_ranks.h"

namespace fgmpi {

struct Location {
  uint32_t process;
  uint32_t local;  ///< index of the proclet in its process
};
/// Stands for a process that is not known here: that of a rank of a system-ranked communicator.
/// Location::local is then the rank in the communicator.
inline constexpr uint32_t kUnknownProcess = 0xfffffffeu;
/// Stands for the process of a destination that is found at each send, in a job whose ranks move.
/// Location::local is then the world rank.
inline constexpr uint32_t kByWorld = 0xfffffffdu;
/// Does a destination's process have yet to be found?
inline bool is_unresolved(uint32_t process) { return process >= kByWorld; }
/// The world rank that the map of a system-ranked communicator returns for a rank that it does not
/// know (-1).
inline constexpr uint32_t kUnknownWorld = 0xffffffffu;

#pragma pack(push, 4)
struct AvElement {
  uint64_t address_and_transport = 0;
  uint32_t first = 0;
};
#pragma pack(pop)
static_assert(sizeof(AvElement) == 12, "memory budget: 12 bytes a peer process");

class AddressVector {
 public:
  /// starts[p] = world rank of process p's first proclet; starts.back() = world size (P+1 values).
  void init(const std::vector<uint32_t>& starts, uint32_t me);

  uint32_t processes() const { return processes_; }
  uint32_t world_size() const { return world_size_; }
  uint32_t me() const { return me_; }
  /// Processes with the ranges of other jobs, and holes between them.
  uint32_t all_processes() const { return static_cast<uint32_t>(elements_.size()); }
  uint32_t all_ranks() const { return all_ranks_; }
  /// Global rank of the first proclet of process p, and the number of its proclets.
  uint32_t first(uint32_t p) const {
    return p == elements_.size() ? all_ranks_ : elements_[p].first;
  }
  uint32_t count(uint32_t p) const { return first(p + 1) - first(p); }
  uint32_t my_first() const { return my_first_; }
  uint32_t my_count() const { return my_count_; }

  void set_address(uint32_t p, uint64_t address63, bool transport_bit) {
    FGMPI_CHECK(address63 >> 63 == 0);
    elements_[p].address_and_transport = address63 << 1 | (transport_bit ? 1 : 0);
  }
  uint64_t address(uint32_t p) const { return address_in(elements_.data(), p); }
  static uint64_t address_in(const AvElement* elements, uint32_t p) {
    // An element is 3 times 4 bytes; the empty asm keeps the factors apart, so that the load scales
    // by 4 itself: one instruction less on the send path.
    uint64_t word, thrice = uint64_t{p} * 3;
    asm("" : "+r"(thrice));
    std::memcpy(&word, reinterpret_cast<const unsigned char*>(elements) + thrice * 4, sizeof word);
    return word >> 1;
  }
  /// The elements; their address changes with add_range().
  const AvElement* elements() const { return elements_.data(); }
  /// Appends a range of processes that host so many ranks each. Returns its first process, or
  /// kNoRange when there would be 2^31 ranks. REQUIRES: init() was called; counts is not empty and
  /// has no 0.
  uint32_t add_range(std::span<const uint32_t> counts);
  /// Where the ranks of one process of a hosted range live: in a process of another range, or of
  /// the own job.
  struct Host {
    uint32_t process;
    uint32_t local;  ///< index in that process of the first of these ranks
  };
  /// Sets the hosts of a range. REQUIRES: one host for each process of the range, ascending by
  /// process; add_range() has just returned the range.
  void set_hosts(uint32_t first_process, std::vector<Host> hosts);
  /// True where a range has hosts.
  bool hosts_others() const { return !hosted_.empty(); }
  /// The hosts of a range; empty: its ranks live in the range's own processes.
  std::span<const Host> hosts_of(uint32_t first_process) const;
  /// Releases the range of `processes` processes that begins at `first_process`.
  void remove_range(uint32_t first_process, uint32_t processes);
  static constexpr uint32_t kNoRange = 0xffffffffu;
  bool transport_bit(uint32_t p) const { return elements_[p].address_and_transport & 1; }

  /// True when world rank w lives in this process; then *local is its index.
  bool is_mine(uint32_t w, uint32_t* local) const {
    *local = w - my_first_;
    return *local < my_count_;
  }
  /// As is_mine(), also for ranks of other jobs: true for any rank that runs in this process.
  bool is_here(uint32_t w, uint32_t* local) const {
    return is_mine(w, local) || (__builtin_expect(!hosted_.empty(), 0) && is_hosted_here(w, local));
  }
  /// The local index of a rank. REQUIRES: the rank runs in this process.
  uint32_t local_of(uint32_t w) const {
    uint32_t local = 0;
    const bool here = is_here(w, &local);
    FGMPI_ASSERT(here);
    (void)here;
    return local;
  }
  /// The global rank of a local index; kNoRange where no rank has it.
  uint32_t global_of_local(uint32_t local) const { return global_of(me_, local); }
  /// The global rank of <process, local index>, for any process: the inverse of locate() and of
  /// destination(). Visitors are found in their host only.
  uint32_t global_of(uint32_t process, uint32_t local) const;
  /// An upper bound of all local indices in use.
  uint32_t locals() const { return locals_; }
  /// Calls f(first, past) for the global ranks that live in a process (of the own or another job),
  /// range by range.
  template <class F>
  void for_each_range_of(uint32_t process, F&& f) const {
    if (__builtin_expect(hosted_.empty(), 1)) return f(first(process), first(process + 1));
    if (!is_hosted_element(process)) f(first(process), first(process + 1));
    for (const HostedRange& range : hosted_)
      for (uint32_t k = 0; k < range.hosts.size(); ++k)
        if (range.hosts[k].process == process) {
          const uint32_t element = range.first_process + k;
          f(first(element), first(element + 1));
        }
  }
  /// The process that hosts a rank. REQUIRES: w < all_ranks(), and w lies in no hole.
  uint32_t process_of(uint32_t w) const {
    FGMPI_ASSERT(w < all_ranks_);
    if (__builtin_expect(uniform_ != 0, 1)) return divide(w + uint64_t{1});
    return locate_slowly(w).process;
  }
  Location locate(uint32_t w) const {
    if (__builtin_expect(uniform_ == 0, 0)) return locate_slowly(w);
    const uint32_t p = divide(w + uint64_t{1});
    return {p, w - elements_[p].first};
  }

  // ---- Ranks that move --------------------------------------------------------------------------
  /// From now on destination() returns <kByWorld, world rank> for all ranks of the own job.
  /// REQUIRES: init() was called, which undoes it.
  void let_ranks_move();
  bool ranks_move() const { return direct_count_ == 0; }
  /// How many of the process's first ranks are destinations without further ado: my_count(), or 0
  /// where ranks move.
  uint32_t direct_count() const { return direct_count_; }
  /// As is_mine(), for the destination of a user's message; false for all ranks where ranks move.
  bool is_direct(uint32_t w, uint32_t* local) const {
    *local = w - my_first_;
    return *local < direct_count_;
  }
  /// As locate(), for the destination of a user's message.
  Location destination(uint32_t w) const {
    if (__builtin_expect(direct_uniform_ == 0, 0)) return destination_slowly(w);
    const uint32_t p = divide(w + uint64_t{1});
    return {p, w - elements_[p].first};
  }
  /// The destination that names the same rank as a location of locate().
  Location as_destination(const Location& location) const;
  MovedRanks& moved() { return moved_; }
  /// The element to which a rank belongs. Differs from process_of() only for hosted ranks.
  uint32_t element_of(uint32_t w) const { return uniform_ ? divide(w + uint64_t{1}) : search(w); }

 private:
  uint32_t divide(uint64_t w_and_one) const {
    return static_cast<uint32_t>((static_cast<unsigned __int128>(w_and_one) * reciprocal_) >> 64);
  }
  uint32_t search(uint32_t w) const;
  Location locate_slowly(uint32_t w) const;
  Location destination_slowly(uint32_t w) const;
  void set_uniform(uint32_t count) {
    uniform_ = count;
    direct_uniform_ = ranks_move() ? 0 : count;
  }
  struct HostedRange {
    uint32_t first_process;
    std::vector<Host> hosts;
  };
  bool is_hosted_element(uint32_t process) const { return find_hosted(process) != nullptr; }
  const HostedRange* find_hosted(uint32_t element) const;
  bool is_hosted_here(uint32_t w, uint32_t* local) const;
  void count_locals();
  struct Hole {
    uint32_t process, processes;
  };
  void place(uint32_t process, std::span<const uint32_t> counts);
  void make_hole(const Hole& hole);
  std::vector<AvElement> elements_;
  std::vector<HostedRange> hosted_;  ///< ascending
  std::vector<Hole> holes_;          ///< ascending; no hole is beside another one or at the end
  /// floor((2^64 - 1) / C) when every process hosts C proclets; w / C is its product with w + 1,
  /// shifted right by 64.
  uint64_t reciprocal_ = 0;
  uint32_t uniform_ = 0;      ///< C, or 0 when sizes differ or there are ranges of other jobs
  uint32_t own_uniform_ = 0;  ///< C of the own processes, or 0 when sizes differ
  uint32_t all_ranks_ = 0;
  uint32_t processes_ = 0, world_size_ = 0, me_ = 0, my_first_ = 0, my_count_ = 0;
  uint32_t locals_ = 0;
  uint32_t direct_count_ = 0;    ///< my_count_, or 0 where ranks move
  uint32_t direct_uniform_ = 0;  ///< uniform_, or 0 where ranks move
  MovedRanks moved_;
};

/// The one address vector of this process.
[[gnu::visibility("hidden")]] extern AddressVector g_av;

}  // namespace fgmpi
