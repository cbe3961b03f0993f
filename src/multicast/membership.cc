// The membership of a process in a group: its socket, and the group's probes.

#include "multicast/membership.h"

namespace fgmpi::multicast {

Membership::Membership(const GroupSpec& spec, unsigned interface, Outbox* outbox)
    : group(spec.id, static_cast<uint32_t>(spec.members.size()), spec.me, spec.options, this),
      key(spec.key),
      processes(spec.processes),
      address(spec.address),
      interface_(interface),
      outbox_(outbox),
      all_(socket_address(spec.address, interface)) {
  members_.reserve(spec.members.size());
  for (const MulticastAddress& place : spec.members)
    members_.push_back(socket_address(place, interface));
}

void Membership::move_to(const MulticastAddress& place) {
  socket = Socket();
  address = place;
  all_ = socket_address(place, interface_);
  strangers = 0;
  ++moves;
}

void Membership::to_all(const DatagramHeader& header, const void* payload, size_t length) {
  outbox_->add(all_, header, payload, length, key);
}

void Membership::to_member(uint32_t member, const DatagramHeader& header, const void* payload,
                           size_t length) {
  if (header.kind == DatagramKind::kAck || header.kind == DatagramKind::kNack) outbox_->release();
  outbox_->add(members_[member], header, payload, length, key);
}

void Membership::to_member_later(uint32_t member, const DatagramHeader& header) {
  outbox_->batch(members_[member], header, key);
}

void Membership::unexpected(uint32_t root, const Match& match) {
  constexpr size_t kMost = 4096;  // far more than arrive between two polls
  if (unexpected_transfers.size() < kMost) unexpected_transfers.push_back({root, match});
}

void Membership::record_heard(uint32_t member) {
  if (!probe.done || probe.heard[member]) return;
  probe.heard[member] = true;
  --probe.missing;
}

// A probe has `position` 2 * round, its answer 2 * round + 1.
void Membership::send_probe() {
  DatagramHeader h = header_of(DatagramKind::kProbe, 0, 0, {}, group.me());
  h.group = group.id();
  h.from = static_cast<uint16_t>(group.me());
  h.position = 2 * probe.round++;
  to_all(h, nullptr, 0);
}

void Membership::answer_probe(uint32_t member, uint32_t position) {
  DatagramHeader h = header_of(DatagramKind::kProbe, 0, 0, {}, member);
  h.group = group.id();
  h.from = static_cast<uint16_t>(group.me());
  h.position = position + 1;
  to_member(member, h, nullptr, 0);
}

}  // namespace fgmpi::multicast
