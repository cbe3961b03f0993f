// GroupTree: what a process keeps of a system-ranked communicator whose group lives in several
// processes: its neighbours in the tree and its own members. Nobody keeps the group.
//
//   rank -> world rank     own members: kept; others: asked for over the tree on first use, the
//                          last answers kept. A send to a rank that is not known waits in
//                          point-to-point (pt2pt/unknown_peer.cc), not its rank
//   the whole map          where a call needs it: the root of the tree gathers it, once, and sends
//                          it, encoded
//
//   find       requester | rank | bounds        routed vertex by vertex: up and down the tree
//   found      first rank | world rank | count  to the requester: consecutive world ranks around the rank
//   want       requester                        up the tree, to the root
//   tell       the root                         down the tree: everybody sends its members to the
//              root
//   members    first rank | runs of world ranks
//   map        part of the encoded map          from the root to the requester
//   dropped    the sender's subtree has freed the communicator            forget: everybody has
//
// A process answers for others until all processes have freed the communicator and nobody waits for
// an answer: so "dropped" goes up the tree once and "forget" down. Notices carry a serial number of
// the leader, as the context id may be in use again by then.
//
// Thread rule: one thread. find() and materialise() may switch; handlers never do.
#pragma once

#include <memory>
#include <vector>

#include "comm/system_ranked/vertex.h"

namespace fgmpi::comm {
struct SharedComm;
}

namespace fgmpi::comm::system_ranked {

class GroupTree : public std::enable_shared_from_this<GroupTree> {
 public:
  /// `members`: world ranks of this process's members, in the order of their ranks. Takes what came
  /// early. REQUIRES: place.vertices > 1.
  static std::shared_ptr<GroupTree> make(const Place& place, uint32_t k, RankMap members);
  /// The same tree and members under a new name, with the answers and the map that are known here.
  std::shared_ptr<GroupTree> duplicate(const GroupId& id) const;
  ~GroupTree();

  const Place& place() const { return place_; }
  uint32_t k() const { return k_; }
  /// A map for the communicator that asks as it must.
  RankMap lazy_map();

  /// World rank of a rank, or -1 when that is not known here yet. Never switches.
  int32_t known(int32_t rank) const;
  /// The same, asks when it must. May switch.
  int32_t find(int32_t rank);
  /// Asks for a rank that is not known; sends that wait for it are started when the answer comes.
  /// Never switches.
  void ask(int32_t rank);
  /// The rank of a member in this process, or -1.
  int32_t rank_of_mine(int32_t world) const;
  bool is_mine(int32_t world) const;
  /// The whole map: asks for it the first time. May switch.
  const RankMap& whole();
  bool has_whole() const { return whole_.size() > 0; }

  /// The last member here has freed the communicator. The GroupTree lives on until nobody needs it.
  void drop();
  size_t bytes() const;

  void receive(Address from, std::span<const uint8_t> message);

  /// Answers that a process keeps for a communicator: 768 bytes.
  static constexpr size_t kMostKnown = 64;

 private:
  friend class LazyMap;
  struct Finder;
  struct Search;
  /// Consecutive ranks with consecutive world ranks, all in one process.
  struct Known {
    int32_t rank, world, count;
  };
  GroupTree(const Place& place, uint32_t k, RankMap members);
  void enlist();
  void send(Address to, std::vector<uint8_t> message);
  void search(Search search);
  Address towards(uint32_t number) const;
  Known run_around(int32_t rank) const;
  void learn(const Known& run);
  void start_sends(int32_t low, int32_t high);
  void take_want(Address requester);
  void tell(Address root);
  void send_members(Address root);
  void take_members(Reader& in);
  void send_map(Address to);
  void take_map(std::span<const uint8_t> part);
  void wake_answered();
  void pass_drop();
  void forget();

  Place place_;
  uint32_t k_;
  RankMap members_, whole_;
  std::vector<Known> cache_;  ///< by rank; none until the first answer, kMostKnown at most
  uint32_t oldest_ = 0;       ///< which goes next when there are more
  Finder* finders_ = nullptr;
  std::vector<Address> requesters_;  ///< the root: who waits for the map
  std::vector<int32_t> gathered_;    ///< the root, while it gathers
  int32_t to_gather_ = 0;
  std::vector<uint8_t> received_;  ///< parts of the map
  bool wanted_ = false, dropped_ = false;
  uint32_t children_dropped_ = 0;
  uint32_t asked_ = 0;  ///< questions of this process that have not been answered
};

/// Makes shared->map the whole one. May switch. REQUIRES: shared->tree.
void materialise(SharedComm* shared);
/// Tells the groups of this process apart that it names in bids.
uint32_t next_serial();
/// All processes of the tree agree on the name of a new communicator: bids go up, that of the best
/// comes down, 2 (P - 1) messages. `number` tells it from other creations of the same parent. May
/// switch. Errors: nobody has a context id left.
Status agree_over_tree(const SharedComm& parent, uint32_t number, const Candidate& mine,
                       const char* call, GroupId* out);
/// Registers the notice handler, and tells point-to-point where to ask for addresses. Idempotent.
void init_group_trees();

}  // namespace fgmpi::comm::system_ranked
