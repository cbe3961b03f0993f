// The links of this process: listening, opening, accepting newcomers, ending.

#include "dynamic/links.h"

#include <mpi.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/attach.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/settings.h"
#include "base/stand_still.h"
#include "base/strings.h"
#include "ch4-av-rankmap/mlut.h"
#include "dynamic/deadline_waiter.h"
#include "dynamic/link_ends.h"
#include "pt2pt/engine.h"
#include "transport/host_id.h"
#include "transport/random.h"
#include "transport/registry.h"
#include "transport/shm/cma.h"

namespace fgmpi::dynamic {

using transport::Header;
using transport::LendResult;
using transport::ReadResult;

namespace {

/// While all frames come through rings, only one in this many polls reads the sockets.
constexpr uint32_t kPollsPerLook = 16;
constexpr size_t kMostNewcomers = 1024;  ///< connections that have not sent a hello
/// How long a process that ends waits until another job's process has read what was sent to it.
/// The other process may compute for that long without polling. What has not left after this time
/// is lost.
constexpr int64_t kFlush = 300 * kSecond;

Status (*g_opened)(Links&) = nullptr;
bool (*g_port)(const StreamHello&, int) = nullptr;

[[maybe_unused]] const bool g_counter_provided =
    (counters::provide(counters::kStrangers, [](const void*) { return links().strangers(); }),
     true);

}  // namespace

Links& links() {
  static Links* all = new Links;
  return *all;
}
void set_links_opened_handler(Status (*handler)(Links&)) { g_opened = handler; }
void set_port_handler(bool (*handler)(const StreamHello&, int)) { g_port = handler; }

StreamHello make_hello(StreamHello::Kind kind, const SecretKey& key) {
  StreamHello hello{};
  std::memcpy(hello.magic, StreamHello::kMagic, sizeof hello.magic);
  hello.kind = kind;
  hello.key = key;
  hello.from = g_process_groups.own();
  hello.from_process = g_av.me();
  return hello;
}

// ---- Streams ------------------------------------------------------------------------------------

class Links::Listener final : public SocketStream {
 public:
  explicit Listener(int fd) { adopt(fd, true); }

 private:
  void on_ready(uint32_t) override {
    for (int k = 0; k < 64; ++k) {
      const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) return;
      links().add_accepted_stream(fd);
    }
  }
  size_t on_bytes(const uint8_t*, size_t count) override { return count; }
  void on_end(const std::string&) override {}
};

/// A connection that has yet to send its hello.
class AcceptedStream final : public SocketStream {
 public:
  explicit AcceptedStream(int fd) : since(now_ns()) { adopt(fd, true); }
  const int64_t since;

 private:
  size_t wanted() const override { return sizeof hello_ - received_; }
  size_t on_bytes(const uint8_t* bytes, size_t count) override {
    std::memcpy(reinterpret_cast<uint8_t*>(&hello_) + received_, bytes, count);
    received_ += count;
    if (received_ < sizeof hello_) return count;
    if (!links().accept_hello(hello_, this)) ++links().strangers_;
    leave();
    return count;
  }
  void on_end(const std::string&) override { leave(); }
  void leave() {
    auto node = links().streams_.extract(this);
    if (node) g_poller.destroy(std::move(node.mapped()));
  }
  StreamHello hello_{};
  size_t received_ = 0;
};

// ---- Opening ------------------------------------------------------------------------------------

Status Links::listen() {
  if (listening_) return {};
  shared_ = transport::is_wanted("shm");
  if (shared_ && settings::on(settings::kShmCma))
    least_read_ = settings::size(settings::kShmReadMin);
  uint64_t number;
  transport::random_bytes(&number, sizeof number);
  contact_.name = format("%016llx", static_cast<unsigned long long>(number));
  contact_.host_id = transport::host_id();
  key_ = SecretKey::draw();
  if (g_poller.descriptor() < 0)
    return error(MPI_ERR_OTHER, "no descriptor for connections with other jobs: %s",
                 std::strerror(errno));
  int fd = listen_locally(contact_.name);
  if (fd >= 0) listeners_.push_back(std::make_unique<Listener>(fd));
  fd = listen_to_network(&contact_.port);
  if (fd >= 0) {
    listeners_.push_back(std::make_unique<Listener>(fd));
    contact_.addresses = own_addresses();
  }
  if (listeners_.empty())
    return error(MPI_ERR_OTHER, "no socket for connections with other jobs can be opened: %s",
                 std::strerror(errno));
  g_process_groups.set_watcher({[](uint32_t pgid) { links().added(pgid); },
                                [](uint32_t pgid) { links().removing(pgid); },
                                [] { links().removed(); }});
  FGMPI_TRY(g_opened(*this));
  g_process_groups.set_card(0, g_av.me(), own_card());
  listening_ = true;
  return {};
}

void Links::add_accepted_stream(int fd) {
  size_t newcomers = 0;
  for (auto& [stream, owner] : streams_)
    newcomers += dynamic_cast<AcceptedStream*>(stream) != nullptr;
  if (newcomers >= kMostNewcomers) {
    ++strangers_;
    ::close(fd);
    return;
  }
  auto accepted = std::make_unique<AcceptedStream>(fd);
  SocketStream* raw = accepted.get();
  streams_[raw] = std::move(accepted);
}

/// Makes a newcomer a link or a port's caller. Returns false for a stranger.
bool Links::accept_hello(const StreamHello& hello, AcceptedStream* accepted) {
  if (std::memcmp(hello.magic, StreamHello::kMagic, sizeof hello.magic) != 0) return false;
  if (hello.kind == StreamHello::kPort) {
    if (!g_port) return false;
    const int fd = accepted->release();
    if (g_port(hello, fd)) return true;
    ::close(fd);
    return false;
  }
  if (hello.kind != StreamHello::kLink || !hello.key.same(key_) ||
      hello.to != g_process_groups.own() || hello.to_process != g_av.me())
    return false;
  auto link = std::make_unique<InLink>(accepted->release(), hello);
  InLink* raw = link.get();
  streams_[raw] = std::move(link);
  peer_of(raw);
  return true;
}

// ---- Groups -------------------------------------------------------------------------------------

void Links::added(uint32_t pgid) {
  ++changes_;
  pt2pt::set_processes(g_av.all_processes(), this);
  std::vector<ForeignProcess>& peers = peers_[pgid];
  peers.resize(g_process_groups.processes(pgid));
  for (uint32_t index = 0; index < peers.size(); ++index) {
    ForeignProcess& peer = peers[index];
    peer.process = g_process_groups.first_process(pgid) + index;
    peer.pgid = pgid;
    peer.index = index;
    if (const auto unsettled = unsettled_.extract({g_process_groups.uid(pgid), index}); unsettled)
      peer.awaited = unsettled.mapped();
    g_av.set_address(peer.process, reinterpret_cast<uintptr_t>(&peer), true);
  }
  auto paused = std::move(paused_);
  paused_.clear();
  for (InLink* link : paused) {
    if (g_process_groups.find(link->uid) != pgid) {
      paused_.push_back(link);
      continue;
    }
    link->pause(false);
  }
}

void Links::removing(uint32_t pgid) {
  ++changes_;
  for (ForeignProcess& peer : peers_[pgid]) {
    send_bye(&peer, ByeReason::kDisconnected);
    std::erase_if(suspects_, [&](const Suspect& s) { return s.peer == &peer; });
    std::erase_if(failures_, [&](const Failure& f) { return f.process == peer.process; });
    pt2pt::forget_process(peer.process);
    settle(g_process_groups.uid(pgid), peer.index, peer.awaited);
  }
  peers_.erase(pgid);
}

void Links::removed() {
  pt2pt::set_processes(g_av.all_processes(), this);
  count_alive();
}

bool Links::own(uint32_t process) const { return process < g_av.processes(); }

void Links::count_alive() {
  // A suspect, and a loss that is still to be reported, will yet have an effect, so no deadlock may
  // be reported before that.
  bool any = !suspects_.empty() || !failures_.empty();
  for (const auto& [pgid, peers] : peers_)
    for (const ForeignProcess& peer : peers)
      any |= peer.alive() && (peer.out || peer.in || peer.awaited > 0);
  pt2pt::set_connected_to_others(any && !closing_);
}

void Links::open_to(const RankMap& map) {
  std::vector<uint32_t> processes;
  for (int32_t global : map.encoded().expand()) {
    const uint32_t process = g_av.process_of(static_cast<uint32_t>(global));
    if (!own(process) && (processes.empty() || processes.back() != process))
      processes.push_back(process);
  }
  for (uint32_t process : processes) {
    const uint32_t pgid = g_process_groups.group_of_process(process);
    announce_comm_here(&peers_[pgid][process - g_process_groups.first_process(pgid)]);
  }
}

/// Announces a communicator to this peer.
void Links::announce_comm_here(ForeignProcess* peer) {
  ++peer->awaited;
  OutLink* link = out_of(peer);
  if (!link) return;
  link->send_own(kHere, 0);
  count_alive();
}

/// The connection to a peer, opened if need be; nullptr when the peer is lost.
OutLink* Links::out_of(ForeignProcess* peer) {
  if (peer->out || peer->failed) return peer->out;
  const std::string& text = g_process_groups.card(peer->pgid, peer->index);
  ProcessCard card;
  if (!card.parse(text)) {
    lose(peer, "how it is reached is not known");
    return nullptr;
  }
  auto link = std::make_unique<OutLink>();
  OutLink* raw = link.get();
  streams_[raw] = std::move(link);
  raw->peer = peer;
  peer->out = raw;
  StreamHello hello = make_hello(StreamHello::kLink, card.key);
  hello.to = g_process_groups.uid(peer->pgid);
  hello.to_process = peer->index;
  hello.number = ++opened_;
  raw->write(&hello, sizeof hello, nullptr, 0);
  raw->connect(addresses_of(card.contact));
  count_alive();
  return peer->out;
}

void Links::send_bye(ForeignProcess* peer, ByeReason reason) {
  OutLink* link = peer->out;
  if (!link) return;
  link->send_own(kBye, static_cast<int32_t>(reason));
  link->peer = nullptr;
  link->closes_when_empty = true;
  peer->out = nullptr;
  if (link->open() && link->all_left()) link->shut_down();
}

// ---- Frames out ---------------------------------------------------------------------------------

size_t Links::max_payload() const {
  return inner_ ? std::min(inner_->max_payload(), kPayload) : kPayload;
}
size_t Links::most_unasked() const {
  return inner_ ? std::max(inner_->most_unasked(), kPayload) : kPayload;
}

bool Links::try_send(uint32_t process, uint64_t handle, const Header& header, const void* payload,
                     size_t length) {
  if (own(process)) return inner_->try_send(process, handle, header, payload, length);
  auto* peer = reinterpret_cast<ForeignProcess*>(handle);
  OutLink* link = out_of(peer);
  if (!link) {  // lost, or has ended: the frame is dropped, as by other transports
    pt2pt::discount_frames(1, 0);
    return true;
  }
  Header sent = header;
  if (sent.dst_local == transport::kProcessEndpoint)
    sent.src_rank = pt2pt::source_to_travel(sent.src_rank);
  if (!link->send(sent, payload, length)) return false;
  pt2pt::discount_frames(1, 0);
  return true;
}

LendResult Links::try_lend(uint32_t process, uint64_t peer, const Header& header,
                           const void* payload, size_t length, void* lender) {
  if (own(process)) return inner_->try_lend(process, peer, header, payload, length, lender);
  return try_send(process, peer, header, payload, length) ? LendResult::kSent : LendResult::kNoRoom;
}

void Links::expose(uint32_t process, uint64_t handle, size_t length) {
  if (own(process)) {
    if (transport::MemoryReader* reader = inner_->memory_reader())
      reader->expose(process, handle, length);
    return;
  }
  const auto* peer = reinterpret_cast<ForeignProcess*>(handle);
  const pid_t reader = length >= least_read_ && peer->out ? peer->out->peer_process() : 0;
  if (reader > 0) attach_permission().allow(reader);
}

ReadResult Links::read(uint32_t process, uint64_t handle, uint64_t remote, void* local,
                       size_t length, uint64_t cookie) {
  if (own(process)) {
    transport::MemoryReader* reader = inner_->memory_reader();
    return reader ? reader->read(process, handle, remote, local, length, cookie)
                  : ReadResult::kUnsupported;
  }
  auto* peer = reinterpret_cast<ForeignProcess*>(handle);
  if (length < least_read_ || peer->no_reads || !peer->in) return ReadResult::kUnsupported;
  const pid_t owner = peer->in->peer_process();
  std::string why;
  const ReadResult result = owner > 0
                                ? transport::shm::read_memory(owner, remote, local, length, &why)
                                : ReadResult::kUnsupported;
  if (result == ReadResult::kUnsupported) peer->no_reads = true;
  if (result == ReadResult::kFailed) failures_.push_back({process, why});
  return result;
}

// ---- Frames in ----------------------------------------------------------------------------------

/// The peer that writes on a link; nullptr while this process does not know its job.
ForeignProcess* Links::peer_of(InLink* link) {
  if (link->seen_changes == changes_) return link->peer;
  link->seen_changes = changes_;
  link->peer = nullptr;
  const uint32_t pgid = g_process_groups.find(link->uid);
  if (pgid == ProcessGroups::kNone || pgid == 0 || link->index >= g_process_groups.processes(pgid))
    return nullptr;
  link->peer = &peers_[pgid][link->index];
  if (link->number > link->peer->in_number) {
    link->peer->in_number = link->number;
    link->peer->in = link;
    link->peer->bye_received = link->bye_received;
    count_alive();
  }
  link->peer_was_known = true;
  return link->peer;
}

bool Links::is_early(const InLink& link) const {
  const auto unsettled = unsettled_.find({link.uid, link.index});
  return !link.peer_was_known || (unsettled != unsettled_.end() && unsettled->second < 0);
}

/// Adds to `awaited` of a process whose job is not known.
void Links::settle(const GroupUid& uid, uint32_t index, int32_t awaited) {
  const auto unsettled = unsettled_.try_emplace({uid, index}, 0).first;
  if ((unsettled->second += awaited) == 0) unsettled_.erase(unsettled);
}

/// True for notices about communicators with members of several jobs. Other notices stay in
/// one job.
bool may_travel(int notice) {
  return notice == pt2pt::kNoticeAgree || notice == pt2pt::kNoticeCollective ||
         notice == pt2pt::kNoticeRma || notice == pt2pt::kNoticeFile;
}

/// Delivers a frame. Returns false if the frame is malformed.
bool Links::deliver(InLink* link, Header header, const void* payload, size_t length) {
  ForeignProcess* peer = peer_of(link);
  if (header.src_process != link->index) return false;
  if (header.kind == kBye) {
    link->bye_received = true;
    if (peer && peer->in == link) on_bye(peer);
    return true;
  }
  if (header.kind == kHere) {
    if (peer)
      --peer->awaited;
    else
      settle(link->uid, link->index, -1);
    return true;
  }
  if (!peer) return true;  // of communicators that were freed here
  if (header.kind == pt2pt::kNotice && !may_travel(header.tag)) return false;
  header.src_process = peer->process;
  if (header.dst_local == transport::kProcessEndpoint)
    header.src_rank = pt2pt::source_from_travel(header.src_rank, peer->process);
  const uint64_t before = pt2pt::g_engine.frames_received();
  if (!closing_) sink_->deliver(header, payload, length);
  pt2pt::discount_frames(0, pt2pt::g_engine.frames_received() - before);
  return true;
}

void Links::on_bye(ForeignProcess* peer) {
  peer->bye_received = true;
  count_alive();
}

// ---- Ends ---------------------------------------------------------------------------------------

void Links::in_ended(InLink* link, const std::string& why) {
  std::erase(paused_, link);
  std::erase(rings_, link);
  ForeignProcess* peer = peer_of(link);
  const bool last = peer && peer->in == link, expected = link->bye_received;
  if (last) peer->in = nullptr;
  auto node = streams_.extract(link);
  if (node) g_poller.destroy(std::move(node.mapped()));
  if (!last) return;
  if (!expected) lose(peer, why);
  count_alive();
}

/// Handles the end of a connection that this process writes: the other side has read our bye, or it
/// has ended or been lost itself.
void Links::out_ended(OutLink* link, const std::string& why) {
  ForeignProcess* peer = link->peer;
  std::erase(starving_, link);
  auto node = streams_.extract(link);
  if (node) g_poller.destroy(std::move(node.mapped()));
  if (!peer) return;
  peer->out = nullptr;
  peer->failed = true;
  suspects_.push_back({peer, why});
  count_alive();
}

/// True if there are unread bytes that may come from this peer.
bool Links::may_have_unread_frames(const ForeignProcess& peer) const {
  for (const auto& listener : listeners_)
    if (listener->has_news()) return true;
  const GroupUid& uid = g_process_groups.uid(peer.pgid);
  for (const auto& [stream, owner] : streams_) {
    const auto* in = dynamic_cast<const InLink*>(stream);
    const bool concerned = in ? in->uid == uid && in->index == peer.index
                              : dynamic_cast<const AcceptedStream*>(stream) != nullptr;
    if (concerned && (stream->has_news() || (in && in->ring() && in->ring()->ready()))) return true;
  }
  return false;
}

/// Decides about suspects: each has left in order or is lost, which is certain as soon as all that
/// it has sent was read.
void Links::judge_suspects() {
  for (size_t i = 0; i < suspects_.size();) {
    const Suspect suspect = suspects_[i];
    if (!suspect.peer->has_left() && may_have_unread_frames(*suspect.peer)) {
      ++i;
      continue;
    }
    suspects_.erase(suspects_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!suspect.peer->has_left()) lose(suspect.peer, suspect.why);
  }
  count_alive();
}

void Links::lose(ForeignProcess* peer, const std::string& why) {
  const bool recorded = std::any_of(failures_.begin(), failures_.end(),
                                    [&](const Failure& f) { return f.process == peer->process; });
  peer->failed = true;
  if (!recorded && !closing_) failures_.push_back({peer->process, why});
}

void Links::report() {
  auto failures = std::move(failures_);
  failures_.clear();
  for (const Failure& f : failures) sink_->peer_failed(f.process, f.why);
}

// ---- The transport's other calls ----------------------------------------------------------------

bool Links::poll() {
  bool any = inner_ && inner_->poll();
  // The loop uses indices, as a ring whose writer misbehaves is removed from the list.
  for (size_t i = 0; i < rings_.size(); ++i) any |= rings_[i]->drain(InLink::kBurst);
  if (__builtin_expect(!starving_.empty(), 0)) made_room_ |= check_for_room();
  if (rings_.empty() || polls_++ % kPollsPerLook == 0) any |= g_poller.poll();
  any |= DeadlineWaiter::check_deadlines();
  if (__builtin_expect(!suspects_.empty(), 0)) judge_suspects();
  if (__builtin_expect(!failures_.empty(), 0)) report();
  if (made_room_) any = true, made_room_ = false;
  return any;
}

/// Returns true when a connection whose ring was full has room now.
bool Links::check_for_room() {
  const std::vector<OutLink*> checked = std::move(starving_);
  starving_.clear();
  bool any = false;
  for (OutLink* link : checked) {
    if (link->check_for_room())
      any = true;
    else
      starving_.push_back(link);
  }
  return any;
}

bool Links::arm() {
  if (!failures_.empty() || !suspects_.empty() || made_room_) return false;
  if (rings_.empty() && starving_.empty()) return true;
  for (InLink* link : rings_) link->ring()->sleep();
  fence_for_sleep();
  const bool ready =
      std::any_of(rings_.begin(), rings_.end(), [](InLink* link) { return link->ring_has_news(); });
  if (!ready && !check_for_room()) return true;
  disarm();
  return false;
}

void Links::disarm() {
  for (InLink* link : rings_) link->ring()->wake();
  polls_ = 0;  // what has ended the sleep may be on a socket
}

int Links::wait_fd() const { return g_poller.descriptor(); }

int64_t Links::longest_sleep() const {
  return std::min(g_poller.longest_sleep(), DeadlineWaiter::until_next_deadline());
}

/// Closes the connections of newcomers that send nothing, and paused connections of a job that has
/// gone without ever being known here.
bool Links::tick() {
  std::vector<SocketStream*> silent;
  const int64_t now = now_ns();
  for (auto& [stream, owner] : streams_)
    if (auto* accepted = dynamic_cast<AcceptedStream*>(stream);
        accepted && now - accepted->since > 10 * kSecond)
      silent.push_back(stream);
  std::vector<InLink*> gone;
  for (InLink* link : paused_)
    if (link->hung_up() && now - link->paused_since > kFlush) gone.push_back(link);
  for (InLink* link : gone) {
    link->close();
    in_ended(link, "it has closed the connection");
  }
  for (SocketStream* stream : silent) {
    ++strangers_;
    g_poller.destroy(std::move(streams_.extract(stream).mapped()));
  }
  return false;
}

void Links::close() {
  if (!listening_) return;
  closing_ = true;
  for (auto& [pgid, peers] : peers_)
    for (ForeignProcess& peer : peers) send_bye(&peer, ByeReason::kEnded);
  // Connections that others write are not closed until the others have our byes (links.h).
  auto under_way = [&] {
    return std::any_of(streams_.begin(), streams_.end(),
                       [](auto& entry) { return entry.first->under_way(); });
  };
  const int64_t deadline = now_ns() + kFlush;
  while (under_way() && now_ns() < deadline)
    if (!check_for_room() && !g_poller.poll()) stand_still(100'000);
  rings_.clear();
  starving_.clear();
  while (!streams_.empty())
    g_poller.destroy(std::move(streams_.extract(streams_.begin()).mapped()));
  listeners_.clear();
}

}  // namespace fgmpi::dynamic
