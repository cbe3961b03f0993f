// Pieces for other processes: collecting them and sending them as notices.

#include "check/wire/outbox.h"

#include <climits>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "check/extensions.h"
#include "check/wire/wire.h"

namespace fgmpi::check {

NoticesDue g_notices_due;

namespace {

struct OutgoingNotice {
  size_t used = 8, last = 0;  ///< size so far; offset of the last piece's size
  alignas(8) char bytes[kMostNotice];
};
using Notices = std::vector<std::unique_ptr<OutgoingNotice>>;

std::vector<Notices> g_notices;  ///< by process; only the last one of each may have room
std::vector<int> g_waiting;      ///< processes for which there are notices
Notices g_spare;
bool g_sending = false;
std::vector<int> g_to_answer;

size_t rounded(size_t bytes) { return (bytes + 7) / 8 * 8; }

Notices& notices_for(int process) {
  const auto at = static_cast<size_t>(process);
  if (at >= g_notices.size()) g_notices.resize(at + 1);
  return g_notices[at];
}

uint64_t* length_of_last(OutgoingNotice* n) {
  return reinterpret_cast<uint64_t*>(n->bytes + n->last);
}

OutgoingNotice* last_for(int process) {
  Notices& all = notices_for(process);
  return all.empty() ? nullptr : all.back().get();
}

}  // namespace

void* add_piece(int process, size_t bytes) {
  Notices& all = notices_for(process);
  const size_t needed = 8 + rounded(bytes);
  if (all.empty() || all.back()->used + needed > kMostNotice) {
    if (all.empty()) g_waiting.push_back(process);
    // A notice is full.
    else
      g_notices_due.now = true;
    if (g_spare.empty()) g_spare.push_back(std::make_unique<OutgoingNotice>());
    all.push_back(std::move(g_spare.back()));
    g_spare.pop_back();
    OutgoingNotice& fresh = *all.back();
    fresh.used = 8;
    std::memset(fresh.bytes, 0, 8);
    fresh.bytes[0] = static_cast<char>(WireKind::kSeveral);
  }
  if (!g_notices_due.any) g_notices_due = {true, g_notices_due.now, INT_MAX};
  OutgoingNotice& n = *all.back();
  n.last = n.used;
  n.used += needed;
  *length_of_last(&n) = bytes;
  return n.bytes + n.last + 8;
}

LastPiece last_piece(int process) {
  OutgoingNotice* n = last_for(process);
  return n ? LastPiece{n->bytes + n->last + 8, *length_of_last(n)} : LastPiece{};
}

bool grow_last_piece(int process, size_t more) {
  OutgoingNotice* n = last_for(process);
  const size_t used = n->last + 8 + rounded(*length_of_last(n) + more);
  if (used > kMostNotice) return false;
  *length_of_last(n) += more;
  n->used = used;
  return true;
}

void send_due_notices_to(int process) {
  std::erase(g_waiting, process);
  while (last_for(process)) {  // notices that arrive during the send may add pieces
    Notices& all = notices_for(process);
    std::unique_ptr<OutgoingNotice> n = std::move(all.front());
    all.erase(all.begin());
    MPIX_Tool_notify(process, n->bytes, static_cast<int>(n->used));
    g_spare.push_back(std::move(n));
  }
  if (g_waiting.empty()) g_notices_due = {};
}

void send_due_notices() {
  // A notice that arrives during a send calls this; the loop below sends what it adds.
  if (g_sending) return;
  g_sending = true;
  do {
    while (!g_waiting.empty()) send_due_notices_to(g_waiting.front());
    const WireKind kind = WireKind::kAnswer;
    for (int process : std::exchange(g_to_answer, {}))
      MPIX_Tool_notify(process, &kind, sizeof kind);
  } while (!g_waiting.empty() || !g_to_answer.empty());
  g_sending = false;
}

void answer(int process) {
  g_to_answer.push_back(process);
  send_due_notices();
}

}  // namespace fgmpi::check
