// Forwarding: messages to and from ranks that have moved arrive once, and in order.
//
// Words. A rank's *home* is the process that the address vector names for it; it never changes. Its
// *host* is the process where its messages are matched now. A rank away from home is a *visitor* of
// its host. A *pair* is a context, a source rank of it and a destination rank: only messages of one
// pair have an order in MPI (MPI-4.0 section 3.5). An *item* is a message, or a mark of this
// protocol that travels in order with messages. Each hop between two processes is a FIFO.
//
// Ways of a pair from rank s to rank r:
//
//   by home   host(s) --> home(s) --> home(r) --> host(r)      always possible; without hops from a
//                                                              process to itself
//   direct    host(s) --> T                                    T: where the sender's process last
//                                                              heard that r is
//
// While both ranks are at home the way by home is one hop and this class is not used. A process
// that forwards a message to a visitor tells the sender's process where the visitor is, which then
// begins a *direct route*. It may be wrong about T: this costs hops, never order.
//
// A route begins with the mark kOpen, sent by home behind the last message that goes by home
// ("last by home"), and ends with the mark kClose, sent to T behind the last direct message.
//   home(r)  when kOpen passes: holds later items of the pair that come by home until kClose comes
//   T        holds what comes directly until kOpen has come, which home(r) sends to T in order with
//            what it forwards there; passes kClose on to home(r)
// A route that is open when its rank leaves T, or opens when its rank is not there, is *stale*
// until it ends: T sends what comes by it to home(r), and tells the sender's process.
//
// A move of r from its home A to B: A hands over r's unexpected messages (kHandOver, then kToHost)
// and from then on forwards. A move from B to C, where C may be A:
//
//   B --kLeft--> A            B gives its unexpected messages back (kReturned), in order, and also
//   B --kReturned...--> A     whatever A had forwarded to B meanwhile
//   A --kStop--> B            sent at once: the last that A sends to B for r. A keeps what arrives
//   B --kStopped--> A         the answer: B has given back everything
//   A --kHandOver--> C        A hands over what came back, then what it has kept
//
// The rank itself does not wait for this: it may run at C from the moment at which it left B. What
// it sends from C by home is kept by A until the hand-over (`outgoing`). A rank may leave again
// only once its messages have been handed over (may_depart()).
//
// Proof of the order. Let m and n be messages of one pair, m sent before n.
// (1) Both by home, and no route between them. s sends them from the same host, or A(s) keeps what
//     comes from the later host until it has kLeft of the earlier one, which came behind m. So m
//     reaches home(r) before n. There both pass one line: held for a route, kept during a return,
//     or forwarded, and each of these is a FIFO that is emptied into the next in order: an item is
//     checked for a route before it is kept, and held items are released into the line.
// (2) m by home, n by the route that begins next. kOpen follows m by (1). T releases n when kOpen
//     has come, which is sent to T when m has been forwarded. If r was at T then, m was sent to T
//     before kOpen. If not, the route is stale, and n comes to home(r) after m has passed its line.
// (3) Both by one route: T receives, holds, releases them in order. While the route is not stale, r
//     is at T and m enters the endpoint first. If it becomes stale between them, m was in the
//     endpoint, and is matched or given back before r is handed over anywhere; home(r) delivers n
//     behind it: items of stale routes that come during a return are kept behind all that is given
//     back. If both are stale, they are forwarded in order by home(r).
// (4) m by a route, n by home after it. kClose follows m through T (held, or passed on behind m),
//     and home(r) holds n until kClose has come; by then m was in an endpoint, or came to home(r).
// (5) A chain of such steps gives every other case. A second route of the pair begins only after
//     kClose of the first: its kOpen is an item that home(r) holds like others.
// (6) Given back and handed over: m before n in an endpoint's queue of unexpected messages stays
//     so, since kReturned and kToHost are FIFOs; what A kept or held of the pair was sent later
//     than what B had, by (1) to (4).
// Once: an item is in one queue or one frame at any time. No item is kept for ever: what it waits
// for (kClose, kOpen, kStopped, kLeft) has been sent before, on hops that do not wait for it.
// test/unit/pt2pt/forwarding_test.cc explores all interleavings of small cases.
//
// This class has no frames and no queues of endpoints: a ForwardingSite does (moved_endpoints.cc,
// and tests). Thread rule: one thread. Nothing here switches.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ch4-av-rankmap/moved_ranks.h"
#include "pt2pt/match.h"

namespace fgmpi::pt2pt {

struct UnexpectedMessage;

/// Stands for no rank, no process, no local index.
inline constexpr uint32_t kNoRank = MovedRanks::kNone;

/// What travels to a rank in the order in which it was sent.
struct ForwardedItem {
  enum Kind : uint8_t { kMessage, kCancel, kOpen, kClose };
  Kind kind = kMessage;
  Envelope envelope = {};
  uint32_t world = 0;  ///< the destination rank
  /// Messages and cancels: the process that has the send. Marks: the one whose route it is.
  uint32_t process = 0;
  uint32_t target = 0;  ///< kOpen: the process to which the route goes
  uint64_t cookie = 0;  ///< kCancel: the send's
  UnexpectedMessage* message = nullptr;
};

/// On which way an item comes to a process.
enum class ItemLeg : uint8_t {
  kByHome,     ///< to the home of the sender or of the destination
  kDirect,     ///< by a direct route
  kToHost,     ///< from the destination's home to the destination's host
  kReturned,   ///< from the host that the destination has left to its home
  kFromRoute,  ///< from the end of a route to the destination's home: kClose, and stale items
};
/// What processes tell each other about a rank; `argument` as said.
enum class MoveNote : uint8_t {
  kHandOver,  ///< home to host: your visitor's messages follow
  kLeft,      ///< host to home: the rank has left for process `argument`
  kStop,      ///< home to host: nothing for the rank follows
  kStopped,   ///< host to home: everything has been given back
  kWhere,     ///< to a sender's process: the rank is in process `argument`
};

/// The process in which a Forwarding works.
class ForwardingSite {
 public:
  virtual ~ForwardingSite() = default;
  virtual uint32_t home_of(uint32_t world) const = 0;
  /// The local index of a rank in its home. REQUIRES: this process is its home.
  virtual uint32_t index_at_home(uint32_t world) const = 0;
  /// Sends an item, whose message belongs to the site from then on. `sender`: the sending rank
  /// while the item is on its way to that rank's home, else kNoRank.
  virtual void send_item(uint32_t process, ItemLeg leg, const ForwardedItem& item,
                         uint32_t sender) = 0;
  virtual void send_note(uint32_t process, MoveNote note, uint32_t world, uint32_t argument) = 0;
  /// Gives an item to the endpoint of a rank here; its message belongs to the site.
  virtual void deliver(uint32_t local, const ForwardedItem& item) = 0;
  /// Removes the eldest unexpected message of the endpoint. False: there is none.
  virtual bool take_unexpected(uint32_t local, uint32_t world, ForwardedItem* out) = 0;
};

/// How a message goes (choose_way()).
enum class SendWay : uint8_t {
  kToHome,     ///< as a frame to the destination's home, as if it had never moved
  kHere,       ///< to an endpoint of this process
  kForwarded,  ///< as an item, by send()
};

class Forwarding {
 public:
  /// `moved`: the table that this object fills.
  Forwarding(ForwardingSite* site, uint32_t me, MovedRanks* moved)
      : site_(site), moved_(moved), me_(me) {}
  /// A copy that works at another site, with that site's table.
  Forwarding(const Forwarding& other, ForwardingSite* site, MovedRanks* moved) : Forwarding(other) {
    site_ = site;
    moved_ = moved;
  }

  Forwarding& operator=(const Forwarding&) = delete;

  // ---- Moves ------------------------------------------------------------------------------------
  /// May the rank, whose messages are matched here, leave? Not before they have been handed over.
  bool may_depart(uint32_t world) const;
  /// The rank leaves for another process, with its unexpected messages. Ends its direct routes.
  /// REQUIRES: may_depart(), and next is not this process.
  void depart(uint32_t world, uint32_t next);
  /// The rank has come, as a visitor with this local index, or home.
  void arrive(uint32_t world, uint32_t local);

  // ---- Sends ------------------------------------------------------------------------------------
  /// How the next message of the pair goes. `sender`: the sending rank, whose host this process is,
  /// or kNoRank. May begin and end a route, and so must be followed by the message. kHere: *local
  /// is set.
  SendWay choose_way(const Envelope& envelope, uint32_t world, uint32_t sender, uint32_t* local);
  /// Sends an item on the pair's present way. REQUIRES: choose_way() was called for its pair, or
  /// the item is a kCancel.
  void send(const ForwardedItem& item, uint32_t sender);

  // ---- What arrives -----------------------------------------------------------------------------
  /// Must a frame for a rank whose home is here be given to receive_plain()?
  bool diverts(uint32_t world) const { return homes_.count(world) != 0; }
  /// Receives a message that came as a frame to the home of its destination.
  void receive_plain(const ForwardedItem& item) { enter_line(item); }
  /// Receives an item or a note of another process. False: it is impossible, and nothing was done
  /// (the item's message is still the caller's).
  bool receive(uint32_t from, ItemLeg leg, const ForwardedItem& item, uint32_t sender);
  bool receive(uint32_t from, MoveNote note, uint32_t world, uint32_t argument);

  // ---- State ------------------------------------------------------------------------------------
  /// Is no item kept here?
  bool empty() const;
  /// Appends the state in words, for reports and tests: equal words, equal state.
  void describe(std::string* out) const;

 private:
  Forwarding(const Forwarding&) = default;
  struct MessagePair {
    uint64_t ctx;
    int32_t source;
    uint32_t world;
    auto operator<=>(const MessagePair&) const = default;
  };
  using Items = std::vector<ForwardedItem>;
  struct KeptItem {
    ForwardedItem item;
    bool stale;  ///< the item came by a stale route
  };
  /// A rank whose home is here and whose messages do not simply go to its endpoint here.
  struct HomeRecord {
    explicit HomeRecord(uint32_t process) : host(process) {}
    uint32_t host;               ///< where its messages are matched; while `returning`, until now
    uint32_t next = 0;           ///< while `returning`: where it is
    bool returning = false;      ///< the host is giving messages back
    uint32_t routes = 0;         ///< entries of held_ for this rank
    Items returned;              ///< what the host has given back
    std::vector<KeptItem> kept;  ///< what has arrived meanwhile
    /// What the rank has sent by home from a process that is not its host yet, with that process.
    std::vector<std::pair<uint32_t, ForwardedItem>> outgoing;
  };
  struct VisitorRecord {
    uint32_t local = kNoRank;  ///< kNoRank: it has not come yet, or has left
    bool handed_over = false;  ///< its messages are matched here
    Items early;               ///< handed over before it came
  };
  /// The end of a direct route, in the process to which it goes.
  struct RouteEnd {
    bool open = false, stale = false;
    Items held;
  };
  using RouteName = std::pair<uint32_t, MessagePair>;  ///< sender's process, pair
  /// The beginning of a direct route.
  struct Route {
    uint32_t target, sender;
  };

  static MessagePair pair_of(const ForwardedItem& item) {
    return {item.envelope.ctx, item.envelope.source, item.world};
  }
  bool is_home(uint32_t world) const { return site_->home_of(world) == me_; }
  static bool is_settled(const HomeRecord& record, uint32_t me) {
    return record.host == me && !record.returning;
  }
  bool is_settled_at_home(uint32_t world) const;
  bool lives_here(uint32_t world) const;
  uint32_t host_of(uint32_t world) const;
  uint32_t hops_by_home(uint32_t world, uint32_t sender, uint32_t host) const;

  void end_routes_of(uint32_t sender);
  void send_mark(ForwardedItem::Kind kind, const MessagePair& pair, const Route& route);
  void send_by_home(const ForwardedItem& item, uint32_t sender);
  void pass_by_home(const ForwardedItem& item);
  void send_home(ItemLeg leg, const ForwardedItem& item);

  bool receive_by_home(uint32_t from, const ForwardedItem& item, uint32_t sender);
  void enter_line(const ForwardedItem& item);
  void open_route(const ForwardedItem& item);
  void close_route(const ForwardedItem& item);
  void send_to_host(const ForwardedItem& item);
  bool receive_from_route(const ForwardedItem& item);
  void hand_over(uint32_t world);
  void drop_if_settled(uint32_t world);

  void give_to_visitor(const ForwardedItem& item);
  void give_to_rank_here(const ForwardedItem& item);
  void make_routes_stale(uint32_t world);
  void begin_route_end(const ForwardedItem& item);
  void receive_direct(uint32_t from, const ForwardedItem& item);
  bool pass_route_end(const RouteName& name, bool stale, const ForwardedItem& item);

  ForwardingSite* site_;
  MovedRanks* moved_;
  uint32_t me_;
  // Ranks whose home is here.
  std::map<uint32_t, HomeRecord> homes_;
  std::map<MessagePair, Items> held_;  ///< items that came by home while a route is in use
  // Ranks whose host this process is, or was.
  std::map<uint32_t, VisitorRecord> visitors_;
  std::map<RouteName, RouteEnd> route_ends_;
  // Ranks that send from here.
  std::map<MessagePair, Route> routes_;
};

}  // namespace fgmpi::pt2pt
