// The protocol of forwarding.h.

#include "pt2pt/forwarding.h"

#include "base/assert.h"
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
  const auto visitor = visitors_.find(world);
  return visitor != visitors_.end() && visitor->second.handed_over;
}

bool Forwarding::may_depart(uint32_t world) const {
  return lives_here(world) && (is_home(world) || visitors_.at(world).local != kNoRank);
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

// ---- Moves --------------------------------------------------------------------------------------

void Forwarding::depart(uint32_t world, uint32_t next) {
  FGMPI_CHECK(may_depart(world) && next != me_);
  end_routes_of(world);
  make_routes_stale(world);
  ForwardedItem item;
  if (is_home(world)) {
    homes_.try_emplace(world, HomeRecord(me_)).first->second.host = next;
    moved_->set_process(world, next);
    site_->send_note(next, MoveNote::kHandOver, world, 0);
    while (site_->take_unexpected(site_->index_at_home(world), world, &item)) send_to_host(item);
    return;
  }
  const uint32_t local = visitors_.at(world).local;
  visitors_.erase(world);
  moved_->remove_visitor(world);
  site_->send_note(site_->home_of(world), MoveNote::kLeft, world, next);
  while (site_->take_unexpected(local, world, &item)) send_home(ItemLeg::kReturned, item);
}

void Forwarding::arrive(uint32_t world, uint32_t local) {
  if (is_home(world)) return;
  VisitorRecord& visitor = visitors_[world];
  FGMPI_CHECK(visitor.local == kNoRank);
  visitor.local = local;
  moved_->add_visitor(world, local);
  for (const ForwardedItem& item : std::exchange(visitor.early, {})) site_->deliver(local, item);
}

// ---- The sender's process -----------------------------------------------------------------------

void Forwarding::send_mark(ForwardedItem::Kind kind, const MessagePair& pair, const Route& route) {
  ForwardedItem mark;
  mark.kind = kind;
  mark.envelope = {pair.ctx, pair.source, 0};
  mark.world = pair.world;
  mark.process = me_;
  mark.target = route.target;
  if (kind == ForwardedItem::kOpen) return send_by_home(mark, route.sender);
  if (route.target == me_) return receive_direct(me_, mark);
  site_->send_item(route.target, ItemLeg::kDirect, mark, kNoRank);
}

void Forwarding::end_routes_of(uint32_t sender) {
  for (auto route = routes_.begin(); route != routes_.end();) {
    if (route->second.sender != sender) {
      ++route;
      continue;
    }
    const auto [pair, ended] = *route;
    route = routes_.erase(route);
    send_mark(ForwardedItem::kClose, pair, ended);
  }
}

SendWay Forwarding::choose_way(const Envelope& envelope, uint32_t world, uint32_t sender,
                               uint32_t* local) {
  const MessagePair pair{envelope.ctx, envelope.source, world};
  const uint32_t host = host_of(world);
  auto route = routes_.find(pair);
  if (route != routes_.end() && route->second.target != host) {
    const Route ended = route->second;
    routes_.erase(route);
    send_mark(ForwardedItem::kClose, pair, ended);
    route = routes_.end();
  }
  if (route == routes_.end() && sender != kNoRank && hops_by_home(world, sender, host) > 1) {
    route = routes_.emplace(pair, Route{host, sender}).first;
    send_mark(ForwardedItem::kOpen, pair, route->second);
  }
  if (route == routes_.end()) {
    if (sender != kNoRank && (!is_home(sender) || !is_settled_at_home(sender)))
      return SendWay::kForwarded;
    if (!is_home(world)) return SendWay::kToHome;
    if (diverts(world)) return SendWay::kForwarded;
    *local = site_->index_at_home(world);
    return SendWay::kHere;
  }
  if (host != me_) return SendWay::kForwarded;
  const auto end = route_ends_.find({me_, pair});
  if (end == route_ends_.end() || !end->second.open || end->second.stale)
    return SendWay::kForwarded;
  *local = is_home(world) ? site_->index_at_home(world) : visitors_.at(world).local;
  return *local == kNoRank ? SendWay::kForwarded : SendWay::kHere;
}

void Forwarding::send(const ForwardedItem& item, uint32_t sender) {
  const auto route = routes_.find(pair_of(item));
  if (route == routes_.end()) return send_by_home(item, sender);
  if (route->second.target == me_) return receive_direct(me_, item);
  site_->send_item(route->second.target, ItemLeg::kDirect, item, kNoRank);
}

void Forwarding::send_by_home(const ForwardedItem& item, uint32_t sender) {
  if (sender != kNoRank) {
    if (!is_home(sender))
      return site_->send_item(site_->home_of(sender), ItemLeg::kByHome, item, sender);
    if (!is_settled_at_home(sender)) {
      homes_.at(sender).outgoing.emplace_back(me_, item);
      return;
    }
  }
  pass_by_home(item);
}

/// Sends on what is in order at the sender's home.
void Forwarding::pass_by_home(const ForwardedItem& item) {
  if (is_home(item.world)) return enter_line(item);
  site_->send_item(site_->home_of(item.world), ItemLeg::kByHome, item, kNoRank);
}

// ---- The home -----------------------------------------------------------------------------------

bool Forwarding::receive_by_home(uint32_t from, const ForwardedItem& item, uint32_t sender) {
  if (sender == kNoRank) {
    if (!is_home(item.world)) return false;
    enter_line(item);
    return true;
  }
  const auto record = homes_.find(sender);
  if (!is_home(sender) || record == homes_.end()) return false;
  if (record->second.host != from || record->second.returning)
    record->second.outgoing.emplace_back(from, item);
  else
    pass_by_home(item);
  return true;
}

/// The one line of what comes by home to a rank.
void Forwarding::enter_line(const ForwardedItem& item) {
  if (const auto held = held_.find(pair_of(item)); held != held_.end())
    return held->second.push_back(item);
  const auto found = homes_.find(item.world);
  if (found != homes_.end() && found->second.returning)
    return found->second.kept.push_back({item, false});
  if (item.kind == ForwardedItem::kOpen) return open_route(item);
  const uint32_t host = found == homes_.end() ? me_ : found->second.host;
  const uint32_t process = item.process;
  const bool tells =
      item.kind == ForwardedItem::kMessage && host != me_ && process != me_ && process != host;
  send_to_host(item);
  if (tells) site_->send_note(process, MoveNote::kWhere, item.world, host);
}

void Forwarding::open_route(const ForwardedItem& item) {
  ++homes_.try_emplace(item.world, HomeRecord(me_)).first->second.routes;
  held_.try_emplace(pair_of(item));
  if (item.target == me_) return begin_route_end(item);
  site_->send_item(item.target, ItemLeg::kToHost, item, kNoRank);
}

void Forwarding::close_route(const ForwardedItem& item) {
  const auto held = held_.find(pair_of(item));
  const Items released = std::move(held->second);
  held_.erase(held);
  --homes_.at(item.world).routes;
  for (const ForwardedItem& each : released) enter_line(each);
  drop_if_settled(item.world);
}

/// Gives an item to the endpoint of a rank of this home, wherever it is.
void Forwarding::send_to_host(const ForwardedItem& item) {
  const auto record = homes_.find(item.world);
  if (record == homes_.end() || record->second.host == me_)
    return site_->deliver(site_->index_at_home(item.world), item);
  site_->send_item(record->second.host, ItemLeg::kToHost, item, kNoRank);
}

bool Forwarding::receive_from_route(const ForwardedItem& item) {
  const auto record = homes_.find(item.world);
  if (record == homes_.end() || !held_.count(pair_of(item))) return false;
  if (item.kind == ForwardedItem::kClose)
    close_route(item);
  else if (record->second.returning)
    record->second.kept.push_back({item, true});
  else
    send_to_host(item);
  return true;
}

/// The former host has given everything back: the messages go to where the rank is.
void Forwarding::hand_over(uint32_t world) {
  HomeRecord& record = homes_.at(world);
  record.returning = false;
  record.host = record.next;
  if (record.host == me_) {
    moved_->forget(world);
  } else {
    moved_->set_process(world, record.host);
    site_->send_note(record.host, MoveNote::kHandOver, world, 0);
  }
  const uint32_t host = record.host;
  const auto kept = std::exchange(record.kept, {});
  const auto outgoing = std::exchange(record.outgoing, {});
  for (const ForwardedItem& item : std::exchange(record.returned, {})) send_to_host(item);
  // The record may be dropped from here on: everything that follows is in order without it.
  for (const KeptItem& each : kept) each.stale ? send_to_host(each.item) : enter_line(each.item);
  for (const auto& [from, item] : outgoing) {
    if (from == host)
      pass_by_home(item);
    else
      homes_.at(world).outgoing.emplace_back(from, item);
  }
  drop_if_settled(world);
}

void Forwarding::drop_if_settled(uint32_t world) {
  const auto record = homes_.find(world);
  if (record == homes_.end()) return;
  const HomeRecord& r = record->second;
  if (is_settled(r, me_) && r.routes == 0 && r.kept.empty() && r.outgoing.empty())
    homes_.erase(record);
}

// ---- The host, and the ends of routes -----------------------------------------------------------

void Forwarding::send_home(ItemLeg leg, const ForwardedItem& item) {
  if (!is_home(item.world)) return site_->send_item(site_->home_of(item.world), leg, item, kNoRank);
  const bool received = receive_from_route(item);
  FGMPI_CHECK(received);
}

void Forwarding::give_to_visitor(const ForwardedItem& item) {
  const auto visitor = visitors_.find(item.world);
  if (visitor == visitors_.end() || !visitor->second.handed_over)
    return send_home(ItemLeg::kReturned, item);
  if (visitor->second.local == kNoRank) return visitor->second.early.push_back(item);
  site_->deliver(visitor->second.local, item);
}

void Forwarding::give_to_rank_here(const ForwardedItem& item) {
  if (is_home(item.world)) return site_->deliver(site_->index_at_home(item.world), item);
  give_to_visitor(item);
}

void Forwarding::make_routes_stale(uint32_t world) {
  for (auto& [name, end] : route_ends_)
    if (name.second.world == world && end.open) end.stale = true;
}

void Forwarding::begin_route_end(const ForwardedItem& item) {
  const RouteName name{item.process, pair_of(item)};
  RouteEnd& end = route_ends_[name];
  end.open = true;
  end.stale = !lives_here(item.world);
  const bool stale = end.stale;
  const Items held = std::exchange(end.held, {});
  for (auto each = held.begin(); each != held.end(); ++each) {
    if (!pass_route_end(name, stale, *each)) continue;
    // What follows kClose belongs to the sender's next route, which has yet to be opened.
    if (each + 1 != held.end()) route_ends_[name].held.assign(each + 1, held.end());
    return;
  }
}

void Forwarding::receive_direct(uint32_t from, const ForwardedItem& item) {
  const RouteName name{from, pair_of(item)};
  RouteEnd& end = route_ends_[name];
  if (end.open)
    pass_route_end(name, end.stale, item);
  else
    end.held.push_back(item);
}

/// Passes on what comes by an open route. True when the route has ended.
bool Forwarding::pass_route_end(const RouteName& name, bool stale, const ForwardedItem& item) {
  if (item.kind == ForwardedItem::kClose) {
    route_ends_.erase(name);
    send_home(ItemLeg::kFromRoute, item);
    return true;
  }
  if (!stale) {
    give_to_rank_here(item);
    return false;
  }
  const uint32_t world = item.world;
  send_home(ItemLeg::kFromRoute, item);
  if (name.first != me_)
    site_->send_note(name.first, MoveNote::kWhere, world, site_->home_of(world));
  return false;
}

// ---- What arrives -------------------------------------------------------------------------------

bool Forwarding::receive(uint32_t from, ItemLeg leg, const ForwardedItem& item, uint32_t sender) {
  switch (leg) {
    case ItemLeg::kByHome:
      return item.kind != ForwardedItem::kClose && receive_by_home(from, item, sender);
    case ItemLeg::kDirect:
      if (item.kind == ForwardedItem::kOpen) return false;
      receive_direct(from, item);
      return true;
    case ItemLeg::kToHost:
      if (from != site_->home_of(item.world) || item.kind == ForwardedItem::kClose) return false;
      item.kind == ForwardedItem::kOpen ? begin_route_end(item) : give_to_visitor(item);
      return true;
    case ItemLeg::kReturned: {
      const auto record = homes_.find(item.world);
      if (record == homes_.end() || !record->second.returning || record->second.host != from)
        return false;
      record->second.returned.push_back(item);
      return true;
    }
    case ItemLeg::kFromRoute:
      return is_home(item.world) && item.kind != ForwardedItem::kOpen && receive_from_route(item);
  }
  return false;
}

bool Forwarding::receive(uint32_t from, MoveNote note, uint32_t world, uint32_t argument) {
  const bool from_home = from == site_->home_of(world);
  const auto record = homes_.find(world);
  const bool of_host = record != homes_.end() && record->second.host == from;
  switch (note) {
    case MoveNote::kHandOver:
      if (!from_home || is_home(world) || lives_here(world)) return false;
      visitors_[world].handed_over = true;
      return true;
    case MoveNote::kLeft:
      if (!of_host || record->second.returning || argument == from) return false;
      record->second.returning = true;
      record->second.next = argument;
      site_->send_note(from, MoveNote::kStop, world, 0);
      return true;
    case MoveNote::kStop:
      if (!from_home || is_home(world)) return false;
      site_->send_note(from, MoveNote::kStopped, world, 0);
      return true;
    case MoveNote::kStopped:
      if (!of_host || !record->second.returning) return false;
      hand_over(world);
      return true;
    case MoveNote::kWhere:
      if (is_home(world)) return true;
      if (from_home && argument != from)
        moved_->set_process(world, argument);
      else if (from_home || moved_->process_of(world) == from)
        moved_->forget(world);
      return true;
  }
  return false;
}

// ---- State --------------------------------------------------------------------------------------

bool Forwarding::empty() const {
  for (const auto& [world, record] : homes_)
    if (record.returning || !record.outgoing.empty()) return false;
  for (const auto& [pair, items] : held_)
    if (!items.empty()) return false;
  for (const auto& [world, visitor] : visitors_)
    if (!visitor.early.empty()) return false;
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
  for (const auto& [world, visitor] : visitors_) {
    *out += format("visitor %u at %d handed over %d", world, static_cast<int>(visitor.local),
                   visitor.handed_over);
    describe_items("early", visitor.early, out);
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
