// Items and notes on the wire. See moved_endpoints.h.

#include "pt2pt/moved_frames.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace fgmpi::pt2pt {

using transport::Header;

namespace {

/// The tag of a kMoveNote that returns credit, behind those of MoveNote.
constexpr int32_t kCreditNote = static_cast<int32_t>(MoveNote::kWhere) + 1;

/// What stands in front of an item's payload.
struct MovingHeader {
  uint32_t world, process, target, sender, account;
  uint8_t leg, kind, is_request, answer;
};
static_assert(sizeof(MovingHeader) == 24);

/// An item of which some frames have not arrived yet.
struct ArrivingItem {
  ItemLeg leg;
  ForwardedItem item;
  uint32_t sender;
  uint64_t arrived;
};
/// By the process that sends it. Never destroyed: programs use MPI until they end.
auto& g_arriving = *new std::unordered_map<uint32_t, ArrivingItem>;

void refuse() { g_engine.count_bad_frame(); }

void receive_item(uint32_t from, ItemLeg leg, const ForwardedItem& item, uint32_t sender) {
  if (forwarding().receive(from, leg, item, sender)) return;
  refuse();
  if (item.message) drop_unexpected(item.message);
}

/// Does every number name something that may be?
bool is_possible(const Header& h, const MovingHeader& m, size_t bytes) {
  const bool message = m.kind == ForwardedItem::kMessage;
  return m.world < g_av.world_size() && m.process < g_av.processes() &&
         m.target < g_av.processes() && (m.sender == kNoRank || m.sender < g_av.world_size()) &&
         (m.account == kNoRank || m.account < g_av.processes()) && is_of_moving_plane(h.ctx) &&
         m.leg <= static_cast<uint8_t>(ItemLeg::kFromRoute) && m.kind <= ForwardedItem::kClose &&
         m.answer <= static_cast<uint8_t>(AnswerTime::kPastLimit) &&
         (message && !m.is_request ? bytes <= h.size : bytes == 0);
}

void receive_first(const Header& h, const void* payload, size_t length) {
  MovingHeader m;
  if (length < sizeof m) return refuse();
  memcpy(&m, payload, sizeof m);
  const size_t bytes = length - sizeof m;
  if (!is_possible(h, m, bytes) || g_arriving.count(h.src_process)) return refuse();
  const auto leg = static_cast<ItemLeg>(m.leg);
  ForwardedItem item;
  item.kind = static_cast<ForwardedItem::Kind>(m.kind);
  item.envelope = {h.ctx, h.src_rank, h.tag};
  item.world = m.world;
  item.process = m.process;
  item.target = m.target;
  item.cookie = h.cookie;
  if (item.kind != ForwardedItem::kMessage) return receive_item(h.src_process, leg, item, m.sender);
  UnexpectedMessage* u = item.message = new_unexpected(item.envelope, h.size, !m.is_request);
  if (!u) out_of_memory("a message to a rank that has moved", h.size);
  u->kind = m.is_request ? UnexpectedMessage::kRendezvous : UnexpectedMessage::kForwarded;
  u->answer = static_cast<AnswerTime>(m.answer);
  u->process = m.process;
  u->cookie = h.cookie;
  u->addr = m.is_request ? 0 : m.account;
  if (bytes) memcpy(u->payload(), static_cast<const char*>(payload) + sizeof m, bytes);
  if (m.is_request || bytes == h.size) return receive_item(h.src_process, leg, item, m.sender);
  g_arriving[h.src_process] = {leg, item, m.sender, bytes};
}

void receive_more(const Header& h, const void* payload, size_t length) {
  const auto found = g_arriving.find(h.src_process);
  if (found == g_arriving.end()) return refuse();
  ArrivingItem& a = found->second;
  UnexpectedMessage* u = a.item.message;
  if (length == 0 || h.addr != a.arrived || length > u->size - a.arrived) return refuse();
  memcpy(u->payload() + a.arrived, payload, length);
  a.arrived += length;
  if (a.arrived < u->size) return;
  const ArrivingItem whole = a;
  g_arriving.erase(found);
  receive_item(h.src_process, whole.leg, whole.item, whole.sender);
}

void receive_note(const Header& h) {
  if (h.tag == kCreditNote) {
    if (h.ctx >= g_av.processes()) return refuse();
    const auto process = static_cast<uint32_t>(h.ctx);
    if (process == g_engine.me()) return return_item_credit(h.size);
    return g_engine.return_credit(process, h.size);
  }
  if (h.ctx >= g_av.world_size() || h.size >= g_av.processes() || h.tag < 0 ||
      h.tag > kCreditNote ||
      !forwarding().receive(h.src_process, static_cast<MoveNote>(h.tag),
                            static_cast<uint32_t>(h.ctx), static_cast<uint32_t>(h.size)))
    refuse();
}

class MovingSink final : public transport::FrameSink {
 public:
  void deliver(const Header& h, const void* payload, size_t length) override {
    if (h.kind < kMoving) {
      if (!divert_frame(h, payload, length)) g_engine.deliver(h, payload, length);
      return;
    }
    if (h.kind > kMoveNote || h.src_process >= g_av.processes()) return refuse();
    g_engine.count_received();
    if (h.kind == kMoving) return receive_first(h, payload, length);
    if (h.kind == kMovingMore) return receive_more(h, payload, length);
    receive_note(h);
  }
  void returned(void* lender) override { g_engine.returned(lender); }
  void peer_failed(uint32_t process, const std::string& why) override {
    g_engine.peer_failed(process, why);
  }
};

}  // namespace

transport::FrameSink* moving_sink() {
  static auto& sink = *new MovingSink;
  return &sink;
}

void send_moving_frames(uint32_t process, ItemLeg leg, const ForwardedItem& item, uint32_t sender,
                        uint32_t account) {
  Engine& e = g_engine;
  UnexpectedMessage* u = item.message;
  const bool request = u && u->kind == UnexpectedMessage::kRendezvous;
  const uint64_t bytes = u && !request ? u->size : 0;
  MovingHeader m{};
  m.world = item.world;
  m.process = item.process;
  m.target = item.target;
  m.sender = sender;
  m.account = account;
  m.leg = static_cast<uint8_t>(leg);
  m.kind = item.kind;
  m.is_request = request;
  m.answer = static_cast<uint8_t>(u ? u->answer : AnswerTime::kNone);
  Header h = e.header_for(kMoving, u ? u->cookie : item.cookie);
  h.ctx = item.envelope.ctx;
  h.src_rank = item.envelope.source;
  h.tag = item.envelope.tag;
  h.size = u ? u->size : 0;
  const size_t most = e.transports.to(process)->max_payload();
  const size_t first = std::min<uint64_t>(bytes, most - sizeof m);
  static auto& memory = *new std::vector<char>;
  memory.resize(sizeof m + first);
  memcpy(memory.data(), &m, sizeof m);
  if (first) memcpy(memory.data() + sizeof m, u->payload(), first);
  e.send_own_frame(process, h, memory.data(), memory.size());
  h.kind = kMovingMore;
  for (uint64_t offset = first; offset < bytes;) {
    const size_t n = std::min<uint64_t>(bytes - offset, most);
    h.addr = offset;
    e.send_own_frame(process, h, u->payload() + offset, n);
    offset += n;
  }
}

void send_move_note(uint32_t process, MoveNote note, uint32_t world, uint32_t argument) {
  Header h = g_engine.header_for(kMoveNote, 0);
  h.tag = static_cast<int32_t>(note);
  h.ctx = world;
  h.size = argument;
  g_engine.send_own_frame(process, h, nullptr, 0);
}

void send_credit_note(uint32_t account, uint32_t process, uint64_t bytes) {
  Header h = g_engine.header_for(kMoveNote, 0);
  h.tag = kCreditNote;
  h.ctx = process;
  h.size = bytes;
  g_engine.send_own_frame(account, h, nullptr, 0);
}

}  // namespace fgmpi::pt2pt
