// Sending to other processes how far this process's ranks are in the unbuffered run.

#include "check/order/progress.h"

#include <algorithm>
#include <cstring>

#include "check/extensions.h"
#include "check/rank.h"
#include "check/wire/wire.h"

namespace fgmpi::check {

namespace {

void add(int process, const Progress& one, bool now) {
  constexpr int kCalls = 32;
  if (process < 0) return;
  LastPiece last = last_piece(process);
  auto* wire = static_cast<WireProgress*>(last.data);
  if (wire && wire->kind == WireKind::kProgress && wire->count < std::size(wire->list) &&
      grow_last_piece(process, sizeof one)) {
    wire->list[wire->count++] = one;
  } else {
    const WireProgress fresh{WireKind::kProgress, 1, g_process.me, {one}};
    std::memcpy(add_piece(process, bytes_of(fresh)), &fresh, bytes_of(fresh));
  }
  now ? notices_due_now() : notices_due_within(kCalls);
}

}  // namespace

bool all_tell_all(const CheckedComm& comm) {
  constexpr size_t kMost = 8;
  return comm.others.size() + (comm.local_members > 0) <= kMost;
}

void announce_receive_begun(uint64_t message_id, bool blocks) {
  add(MPIX_Tool_process(static_cast<int>(message_id >> 32)),
      {Progress::kReceiveBegun, message_id, blocks}, false);
}

void announce_send_begun(uint64_t message_id, int receiver_world) {
  add(MPIX_Tool_process(receiver_world), {Progress::kSendBegun, message_id, 0}, false);
}

void announce_entered(const CheckedComm& comm, uint64_t number) {
  const Progress one{Progress::kEntered, comm.key, number};
  if (all_tell_all(comm))
    for (int process : comm.listeners) add(process, one, true);
  else if (comm.home != g_process.me)
    add(comm.home, one, true);
}

void announce_all_entered(const CheckedComm& comm, uint64_t number) {
  for (int process : comm.listeners) add(process, {Progress::kEntered, comm.key, number}, true);
}

void on_progress(const void* data, size_t bytes) {
  WireProgress wire;
  if (bytes > sizeof wire || bytes < offsetof(WireProgress, list)) return;
  std::memcpy(static_cast<void*>(&wire), data, bytes);
  if (wire.count > std::size(wire.list) || bytes != bytes_of(wire)) return;
  for (uint32_t i = 0; i < wire.count; ++i) on_step(wire.from, wire.list[i]);
}

}  // namespace fgmpi::check
