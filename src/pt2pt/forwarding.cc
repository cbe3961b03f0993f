// The protocol of forwarding.h.

#include "pt2pt/forwarding.h"

#include "base/strings.h"

namespace fgmpi::pt2pt {

// ---- Where ranks are ----------------------------------------------------------------------------

/// True for a rank of this home whose messages are matched here and not on the way back.
bool Forwarding::is_settled_at_home(uint32_t world) const {
  const auto record = homes_.find(world);
  return record == homes_.end() || is_settled(record->second, me_);
}

bool Forwarding::lives_here(uint32_t world) const {
  if (is_home(world)) return is_settled_at_home(world);
  const auto guest = guests_.find(world);
  return guest != guests_.end() && guest->second.handed_over;
}

bool Forwarding::may_depart(uint32_t world) const {
  return lives_here(world) && (is_home(world) || guests_.at(world).local != kNoRank);
}

/// The host of a rank, as far as this process knows it.
uint32_t Forwarding::host_of(uint32_t world) const {
  if (lives_here(world)) return me_;
  if (const auto record = homes_.find(world); record != homes_.end())
    return record->second.returning ? me_ : record->second.host;
  const uint32_t process = moved_->process_of(world);
  return process == kNoRank ? site_->home_of(world) : process;
}

/// How many hops between different processes the way by home has.
uint32_t Forwarding::hops_by_home(uint32_t world, uint32_t sender, uint32_t host) const {
  const uint32_t of_sender = sender == kNoRank ? me_ : site_->home_of(sender);
  const uint32_t home = site_->home_of(world);
  return (of_sender != me_) + (home != of_sender) + (host != home);
}

// ---- State --------------------------------------------------------------------------------------

bool Forwarding::empty() const {
  for (const auto& [world, record] : homes_)
    if (record.returning || !record.outgoing.empty()) return false;
  for (const auto& [pair, items] : held_)
    if (!items.empty()) return false;
  for (const auto& [world, guest] : guests_)
    if (!guest.early.empty()) return false;
  for (const auto& [name, end] : route_ends_)
    if (!end.held.empty()) return false;
  return true;
}

namespace {

void describe_item(const ForwardedItem& item, std::string* out) {
  *out +=
      format(" %u:%llx.%d.%d>%u@%u", item.kind, static_cast<unsigned long long>(item.envelope.ctx),
             item.envelope.source, item.envelope.tag, item.world, item.process);
}
template <class ItemList>
void describe_items(const char* name, const ItemList& items, std::string* out) {
  if (!items.empty()) *out += std::string(" ") + name;
  for (const auto& item : items) describe_item(item, out);
}

}  // namespace

void Forwarding::describe(std::string* out) const {
  const auto add_pair = [out](const MessagePair& pair) {
    *out +=
        format(" %llx.%d>%u", static_cast<unsigned long long>(pair.ctx), pair.source, pair.world);
  };
  for (const auto& [world, record] : homes_) {
    *out += format("rank %u at %u routes %u", world, record.host, record.routes);
    if (record.returning) *out += format(" returning for %u", record.next);
    describe_items("returned", record.returned, out);
    for (const KeptItem& each : record.kept) {
      *out += each.stale ? " stale" : " kept";
      describe_item(each.item, out);
    }
    for (const auto& [from, item] : record.outgoing) {
      *out += format(" outgoing from %u", from);
      describe_item(item, out);
    }
    *out += "\n";
  }
  for (const auto& [pair, items] : held_) {
    *out += "held";
    add_pair(pair);
    describe_items("items", items, out);
    *out += "\n";
  }
  for (const auto& [world, guest] : guests_) {
    *out += format("guest %u at %d handed over %d", world, static_cast<int>(guest.local),
                   guest.handed_over);
    describe_items("early", guest.early, out);
    *out += "\n";
  }
  for (const auto& [name, end] : route_ends_) {
    *out += format("route from %u", name.first);
    add_pair(name.second);
    *out += format(" open %d stale %d", end.open, end.stale);
    describe_items("held", end.held, out);
    *out += "\n";
  }
  for (const auto& [pair, route] : routes_) {
    *out += "sends";
    add_pair(pair);
    *out += format(" to %u for %d\n", route.target, static_cast<int>(route.sender));
  }
}

}  // namespace fgmpi::pt2pt
