// The multicast of a process: sockets, groups, timers, windows.

#include "multicast/service.h"

#include <mpi.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/counters.h"
#include "base/settings.h"
#include "liveness/last_heard.h"
#include "transport/random.h"

namespace fgmpi::multicast {
namespace {

/// How many datagrams one system call receives.
constexpr size_t kBatch = 32;
constexpr size_t kMostPayload = 16 << 10;
/// Bytes of packets that are sent together: eleven fragments of 1,480 bytes, and no twelfth.
constexpr size_t kMostBundle = 16'200;
/// Bytes of headers in front of a packet: of IPv6 (IPv4's is shorter), of UDP, and DatagramHeader.
constexpr size_t kHeaders = 40 + 8 + sizeof(DatagramHeader);
/// How often (ns) sockets are polled by a process that waits for nothing from them: others may wait
/// for its answers.
constexpr int64_t kCheckInterval = 20'000;
/// How soon (ns) a socket without room is tried again.
constexpr int64_t kTryAgain = 100'000;
/// How long (ns) a process that does not sleep meanwhile holds acknowledgements that nothing waits
/// for: much less than the patience of a root.
constexpr int64_t kLongestBatch = 500'000;
/// After this many datagrams of strangers at a group's address, another job uses it, and the group
/// moves; at most kMostMoves times.
constexpr uint32_t kMostStrangers = 32, kMostMoves = 16;
constexpr size_t kMostForgotten = 4096;
/// How long (ns) a group that was left exists at most for acknowledgements of others, which may
/// have been lost: their root asks for them earlier.
constexpr int64_t kCacheTime = 2'000'000'000;
/// How many datagrams of unknown groups are stored, and how long they may be; the sender repeats
/// longer ones.
constexpr size_t kMostEarly = 256, kLongestEarly = sizeof(DatagramHeader) + 256;
/// Probes are sent after 0, 2, 6, 14 ms, ...: a second in all, since hosts may be busy.
constexpr int64_t kFirstProbe = 1'000'000;  ///< ns
constexpr uint32_t kProbes = 9;

void (*g_opened)(Service*) = nullptr;

[[maybe_unused]] const bool g_provided = [] {
  using namespace counters;
  provide(kMulticastGroups, [](const void*) { return service().totals().groups; });
  provide(kMulticastMoves, [](const void*) { return service().totals().moves; });
  provide(kMulticastTransfers, [](const void*) { return service().totals().transfers; });
  provide(kMulticastBytes, [](const void*) { return service().totals().bytes; });
  provide(kMulticastRepairs, [](const void*) { return service().totals().repairs; });
  provide(kMulticastDropped, [](const void*) { return service().totals().dropped; });
  return true;
}();

size_t most_memberships() {
  size_t most = 20;
  if (FILE* file = std::fopen("/proc/sys/net/ipv4/igmp_max_memberships", "re")) {
    if (std::fscanf(file, "%zu", &most) != 1) most = 20;
    std::fclose(file);
  }
  return std::max<size_t>(most, 1);
}

}  // namespace

Service& service() {
  static Service* s = new Service;
  return *s;
}
void set_opened_handler(void (*handler)(Service*)) { g_opened = handler; }

MulticastMode mode() {
  static const auto m = settings::choice<MulticastMode>(settings::kMulticast);
  return m;
}

MulticastAddress draw_address(uint8_t family) {
  MulticastAddress place;
  uint16_t port;
  place.family = family;
  transport::random_bytes(&port, sizeof port);
  transport::random_bytes(place.address, family == 4 ? 4 : 16);
  place.port = static_cast<uint16_t>(20'000 + port % 40'000);
  if (family == 4) {
    // Addresses from 239.64.0.0 to 239.127.255.255: none has the Ethernet address of one of
    // 224.0.0.0/24, which switches always flood.
    place.address[0] = 239;
    place.address[1] = static_cast<unsigned char>(64 | (place.address[1] & 63));
  } else {
    std::memset(place.address, 0, 8);
    place.address[0] = 0xff;
    place.address[1] = 0x12;
  }
  return place;
}

// ---- Opening ------------------------------------------------------------------------------------

Status Service::start(bool own_host) {
  if (!started_) {
    started_ = true;
    Status opened = open_sockets(own_host);
    if (!opened.ok()) why_not_ = opened.what();
    if (opened.ok() && g_opened) g_opened(this);
  }
  if (why_not_.empty()) return {};
  return error(MPI_ERR_OTHER, "%s", why_not_.c_str());
}

void Service::set_broken(const std::string& why) {
  if (why_not_.empty()) why_not_ = why;
}

Status Service::open_sockets(bool own_host) {
  const char* why;
  if (!load_tags(&why)) return error(MPI_ERR_OTHER, "multicast: %s", why);
  FGMPI_TRY(find_interface(&interface_));
  if (interface_.mtu < kHeaders + 256)
    return error(MPI_ERR_OTHER, "multicast: packets of interface %s have %zu bytes at most",
                 interface_.name.c_str(), interface_.mtu);
  most_payload_ = std::min(interface_.mtu - kHeaders, kMostPayload);
  own_ = interface_.own;
  Socket socket;
  FGMPI_TRY(open_own(interface_, static_cast<int>(settings::number(settings::kMulticastTtl)),
                     own_host, &socket, &own_.port));
  epoll_ = Socket(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (!epoll_ || epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, socket.fd(), &event) != 0)
    return error(MPI_ERR_OTHER, "multicast: cannot make an epoll: %s", std::strerror(errno));
  socket_ = std::move(socket);
  // One byte more, by which longer datagrams are detected.
  buffer_ = sizeof(DatagramHeader) + std::max(most_payload_, kMostBundle) + 1;
  buffers_.resize(kBatch * buffer_);
  most_joined_ = most_memberships();
  outbox_.set_most_segment(interface_.mtu - kHeaders + sizeof(DatagramHeader));
  return {};
}

void Service::close() {
  outbox_.release();
  outbox_.flush();
  groups_.clear();
  socket_ = Socket();
  epoll_ = Socket();
  set_broken("multicast: the process is ending");
}

uint32_t Service::most_window(size_t payload) const {
  // The kernel counts a packet with its own data around it, up to twice its bytes; two roots may
  // send at the same time.
  const size_t room = room_of(socket_) / (4 * (payload + sizeof(DatagramHeader) + 512));
  return static_cast<uint32_t>(std::clamp<size_t>(room, 8, 64));
}

uint32_t Service::bundle(size_t payload) const {
  return static_cast<uint32_t>(std::max<size_t>(1, kMostBundle / payload));
}

uint32_t Service::most_bundled_window(size_t payload) const {
  // Fragments use twice their bytes. Ten bundles are less than the 256 KiB that a switch
  // has for a port.
  const size_t room = room_of(socket_) / (4 * kMostBundle);
  return static_cast<uint32_t>(std::clamp<size_t>(room, 4, 10)) * bundle(payload);
}

// ---- Groups -------------------------------------------------------------------------------------

Status Service::join(const GroupSpec& spec, Membership** out) {
  auto [at, fresh] = groups_.try_emplace(spec.id);
  if (!fresh) return error(MPI_ERR_INTERN, "multicast: a group is joined twice");
  GroupSpec mine = spec;
  mine.options.flow = &flow_;
  at->second = std::make_unique<Membership>(mine, interface_.index, &outbox_);
  *out = at->second.get();
  ++entered_;
  use(*out);
  receive_early(*out);
  return {};
}

void Service::leave(Membership* membership) {
  leave_address(membership);
  membership->leaving = true;
  membership->cached_until = now_ns() + kCacheTime;
  ++leaving_;
  drop_delivered();
}

Membership* Service::find(uint64_t id) {
  auto it = groups_.find(id);
  return it == groups_.end() || it->second->leaving ? nullptr : it->second.get();
}

/// Frees groups that were left, once all that was sent has arrived. A member that asks about such a
/// group later gets the answer of answer_as_forgotten().
void Service::drop_delivered() {
  for (auto it = groups_.begin(); leaving_ > 0 && it != groups_.end();) {
    Membership* m = it->second.get();
    if (!m->leaving || m->is_used() || (!m->group.acknowledged() && now_ns() < m->cached_until)) {
      ++it;
      continue;
    }
    past_repairs_ += m->group.counts().repairs;
    dropped_ += m->group.counts().refused;
    if (forgotten_.size() == kMostForgotten) forgotten_.pop_front();
    forgotten_.push_back({m->group.id(), m->key, m->group.me()});
    it = groups_.erase(it);
    --leaving_;
  }
}

/// Joins the address of a group that is about to be used, if need be in place of another group's.
void Service::use(Membership* membership) {
  membership->last_use = ++uses_;
  if (membership->socket || membership->never_joins) return;
  if (joined() >= most_joined_) {
    Membership* oldest = nullptr;
    for (auto& [id, m] : groups_)
      if (m->socket && !m->is_used() && (!oldest || m->last_use < oldest->last_use))
        oldest = m.get();
    if (!oldest) return;  // all are in use: this group uses unicast
    leave_address(oldest);
  }
  join_address(membership);
}

void Service::join_address(Membership* membership) {
  Socket socket;
  if (multicast::join(interface_, membership->address, &socket).ok()) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = membership->group.id();
    if (epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, socket.fd(), &event) == 0)
      membership->socket = std::move(socket);
  }
  membership->group.set_joined(static_cast<bool>(membership->socket));
}

void Service::leave_address(Membership* membership) {
  membership->socket = Socket();
  membership->group.set_joined(false);
}

void Service::refuse_to_join(Membership* membership) {
  membership->never_joins = true;
  leave_address(membership);
}

size_t Service::joined() const {
  size_t count = 0;
  for (const auto& [id, m] : groups_) count += static_cast<bool>(m->socket);
  return count;
}

void Service::move(Membership* membership, const MulticastAddress& address) {
  ++moves_;
  const bool joined = static_cast<bool>(membership->socket);
  membership->move_to(address);
  if (joined) join_address(membership);  // otherwise it was left for others: use() joins it
}

void Service::probe(Membership* membership, const std::vector<uint32_t>& outside,
                    void (*done)(Membership*, bool)) {
  const uint32_t members = membership->group.members();
  membership->probe = {done, std::vector<bool>(members), members, 0, now_ns()};
  membership->record_heard(membership->group.me());
  for (uint32_t m : outside) membership->record_heard(m);
  changed(membership);
}

// ---- Transfers ----------------------------------------------------------------------------------

/// Called after anything that may have sent datagrams or set timers of a group.
void Service::changed(Membership* membership) {
  outbox_.flush();
  const bool others = std::exchange(turns_, flow_.turns()) != flow_.turns();
  set_next_time(membership);
  next_time_ = kNever;
  for (const auto& [id, m] : groups_) {
    if (others) set_next_time(m.get());
    next_time_ = std::min(next_time_, m->next_time);
  }
}

void Service::set_next_time(Membership* m) {
  m->next_time = std::min(m->group.next_time(), m->probe.done ? m->probe.at : kNever);
}

/// Does what is due for a group.
void Service::on_time(Membership* m, int64_t now) {
  if (m->group.next_time() <= now) m->group.on_time(now);
  Membership::Probe& probe = m->probe;
  if (!probe.done || probe.at > now) return;
  if (probe.missing == 0 || probe.round == kProbes) {
    std::exchange(probe.done, nullptr)(m, probe.missing == 0);
    return;
  }
  m->send_probe();
  probe.at = now + (kFirstProbe << probe.round);
}

void Service::send(Membership* to, const Match& match, const char* data, size_t bytes,
                   TransferCompletion* completion) {
  use(to);
  ++transfers_;
  bytes_ += bytes;
  to->group.send(match, data, bytes, completion, now_ns());
  changed(to);
}

void Service::receive(Membership* from, uint32_t root, const Match& match, char* data, size_t bytes,
                      TransferCompletion* completion) {
  use(from);
  from->group.receive(root, match, data, bytes, completion, now_ns());
  changed(from);
}

void Service::expect(Membership* from, uint32_t root, const Match& match,
                     TransferCompletion* completion) {
  use(from);
  from->group.expect(root, match, completion);
  changed(from);
}

void Service::give_up(uint64_t ctx, int32_t tag, int32_t mask) {
  for (auto& [id, m] : groups_) {
    m->group.give_up(ctx, tag, mask, now_ns());
    m->next_time = 0;
  }
  next_time_ = 0;  // the next poll handles it
  outbox_.flush();
}

// ---- Progress -----------------------------------------------------------------------------------

bool Service::quiet() const {
  if (!outbox_.empty()) return false;
  for (const auto& [id, m] : groups_)
    if (!m->group.quiet() || m->probe.done) return false;
  return true;
}

int64_t Service::longest_sleep() const {
  if (!outbox_.empty()) return kTryAgain;
  if (next_time_ == kNever) return INT64_MAX;
  return std::max<int64_t>(next_time_ - now_ns(), 1000);
}

void Service::send_batched() {
  batched_since_ = kNever;
  outbox_.release();
  outbox_.flush();
}

bool Service::arm() {
  next_check_ = 0;
  // Nothing else is to be done. (It was slower to hold them during a sleep, so that those of more
  // transfers leave together.)
  if (outbox_.holds()) send_batched();
  return true;
}

bool Service::poll() {
  if (!socket_) return false;
  const int64_t now = now_ns();
  if (now < next_check_ && now < next_time_) return false;
  next_check_ = now + kCheckInterval;
  bool any = false;
  epoll_event events[16];
  const int ready = epoll_wait(epoll_.fd(), events, 16, 0);
  for (int i = 0; i < ready; ++i) {
    const uint64_t id = events[i].data.u64;
    if (id == 0) {
      any |= receive_all(socket_, nullptr);
    } else if (Membership* m = find(id)) {
      any |= receive_all(m->socket, m);
    }
  }
  if (any) report_unexpected();
  if (any) next_check_ = 0;  // where something has arrived there is mostly more
  if (any || next_time_ <= now) {
    next_time_ = kNever;
    due_.clear();
    for (auto& [id, m] : groups_)  // functions called here may join and leave groups
      if (m->next_time <= now) due_.push_back(id);
    any |= !due_.empty();
    for (uint64_t id : due_)
      if (auto it = groups_.find(id); it != groups_.end()) on_time(it->second.get(), now);
    drop_delivered();
    for (auto& [id, m] : groups_) {
      set_next_time(m.get());
      next_time_ = std::min(next_time_, m->next_time);
    }
  }
  if (!outbox_.holds())
    batched_since_ = kNever;
  else if (batched_since_ == kNever)
    batched_since_ = now;
  else if (now - batched_since_ >= kLongestBatch)
    send_batched();
  outbox_.flush();
  return any;
}

void Service::report_unexpected() {
  due_.clear();
  for (auto& [id, m] : groups_)
    if (!m->unexpected_transfers.empty()) due_.push_back(id);
  for (uint64_t id : due_) {
    auto it = groups_.find(id);
    if (it == groups_.end()) continue;
    for (const auto& [root, match] : std::exchange(it->second->unexpected_transfers, {}))
      if (on_unexpected_ && (it = groups_.find(id)) != groups_.end())
        on_unexpected_(it->second.get(), root, match);
  }
}

/// Receives what a socket has. `joined_to`: the group whose address the socket is joined to, or
/// nullptr for the process's own socket.
bool Service::receive_all(const Socket& socket, Membership* joined_to) {
  mmsghdr messages[kBatch] = {};
  iovec places[kBatch];
  sockaddr_storage from[kBatch];
  for (size_t i = 0; i < kBatch; ++i) {
    places[i] = {&buffers_[i * buffer_], buffer_};
    messages[i].msg_hdr.msg_iov = &places[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_name = &from[i];
    messages[i].msg_hdr.msg_namelen = sizeof from[i];
  }
  const int got = recvmmsg(socket.fd(), messages, kBatch, MSG_DONTWAIT, nullptr);
  for (int i = 0; i < got; ++i)
    receive_datagram(&buffers_[static_cast<size_t>(i) * buffer_], messages[i].msg_len, from[i],
                     joined_to);
  return got > 0;
}

void Service::receive_datagram(char* datagram, size_t length, const sockaddr_storage& from,
                               Membership* joined_to) {
  DatagramHeader h;
  if (length == buffer_ || !decode(datagram, length, &h)) return stranger(joined_to);
  auto it = groups_.find(h.group);
  if (it == groups_.end()) {
    if (!answer_as_forgotten(datagram, length, h, from) &&
        (joined_to || !store_early(datagram, length, h)))
      stranger(joined_to);
    return;
  }
  Membership* m = it->second.get();
  if ((joined_to && joined_to != m) || tag_of_datagram(datagram, length, m->key) != h.tag)
    return stranger(joined_to);
  if (h.from == m->group.me()) return;  // this process's own datagram, returned by its host
  const int64_t now = now_ns();
  if (h.from < m->processes.size()) liveness::last_heard().record(m->processes[h.from], now);
  if (h.kind == DatagramKind::kProbe) return receive_probe(m, h);
  m->group.receive_datagram(h, datagram + sizeof h, length - sizeof h, now);
}

void Service::receive_probe(Membership* m, const DatagramHeader& h) {
  if (h.from >= m->group.members()) {
    ++dropped_;
  } else if (h.position % 2 == 0) {
    m->answer_probe(h.from, h.position);
  } else {
    m->record_heard(h.from);
    if (m->probe.missing == 0) m->probe.at = 0;
  }
}

void Service::stranger(Membership* joined_to) {
  ++dropped_;
  if (!joined_to || ++joined_to->strangers < kMostStrangers || joined_to->moves >= kMostMoves)
    return;
  joined_to->strangers = 0;
  if (on_collision_) on_collision_(joined_to);
}

/// Stores a datagram that was sent to this process alone, about a group that is unknown here.
bool Service::store_early(const char* datagram, size_t length, const DatagramHeader& h) {
  if ((h.kind != DatagramKind::kPoll && h.kind != DatagramKind::kAck) || length > kLongestEarly)
    return false;
  if (early_.size() == kMostEarly) {
    early_.pop_front();
    ++dropped_;
  }
  early_.emplace_back(datagram, datagram + length);
  return true;
}

void Service::receive_early(Membership* membership) {
  if (early_.empty()) return;
  std::deque<std::vector<char>> mine, others;
  for (std::vector<char>& datagram : early_) {
    DatagramHeader h;
    std::memcpy(&h, datagram.data(), sizeof h);
    (h.group == membership->group.id() ? mine : others).push_back(std::move(datagram));
  }
  early_ = std::move(others);
  for (std::vector<char>& datagram : mine)
    receive_datagram(datagram.data(), datagram.size(), sockaddr_storage{}, nullptr);
  if (!mine.empty()) changed(membership);
}

/// Answers about a group that this process has left when all was delivered: a member that has not
/// heard so asks again.
bool Service::answer_as_forgotten(const char* datagram, size_t length, const DatagramHeader& h,
                                  const sockaddr_storage& from) {
  for (const Forgotten& f : forgotten_) {
    if (f.id != h.group) continue;
    if (tag_of_datagram(datagram, length, f.key) != h.tag) return false;
    const bool asks =
        h.kind == DatagramKind::kPoll || (h.kind == DatagramKind::kData && h.flags & kAckPlease);
    if (!asks || h.from == f.me) return true;
    SocketAddress to;
    to.storage = from;
    to.length = from.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    outbox_.add(to, answer_for_forgotten(h, f.me), nullptr, 0, f.key);
    return true;
  }
  return false;
}

Service::ServiceTotals Service::totals() const {
  ServiceTotals t{entered_, moves_, transfers_, bytes_, past_repairs_, dropped_};
  for (const auto& [id, m] : groups_) {
    t.repairs += m->group.counts().repairs;
    t.dropped += m->group.counts().refused;
  }
  return t;
}

}  // namespace fgmpi::multicast
