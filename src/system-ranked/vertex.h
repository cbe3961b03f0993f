// One vertex in the construction of balanced trees, over the groups that a parent group is
// split into.
//
// A vertex is driven by messages alone: start() and receive() may send, and never wait. A vertex
// does not depend on what carries its messages, so one process can drive a million of them
// (test/unit/system-ranked/simulator.h), and the library drives one a process (construction.cc). A
// vertex has the addresses of its neighbours in the parent's tree, and later in the new one, and
// stores no array of the group.
//
//   algorithm                                     transient bytes  longest message
//   Centralized         centralized.cc            O(m)             O(m)
//   Shrink-and-Balance  shrink_and_balance.cc     O(k log n)       O(k log n)
//   Rank-and-Hash       rank_and_hash.cc          O(k)             O(k)
//
//   algorithm           messages
//   Centralized         (n - 1) + (m - 1), one more when the parent's root is no member
//   Shrink-and-Balance  about n + m + holes + moves / 4
//   Rank-and-Hash       n - 1 + d + 2m + (m - 1) + ceil((m - 1) / k)
//
// The parent's tree has n vertices, and the new one m of them; d vertices of the parent's tree,
// without its root, have a member at or below them. Groups of several colors are built at once: the
// upward pass merges what it carries, so it costs n - 1 messages in all. The sizes above are for
// each color that a vertex meets.
//
// Thread rule: one thread. Invariants: a vertex sends to its parent once; places() are complete
// when done(). Source: EuroMPI 2012, sections 3 to 5.
#pragma once

#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "system-ranked/message.h"
#include "system-ranked/tree.h"

namespace fgmpi::system_ranked {

enum class Algorithm : uint8_t { kCentralized, kShrinkAndBalance, kRankAndHash };
/// Shrink-and-Balance: what replaces a vertex that is no member. kLeaf: a leaf of its subtree,
/// whose name came up with the size. kChild: the child with the tallest subtree, which adopts its
/// siblings; nothing but sizes goes up.
enum class Filler : uint8_t { kLeaf, kChild };

/// The addresses of Rank-and-Hash's intermediaries: `count` of them, 0 and up, or the entries of
/// a list.
class Directory {
 public:
  using Addresses = Address (*)(const void* list, uint32_t index);
  explicit Directory(uint32_t count = 1, Addresses addresses = nullptr, const void* list = nullptr);
  /// The intermediary of a rank of the group of a color. Ranks of one group have different ones.
  /// REQUIRES: rank < count.
  Address intermediary(uint32_t color, uint32_t rank) const;

 private:
  uint32_t count_;
  uint32_t step_;  ///< relatively prime to count_
  Addresses addresses_;
  const void* list_;
};

struct SplitOptions {
  Algorithm algorithm = Algorithm::kRankAndHash;
  uint32_t k = 3;
  Filler filler = Filler::kLeaf;
  bool ranks = true;  ///< Shrink-and-Balance: a pass over the new tree assigns ranks
  const Directory* directory = nullptr;  ///< Rank-and-Hash; must outlive the vertex
  /// Rank-and-Hash: returns the world rank of the first proclet at an address; nullptr: an address
  /// is a world rank.
  uint32_t (*first_world)(Address) = nullptr;
  /// Rank-and-Hash: the number of vertices of the parent's tree, if it is balanced with this k. A
  /// group with members at all of them gets the same tree: ranges of ranks down it complete it, and
  /// no vertex searches for neighbours. 0: every group's tree is built.
  uint32_t kept_vertices = 0;
};

/// True if both build the same trees by the same messages. Fillers matter to
/// Shrink-and-Balance alone.
inline bool same_way(const SplitOptions& a, const SplitOptions& b) {
  return a.algorithm == b.algorithm && a.k == b.k &&
         (a.algorithm != Algorithm::kShrinkAndBalance || a.filler == b.filler);
}

class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Sends a message; `to` may be the sender. The message is not delivered before the sender's
  /// function has returned.
  virtual void send(Address to, std::vector<uint8_t> message) = 0;
};

class Vertex {
 public:
  /// `mine`: one enrolment for each color that has members here, ascending.
  static std::unique_ptr<Vertex> make(const SplitOptions& options, ParentPlace where,
                                      std::vector<Enrolment> mine);
  virtual ~Vertex() = default;
  Vertex(const Vertex&) = delete;
  Vertex& operator=(const Vertex&) = delete;

  void start(Carrier& carrier);
  /// Processes a message. REQUIRES: start() was called; the message is none of those to
  /// an intermediary.
  void receive(Address from, std::span<const uint8_t> message, Carrier& carrier);
  /// True when the vertex has all its places and no other vertex needs it any more.
  bool done() const { return passed_ && pending_ == 0; }
  /// One place for each enrolment, in the order of the enrolments.
  const std::vector<TreePosition>& places() const { return places_; }
  /// Transient bytes: what the vertex stores now.
  size_t bytes() const;
  /// Most suppliers that this vertex has had at a time (Shrink-and-Balance).
  virtual uint32_t suppliers() const { return 0; }

 protected:
  Vertex(const SplitOptions& options, ParentPlace where, std::vector<Enrolment> mine);

  /// Reads the whole record of one color in a child's message.
  virtual void take(uint32_t child, uint32_t color, MessageReader& in) = 0;
  /// Called when all children have reported: adds what must go up to `out`; `carrier` sends what
  /// goes elsewhere.
  virtual void pass_up(MessageWriter& out, Carrier& carrier) = 0;
  /// Called instead of pass_up() at the root, which begins the downward pass.
  virtual void turn(Carrier& carrier) = 0;
  virtual void handle(MessageKind kind, Address from, MessageReader& in, Carrier& carrier) = 0;
  virtual size_t state_bytes() const = 0;

  /// The place of a color, or nullptr.
  TreePosition* place(uint32_t color);
  /// The enrolment of a color, or nullptr.
  const Enrolment* enrolment(uint32_t color) const;
  /// Adds something beside its places for which the vertex must stay.
  void await_one() { ++pending_; }
  /// Called when a place, or what the vertex stayed for, is complete.
  void complete_one() { --pending_; }

  const SplitOptions options_;
  const ParentPlace where_;
  const std::vector<Enrolment> mine_;
  std::vector<TreePosition> places_;

 private:
  void all_arrived(Carrier& carrier);
  uint32_t arrived_ = 0;
  uint32_t pending_;  ///< places that are not complete, plus calls of await_one()
  bool passed_ = false;
};

std::unique_ptr<Vertex> make_centralized(const SplitOptions& options, ParentPlace where,
                                         std::vector<Enrolment> mine);
std::unique_ptr<Vertex> make_shrink_and_balance(const SplitOptions& options, ParentPlace where,
                                                std::vector<Enrolment> mine);
std::unique_ptr<Vertex> make_rank_and_hash(const SplitOptions& options, ParentPlace where,
                                           std::vector<Enrolment> mine);

/// The intermediary of Rank-and-Hash. It needs no state of the construction: the messages to it
/// contain all that it needs.
class Intermediary {
 public:
  static bool is_for(MessageKind kind) { return kind == kRegister || kind == kRegisterChild; }
  void receive(Address from, std::span<const uint8_t> message, Carrier& carrier);
  bool idle() const { return slots_.empty(); }
  size_t bytes() const;

 private:
  struct RegistrySlot {
    Address self = kNobody;
    uint32_t expected = 0, registered = 0;  ///< children: expected, and registered so far
    bool root_registered = false;           ///< vertex 0 registers as its own parent
    std::vector<Address> children;
  };
  /// By color and rank; only those whose answers wait for a registration.
  std::map<std::pair<uint32_t, uint32_t>, RegistrySlot> slots_;
};

/// Name of an algorithm, as in settings: "centralized", "shrink_and_balance", "rank_and_hash".
const char* algorithm_name(Algorithm algorithm);
bool parse_algorithm(const std::string& name, Algorithm* out);
extern const char* const kAlgorithmNames;  ///< all of them, for messages

}  // namespace fgmpi::system_ranked
