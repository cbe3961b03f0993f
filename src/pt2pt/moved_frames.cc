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

}  // namespace

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
