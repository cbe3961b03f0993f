// Sends and receives through rings, and wakes senders that wait for room.

#include "transport/shm/shm.h"

#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/attach.h"
#include "base/environment.h"
#include "base/futex.h"
#include "base/settings.h"
#include "base/strings.h"
#include "transport/registry.h"
#include "transport/shm/cma.h"

namespace fgmpi::transport::shm {
namespace {

/// Most frames received from one ring before the next ring is polled.
constexpr int kBurst = 32;
/// Up to so many sources, all are awake: looking at them costs less than choosing.
constexpr size_t kAlwaysAwake = 8;
/// How many resting sources a poll looks at: a message of one among 128 waits for 15 polls at most.
constexpr size_t kRestingPerPoll = 8;
/// A source rests that has sent nothing in so many polls, some 0.2 ms.
constexpr uint32_t kPollsBeforeRest = 4096;
/// Most peers whose life is checked in one tick, by three system calls each. The watcher of
/// the next process sees an end sooner (liveness/watch.h); this check finds ends that no
/// watcher could see.
constexpr uint32_t kChecksPerTick = 16;

/// The values of FGMPI_SHM_BACKING.
enum class Backing : uint8_t { kMemfd, kFile };
static_assert(settings::has_choices(settings::kShmBacking, "memfd|shm"));
static_assert(settings::has_choices(settings::kShmPastCaches, "auto|off|on"));  // Stores::Rule

/// The size of a ring: large where few processes share the host (fewer switches when they share
/// cores), small where many do: 4 MiB a process in all. The launcher's variable has their number.
int64_t default_bulk() {
  const char* text = environment::text(environment::kLocalProcesses);
  int64_t peers = std::max<int64_t>(1, (text ? parse_int(text) : std::nullopt).value_or(65) - 1);
  return std::clamp<int64_t>(std::bit_floor<uint64_t>((4 << 20) / peers), 64 << 10, 256 << 10);
}

std::unique_ptr<Transport> make() { return std::make_unique<Shm>(); }

std::string describe(const std::string& address) {
  SegmentName name;
  if (!name.parse(address)) return "shm";
  return name.has_file ? "shm (file in /dev/shm)" : "shm (memfd)";
}

}  // namespace

extern const Registration registration;
const Registration registration{"shm", 100, make, describe};

Shm::Shm() {
  geometry_.cells = std::bit_ceil(static_cast<uint32_t>(settings::number(settings::kShmCells)));
  const int64_t bulk =
      settings::is_set(settings::kShmBulk) ? settings::number(settings::kShmBulk) : default_bulk();
  geometry_.bulk = std::bit_ceil(static_cast<uint32_t>(bulk));
  max_payload_ = std::min<size_t>(geometry_.max_payload(), 16 << 10);
  reads_allowed_ = settings::on(settings::kShmCma);
  least_read_ = settings::size(settings::kShmReadMin);
}

Status Shm::open(const Sinks& sinks, std::string* address) {
  sink_ = sinks.frames;
  rule_ = settings::choice<Stores::Rule>(settings::kShmPastCaches);
  FGMPI_TRY(segment_.create(geometry_,
                            settings::choice<Backing>(settings::kShmBacking) == Backing::kMemfd));
  registered_ = register_barrier();
  segment_.header()->asymmetric = registered_;
  *address = segment_.name().to_string();
  return {};
}

bool Shm::reaches(const std::string& address) const {
  SegmentName name;
  return name.parse(address) && name.host == segment_.name().host;
}

Status Shm::add_peer(uint32_t process, const std::string& address, uint64_t* local) {
  auto peer = std::make_unique<ShmPeer>();
  if (!peer->name.parse(address))
    return error(MPI_ERR_OTHER,
                 "process %u published \"%s\"; allowed is an address that begins with shm3:",
                 process, escaped(address).c_str());
  peer->process = process;
  // A name that will be unlinked must be opened now; a memfd can wait for the first send.
  if (peer->name.has_file) FGMPI_TRY(connect(peer.get()));
  *local = reinterpret_cast<uint64_t>(peer.get());
  by_process_[process] = peer.get();
  peers_.push_back(std::move(peer));
  return {};
}

/// Maps the control part of the peer's segment, where its doorbell is. *fd: the segment.
Status Shm::map_doorbell(ShmPeer* peer, int* fd) {
  SegmentHeader* header = nullptr;
  FGMPI_TRY(open_peer(peer->name, fd, &header, &peer->geometry));
  if (peer->header) unmap_control(peer->header);
  peer->header = header;
  peer->light = registered_ && header->asymmetric;
  return {};
}

/// Maps the peer's segment and claims a ring in it.
Status Shm::connect(ShmPeer* peer) {
  int fd = -1;
  FGMPI_TRY(map_doorbell(peer, &fd));
  const Geometry geometry = peer->geometry;
  Status status;
  uint32_t slot = peer->header->claimed.load();
  while (slot < kSlots && !peer->header->claimed.compare_exchange_weak(slot, slot + 1)) {
  }
  if (slot >= kSlots)
    status = error(MPI_ERR_OTHER, "process %u has %u senders on its host; that is the most",
                   peer->process, kSlots);
  else if (geometry.max_payload() < max_payload_)
    status = error(
        MPI_ERR_OTHER,
        "process %u has a smaller FGMPI_SHM_BULK (%u) than this one (%u); allowed is one value",
        peer->process, geometry.bulk, geometry_.bulk);
  else
    status = map_ring(fd, geometry, slot, peer->name, &peer->ring);
  ::close(fd);
  if (!status.ok()) {
    disconnect(peer);
    return status;
  }
  peer->slot = &slot_controls(peer->header)[slot];
  peer->writer = RingWriter(peer->ring, &peer->slot->credits, geometry, rule_);
  return {};
}

void Shm::disconnect(ShmPeer* peer) {
  peer->writer = RingWriter();
  if (peer->ring) unmap_ring(peer->ring, peer->geometry);
  if (peer->header) unmap_control(peer->header);
  if (peer->pipe >= 0) ::close(peer->pipe);
  peer->ring = nullptr;
  peer->header = nullptr;
  peer->slot = nullptr;
  peer->pipe = -1;
}

bool Shm::try_send(uint32_t, uint64_t handle, const Header& header, const void* payload,
                   size_t length) {
  FGMPI_ASSERT(length <= max_payload_);
  ShmPeer* peer = reinterpret_cast<ShmPeer*>(handle);
  if (__builtin_expect(!peer->announced || !peer->writer.push(header, payload, length), 0))
    return slow_send(peer, header, payload, length);
  ring_if_armed(peer->header, peer->light, peer->name.pid, &peer->pipe);
  return true;
}

char* Shm::try_reserve(uint32_t, uint64_t handle, size_t length) {
  FGMPI_ASSERT(length <= max_payload_);
  auto* peer = reinterpret_cast<ShmPeer*>(handle);
  return peer->announced && !peer->gone && length > kInline ? peer->writer.reserve(length)
                                                            : nullptr;
}

void Shm::send_reserved(uint32_t, uint64_t handle, const Header& header, size_t length) {
  auto* peer = reinterpret_cast<ShmPeer*>(handle);
  peer->writer.push_reserved(header, length);
  ring_if_armed(peer->header, peer->light, peer->name.pid, &peer->pipe);
}

bool Shm::slow_send(ShmPeer* peer, const Header& header, const void* payload, size_t length) {
  if (peer->gone) return true;
  if (!peer->announced) {
    Status status = peer->slot ? Status() : connect(peer);
    if (!status.ok()) {
      peer->gone = true;
      failures_.emplace_back(peer->process, status.what());
      return true;
    }
    SlotControl::SlotSender& sender = peer->slot->sender;
    sender.process = header.src_process;
    sender.pid = getpid();
    sender.ready.store(kReady, std::memory_order_release);  // pairs with adopt_sources()
    peer->announced = true;
    return try_send(peer->process, reinterpret_cast<uint64_t>(peer), header, payload, length);
  }
  if (!peer->starving) {
    peer->starving = true;
    starving_.push_back(peer);
  }
  ask_for_room(&peer->slot->sender.wants_room);
  if (peer->writer.refresh())
    return try_send(peer->process, reinterpret_cast<uint64_t>(peer), header, payload, length);
  return false;
}

/// False where the peer cannot be woken: it has ended, or its loss is reported by the next poll().
bool Shm::has_doorbell(ShmPeer* peer) {
  if (__builtin_expect(peer->header != nullptr, 1)) return !peer->gone;
  if (peer->gone) return false;
  int fd = -1;
  const Status status = map_doorbell(peer, &fd);
  if (fd >= 0) ::close(fd);
  if (!status.ok()) failures_.emplace_back(peer->process, status.what());
  return status.ok();
}

void Shm::wake(uint64_t handle) {
  auto* peer = reinterpret_cast<ShmPeer*>(handle);
  if (has_doorbell(peer)) ring_if_armed(peer->header, peer->light, peer->name.pid, &peer->pipe);
}

bool Shm::sleeps(uint64_t handle) {
  auto* peer = reinterpret_cast<ShmPeer*>(handle);
  if (!has_doorbell(peer)) return false;
  light_fence(peer->light);
  return peer->header->armed.load(std::memory_order_relaxed) != kAwake;
}

void Shm::expose(uint32_t, uint64_t handle, size_t length) {
  if (reads_allowed_ && length >= least_read_)
    attach_permission().allow(reinterpret_cast<ShmPeer*>(handle)->name.pid);
}

ReadResult Shm::read(uint32_t process, uint64_t handle, uint64_t remote, void* local, size_t length,
                     uint64_t) {
  ShmPeer* peer = reinterpret_cast<ShmPeer*>(handle);
  if (!reads_allowed_ || peer->no_reads || length < least_read_) return ReadResult::kUnsupported;
  std::string why;
  ReadResult result = read_memory(peer->name.pid, remote, local, length, &why);
  if (result == ReadResult::kUnsupported) peer->no_reads = true;
  if (result == ReadResult::kFailed) failures_.emplace_back(process, why);
  return result;
}

bool Shm::poll() {
  bool any = false;
  if (__builtin_expect(segment_.header()->claimed.load(std::memory_order_relaxed) != adopted_ ||
                           !pending_.empty(),
                       0))
    any |= adopt_sources();
  for (size_t i = 0; i < awake_sources_; ++i)
    if (sources_[i].reader.ready()) any |= drain(&sources_[i]);
  if (__builtin_expect(sources_.size() > kAlwaysAwake, 0)) {
    any |= poll_resting(std::exchange(poll_all_, false) ? sources_.size() : kRestingPerPoll);
    if (++polls_ >= kPollsBeforeRest) rest_quiet_sources();
  }
  if (__builtin_expect(!starving_.empty(), 0)) any |= retry_starving();
  if (__builtin_expect(!failures_.empty(), 0)) report_failures();
  if (__builtin_expect(!waits_.empty(), 0)) any |= end_waits();
  return any;
}

/// Looks at the next `most` resting sources; those that have sent something are awake from then on.
bool Shm::poll_resting(size_t most) {
  bool any = false;
  for (size_t n = std::min(most, sources_.size() - awake_sources_); n > 0; --n) {
    if (next_resting_ < awake_sources_ || next_resting_ >= sources_.size())
      next_resting_ = awake_sources_;
    IncomingRing& source = sources_[next_resting_++];
    if (!source.reader.ready() || source.broken) continue;
    std::swap(source, sources_[awake_sources_]);
    any |= drain(&sources_[awake_sources_++]);
  }
  return any;
}

/// Lets the sources rest that have sent nothing since the last call.
void Shm::rest_quiet_sources() {
  polls_ = 0;
  for (size_t i = 0; i < awake_sources_;) {
    if (std::exchange(sources_[i].has_sent, false))
      ++i;
    else
      std::swap(sources_[i], sources_[--awake_sources_]);
  }
}

/// Delivers frames of one ring, up to kBurst.
bool Shm::drain(IncomingRing* source) {
  if (source->broken) return false;
  source->has_sent = true;
  RingFrame frame;
  for (int i = 0; i < kBurst; ++i) {
    RingReader::Next next = source->reader.peek(&frame);
    if (next == RingReader::Next::kNone) break;
    if (next == RingReader::Next::kBad) {
      refuse(source, "it wrote a frame of impossible length");
      break;
    }
    const uint64_t before = frame.timed ? ticks() : 0;
    if (__builtin_expect(frame.header.src_process != source->peer->process, 0))
      ++refused_;
    else
      sink_->deliver(frame.header, frame.payload, frame.length);
    if (frame.timed) source->reader.took(frame, ticks() - before);
    if (source->reader.consume(frame)) wake_starving_sender(source);
  }
  return true;
}

void Shm::refuse(IncomingRing* source, const char* what) {
  ++refused_;
  source->broken = true;
  failures_.emplace_back(source->peer->process, what);
}

/// Called when credits were published: wakes the sender if it waits for room.
void Shm::wake_starving_sender(IncomingRing* source) {
  if (!is_room_wanted(&source->slot->sender.wants_room)) return;
  ShmPeer* peer = source->peer;
  if (peer->gone) return;
  if (!peer->header) {
    Status status = connect(peer);
    if (!status.ok()) {
      failures_.emplace_back(peer->process, status.what());
      return;
    }
  }
  ring_if_armed(peer->header, false, peer->name.pid, &peer->pipe);
}

/// Examines slots that were claimed since the last call; true when one became a source.
bool Shm::adopt_sources() {
  uint32_t claimed = std::min(segment_.header()->claimed.load(std::memory_order_acquire), kSlots);
  while (adopted_ < claimed) pending_.push_back(adopted_++);
  bool any = false;
  for (size_t i = 0; i < pending_.size();) {
    SlotControl* slot = &segment_.controls()[pending_[i]];
    // The load of `ready` acquires the sender's other fields, which slow_send() has set before.
    // A sender that add_peer() has not introduced yet stays pending until it has; one that is not
    // of the job stays pending for ever.
    auto peer = slot->sender.ready.load(std::memory_order_acquire) == kEmpty
                    ? by_process_.end()
                    : by_process_.find(slot->sender.process);
    if (peer == by_process_.end() || peer->second->name.pid != slot->sender.pid ||
        peer->second->sends) {
      ++i;
      continue;
    }
    peer->second->sends = true;
    sources_.push_back(
        {RingReader(segment_.ring(pending_[i]), &slot->credits, geometry_), slot, peer->second});
    std::swap(sources_.back(), sources_[awake_sources_++]);
    pending_[i] = pending_.back();
    pending_.pop_back();
    any = true;
  }
  return any;
}

/// True when a peer whose ring was full has room now, so that deferred frames can be sent.
bool Shm::retry_starving() {
  bool any = false;
  for (size_t i = 0; i < starving_.size();) {
    ShmPeer* peer = starving_[i];
    if (!peer->gone && !has_room(&peer->writer, &peer->slot->sender.wants_room)) {
      ++i;
      continue;
    }
    peer->starving = false;
    starving_[i] = starving_.back();
    starving_.pop_back();
    any = true;
  }
  return any;
}

void Shm::report_failures() {
  auto failures = std::move(failures_);
  failures_.clear();
  for (auto& [process, why] : failures) sink_->peer_failed(process, why);
}

bool Shm::has_pending_work() {
  for (IncomingRing& source : sources_)
    if (!source.broken && source.reader.ready()) return true;
  return !failures_.empty() || any_is_over() || segment_.header()->claimed.load() != adopted_ ||
         adopt_sources() || retry_starving();
}

bool Shm::arm() {
  // A process that add_peer() has yet to introduce cannot deliver anything: without peers no other
  // process need pass a fence. The call interrupts every processor that runs a registered process.
  arm_doorbell(segment_.header(), pipe_[0] < 0 ? kOnFutex : kOnPipe,
               registered_ && !peers_.empty());
  if (!has_pending_work()) return true;
  disarm();
  return false;
}

void Shm::disarm() {
  poll_all_ = true;
  uint32_t before = segment_.header()->armed.exchange(kAwake);
  if (pipe_[0] < 0) return;
  // A ringing peer first resets the word and then writes its byte, perhaps when this process is
  // awake for another reason and asleep again. A byte that is not read here would end every
  // later sleep.
  bytes_due_ += before == kAwake;
  if (bytes_due_ == 0) return;
  char bytes[64];
  ssize_t n = ::read(pipe_[0], bytes, sizeof bytes);
  if (n > 0) bytes_due_ -= std::min<uint32_t>(bytes_due_, static_cast<uint32_t>(n));
}

void Shm::sleep(int64_t timeout_ns) {
  futex_wait(&segment_.header()->armed, kOnFutex, timeout_ns, FutexScope::kShared);
}

void Shm::interrupt() {
  std::atomic<uint32_t>& armed = segment_.header()->armed;
  if (armed.exchange(kAwake) == kOnFutex) futex_wake(&armed, FutexScope::kShared);
}

int Shm::use_wait_fd() {
  if (pipe_[0] < 0 && pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) == 0) segment_.header()->pipe = pipe_[1];
  return pipe_[0];
}

bool Shm::tick() {
  // Where the job goes on without failed processes, all peers are checked, also those without any
  // traffic so far: a rank may wait for a first message from them.
  const bool all = environment::text(environment::kFt) != nullptr;
  const size_t most = all ? peers_.size() : std::min<size_t>(kChecksPerTick, peers_.size());
  bool any = false;
  adopt_sources();
  for (size_t i = 0; i < most; ++i) {
    ShmPeer* peer = peers_[next_check_++ % peers_.size()].get();
    if (!peer->gone && (all || peer->header || peer->sends)) any |= check_gone(peer);
  }
  report_failures();
  return any;
}

/// True when the peer's process has ended. What it sent before is received; unless the peer has
/// closed its transport, its loss is to be reported.
bool Shm::check_gone(ShmPeer* peer) {
  int fd = static_cast<int>(syscall(SYS_pidfd_open, peer->name.pid, 0));
  // A kernel without pidfd_open (before 5.3) shows a process until its parent has waited for it.
  bool dead = fd < 0 && (errno == ESRCH || (kill(peer->name.pid, 0) && errno == ESRCH));
  if (fd >= 0) {
    pollfd ended{fd, POLLIN, 0};
    dead = ::poll(&ended, 1, 0) == 1;
    ::close(fd);
  }
  if (!dead) return false;
  bool finished = peer->header && peer->header->closed.load();
  for (IncomingRing& source : sources_) {
    if (source.peer != peer) continue;
    while (source.reader.ready() && drain(&source)) {  // what it sent before is delivered
    }
    finished |= source.slot->sender.ready.load() == kFinished;
  }
  peer->gone = true;
  peer->writer = RingWriter();
  peer->announced = false;
  if (!finished || environment::text(environment::kFt) != nullptr)
    failures_.emplace_back(
        peer->process,
        finished ? "" : format("process id %d of this host has ended", peer->name.pid));
  return true;
}

void Shm::close() {
  if (!segment_.header()) return;
  segment_.header()->closed = 1;
  for (auto& peer : peers_) {
    if (peer->announced) peer->slot->sender.ready = kFinished;
    disconnect(peer.get());
  }
  sources_.clear();
  awake_sources_ = 0;
  pending_.clear();
  starving_.clear();
  by_process_.clear();
  peers_.clear();
  segment_.close();
  for (int& end : pipe_) {
    if (end >= 0) ::close(end);
    end = -1;
  }
}

}  // namespace fgmpi::transport::shm
