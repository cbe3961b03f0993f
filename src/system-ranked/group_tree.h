// GroupTree: what a process stores of a system-ranked communicator whose group lives in several
// processes: its neighbours in the tree and its own members. No process stores the group.
//
//   rank -> world rank   own members are stored. Other ranks are asked for over the tree on first
//                        use, and the last answers are cached. A send to an unknown rank waits in
//                        point-to-point (pt2pt/unknown_peer.cc); its caller does not
//   the whole map        where a call needs it: the root of the tree gathers it, once, and sends
//                        it, encoded
//
//   find       requester | rank | bounds          routed vertex by vertex, up and down the tree
//   found      first rank | world rank | count    to the requester: consecutive world ranks around
//                                                 the rank
//   want       requester                          up the tree, to the root
//   tell       the root                           down the tree: asks everybody to send its members
//                                                 to the root
//   members    first rank | runs of world ranks   to the root
//   map        fragment of the encoded map        from the root to the requester
//   dropped                                       up: the sender's subtree has freed it
//   forget                                        down: all processes have freed it
//
// A process answers others until all processes have freed the communicator and nobody waits for an
// answer: so "dropped" goes up the tree once, and "forget" goes down. Notices carry a serial number
// of the leader, as the context id may be in use again by then.
//
// Thread rule: one thread. find(), whole() and duplicate() may switch; handlers never do.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.h"
#include "comm/partial_group.h"
#include "system-ranked/vertex.h"

namespace fgmpi::system_ranked {

class GroupTree final : public comm::PartialGroup, public std::enable_shared_from_this<GroupTree> {
 public:
  /// `members`: world ranks of this process's members, in the order of their ranks. Processes the
  /// messages that arrived early. REQUIRES: place.vertices > 1.
  static std::shared_ptr<GroupTree> make(const TreePosition& place, uint32_t k, RankMap members);
  ~GroupTree() override;

  const TreePosition& place() const { return place_; }
  uint32_t k() const { return k_; }
  /// A map for the communicator that asks other processes when it must.
  RankMap lazy_map();

  /// World rank of a rank, or -1 when this process does not have it yet. Never switches.
  int32_t known(int32_t rank) const;
  /// As known(), but asks other processes when it must. May switch.
  int32_t find(int32_t rank);
  /// Asks for a rank that is not known. Sends that wait for it are started when the answer arrives.
  /// Never switches.
  void ask(int32_t rank);
  /// The rank of a member in this process, or -1.
  int32_t rank_of_local(int32_t world) const;
  bool is_local(int32_t world) const;
  const RankMap& whole() override;
  bool has_whole() const { return whole_.size() > 0; }

  /// Makes a duplicate with the same tree. No process needs the whole group, unless the group is to
  /// be stored with a strategy of its own.
  Status duplicate(comm::SharedComm* shared, uint32_t number, const comm::LeaderCandidate& mine,
                   const std::optional<groupmap::Strategy>& strategy, const char* call,
                   comm::SharedComm** made) override;
  /// The GroupTree lives on until no process needs it.
  void drop() override;
  size_t bytes() const override;

  void receive(Address from, std::span<const uint8_t> message);

  /// The most answers that a process caches for a communicator: 768 bytes.
  static constexpr size_t kMostKnownRuns = 64;

 private:
  friend class LazyMap;
  struct Finder;
  struct Search;
  /// Consecutive ranks with consecutive world ranks, all in one process.
  struct KnownRun {
    int32_t rank, world, count;
  };
  GroupTree(const TreePosition& place, uint32_t k, RankMap members);
  std::shared_ptr<GroupTree> copy_as(const GroupId& id) const;
  void enlist();
  void send(Address to, std::vector<uint8_t> message);
  void search(Search search);
  Address towards(uint32_t number) const;
  KnownRun run_around(int32_t rank) const;
  void learn(const KnownRun& run);
  void start_sends(int32_t low, int32_t high);
  void receive_want(Address requester);
  void ask_members(Address root);
  void send_members(Address root);
  void receive_members(MessageReader& in);
  void send_map(Address to);
  void receive_map(std::span<const uint8_t> part);
  void wake_answered();
  void pass_drop();
  void forget();

  TreePosition place_;
  uint32_t k_;
  uint32_t oldest_ = 0;  ///< index of the entry to replace next when the cache is full
  RankMap members_, whole_;
  std::vector<KnownRun> cache_;  ///< by rank; empty until the first answer, kMostKnownRuns at most
  Finder* finders_ = nullptr;
  std::vector<Address> requesters_;  ///< at the root: processes that wait for the map
  std::vector<int32_t> gathered_;    ///< at the root, while it gathers: world ranks by rank
  int32_t to_gather_ = 0;
  std::vector<uint8_t> received_;  ///< fragments of the map so far
  bool wanted_ = false, dropped_ = false;
  uint32_t children_dropped_ = 0;
  uint32_t asked_ = 0;  ///< questions of this process without an answer yet
};

/// The tree of a communicator, or nullptr.
inline GroupTree* tree_of(const comm::SharedComm& shared) {
  return static_cast<GroupTree*>(shared.tree.get());
}
/// A number that distinguishes the groups that this process names in bids.
uint32_t next_serial();
/// Registers the notice handler, and the function that point-to-point asks for
/// addresses. Idempotent.
void init_group_trees();

}  // namespace fgmpi::system_ranked
