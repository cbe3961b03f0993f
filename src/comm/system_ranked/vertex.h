// One vertex's part in the construction of balanced trees over the groups that a parent group is
// split into.
//
// A vertex is driven by messages alone: start() and receive() may send, and never wait. It knows
// nothing of what carries them, so one process can drive a million of them (simulator.h), and the
// runtime drives one a process (construction.cc). It knows its neighbours in the parent's tree, and
// then those in the new one, and keeps no array of the group.
//
//   algorithm            file                    transient bytes  longest message  messages
//   Centralized          centralized.cc          O(m)             O(m)             (n - 1) + (m -
//                                                                                  1), one more
//                                                                                  when the
//                                                                                  parent's root is
//                                                                                  no member
//   Shrink-and-Balance   shrink_and_balance.cc   O(k log n)       O(k log n)       about n + m +
//                        holes + moves / 4
//   Rank-and-Hash        rank_and_hash.cc        O(k)             O(k)             n - 1 + d + 2m +
//                                                                                  (m - 1) +
//                                                                                  ceil((m - 1) /
//                                                                                  k)
//
// n vertices in the parent's tree, m of them in the new one, d of the former other than the root
// with a member at or below them. Groups of several colors are built at once: the upward pass
// merges what it carries, so it stays n - 1 messages; sizes above are for each color that a vertex
// sees.
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

#include "comm/system_ranked/message.h"
#include "comm/system_ranked/tree.h"

namespace fgmpi::comm::system_ranked {

enum class Algorithm : uint8_t { kCentralized, kShrinkAndBalance, kRankAndHash };
/// Shrink-and-Balance: who takes the place of a vertex that is no member. Leaves: a leaf of its
/// subtree, whose name came up with the size. Children: the child with the tallest subtree, which
/// takes its siblings on; nothing but sizes goes up.
enum class Filler : uint8_t { kLeaf, kChild };

/// Where intermediaries of Rank-and-Hash live: `count` addresses, all below it, or others by their
/// index.
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

struct Options {
  Algorithm algorithm = Algorithm::kRankAndHash;
  uint32_t k = 3;
  Filler filler = Filler::kLeaf;
  bool ranks = true;  ///< Shrink-and-Balance: a pass over the new tree assigns ranks
  const Directory* directory = nullptr;  ///< Rank-and-Hash; lives as long as the vertex
  /// Rank-and-Hash: the world rank of the first proclet at an address; nullptr: an address is a
  /// world rank.
  uint32_t (*first_world)(Address) = nullptr;
  /// Rank-and-Hash: the parent's tree has so many vertices and is balanced with this k. A group
  /// with members at all of them keeps that tree: ranges of ranks down it complete it, and nobody
  /// looks for neighbours. 0: built as any other.
  uint32_t kept_vertices = 0;
};

/// Do both build the same trees by the same messages? Fillers matter to Shrink-and-Balance alone.
inline bool same_way(const Options& a, const Options& b) {
  return a.algorithm == b.algorithm && a.k == b.k &&
         (a.algorithm != Algorithm::kShrinkAndBalance || a.filler == b.filler);
}

class Carrier {
 public:
  virtual ~Carrier() = default;
  /// `to` may be the sender. Does not deliver before the sender has returned.
  virtual void send(Address to, std::vector<uint8_t> message) = 0;
};

class Vertex {
 public:
  /// `mine`: one for each color that has members here, ascending.
  static std::unique_ptr<Vertex> make(const Options& options, ParentPlace where,
                                      std::vector<Enrolment> mine);
  virtual ~Vertex() = default;
  Vertex(const Vertex&) = delete;
  Vertex& operator=(const Vertex&) = delete;

  void start(Carrier& carrier);
  /// REQUIRES: it has been started; the message is none of those to an intermediary.
  void receive(Address from, std::span<const uint8_t> message, Carrier& carrier);
  /// It has all its places and nobody needs it any more.
  bool done() const { return passed_ && pending_ == 0; }
  /// One for each enrolment, in its order.
  const std::vector<Place>& places() const { return places_; }
  /// Transient bytes: what it keeps now.
  size_t bytes() const;
  /// Most suppliers that this vertex has had at a time (Shrink-and-Balance).
  virtual uint32_t suppliers() const { return 0; }

 protected:
  Vertex(const Options& options, ParentPlace where, std::vector<Enrolment> mine);

  /// A record of a child's message: reads all of it.
  virtual void take(uint32_t child, uint32_t color, Reader& in) = 0;
  /// All children have reported: adds what is to go up; `carrier` for what goes elsewhere.
  virtual void pass_up(Writer& out, Carrier& carrier) = 0;
  /// The same at the root, which begins what follows.
  virtual void turn(Carrier& carrier) = 0;
  virtual void handle(Kind kind, Address from, Reader& in, Carrier& carrier) = 0;
  virtual size_t state_bytes() const = 0;

  /// The place of a color, or nullptr.
  Place* place(uint32_t color);
  /// The enrolment of a color, or nullptr.
  const Enrolment* enrolment(uint32_t color) const;
  /// Something beside its places that it must stay for.
  void await_one() { ++pending_; }
  /// A place, or what it stayed for, is complete.
  void complete_one() { --pending_; }

  const Options options_;
  const ParentPlace where_;
  const std::vector<Enrolment> mine_;
  std::vector<Place> places_;

 private:
  void all_heard(Carrier& carrier);
  uint32_t heard_ = 0;
  uint32_t pending_;  ///< places that are not complete, and await_one()
  bool passed_ = false;
};

std::unique_ptr<Vertex> make_centralized(const Options& options, ParentPlace where,
                                         std::vector<Enrolment> mine);
std::unique_ptr<Vertex> make_shrink_and_balance(const Options& options, ParentPlace where,
                                                std::vector<Enrolment> mine);
std::unique_ptr<Vertex> make_rank_and_hash(const Options& options, ParentPlace where,
                                           std::vector<Enrolment> mine);

/// The intermediary's part of Rank-and-Hash. It needs no part in the construction: what it is sent
/// says all.
class Intermediary {
 public:
  static bool is_for(Kind kind) { return kind == kRegister || kind == kRegisterChild; }
  void receive(Address from, std::span<const uint8_t> message, Carrier& carrier);
  bool idle() const { return slots_.empty(); }
  size_t bytes() const;

 private:
  struct Slot {
    Address self = kNobody;
    uint32_t expected = 0, came = 0;  ///< children
    bool root_came = false;           ///< vertex 0 registers as its own parent
    std::vector<Address> children;
  };
  /// By color and rank; only those that wait.
  std::map<std::pair<uint32_t, uint32_t>, Slot> slots_;
};

/// Names of algorithms as settings give them: "centralized", "shrink_and_balance", "rank_and_hash".
const char* algorithm_name(Algorithm algorithm);
bool parse_algorithm(const std::string& name, Algorithm* out);
extern const char* const kAlgorithmNames;  ///< all of them, for messages

}  // namespace fgmpi::comm::system_ranked
