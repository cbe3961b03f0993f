// The endpoint: how it sends, receives, makes progress, and handles errors.

#include "transport/ofi/ofi.h"

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/assert.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/host_name.h"
#include "base/library_call.h"
#include "base/process_threads.h"
#include "base/settings.h"
#include "base/stand_still.h"
#include "base/strings.h"
#include "proclet-sched/coroutine/packing.h"
#include "proclet-sched/sched.h"
#include "transport/ofi/address.h"
#include "transport/random.h"
#include "transport/registry.h"

namespace fgmpi::transport::ofi {
namespace {

/// The fewest receive buffers; over sockets, for each peer.
constexpr size_t kReceiveBuffers = 4;
constexpr int64_t kFlush = 5 * kSecond;

bool is_internet(uint32_t addr_format) {
  return addr_format == FI_SOCKADDR_IN || addr_format == FI_SOCKADDR_IN6;
}

/// Restores signal handlers. Libraries that libfabric loads (libinfinipath) catch SIGSEGV, SIGINT
/// and SIGTERM when they are loaded, print a backtrace without ranks and call exit(), which would
/// end only one rank.
class SignalGuard {
 public:
  SignalGuard() {
    for (int s = 1; s < NSIG; ++s) sigaction(s, nullptr, &before_[s]);
  }
  ~SignalGuard() {
    struct sigaction now;
    for (int s = 1; s < NSIG; ++s)
      if (!sigaction(s, nullptr, &now) && now.sa_sigaction != before_[s].sa_sigaction)
        sigaction(s, &before_[s], nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;

 private:
  const LibraryCall mark_;
  struct sigaction before_[NSIG] = {};
};

/// Runs calls of libfabric on the host stack. Nobody guarantees how much stack its providers use,
/// and a proclet's stack may have 16 KiB in all. Costs two jumps (some 10 ns) a message, which also
/// makes system calls or rings a network card's doorbell.
template <class F>
auto with_room(F&& f) {
  decltype(f()) result{};
  sched::call_on_host([&] { result = f(); });
  return result;
}

std::unique_ptr<Transport> make() { return std::make_unique<Ofi>(); }

std::string describe(const std::string& address) {
  PublishedAddress theirs;
  return theirs.parse(address) ? "ofi (" + theirs.provider + ")" : "ofi";
}

}  // namespace

extern const Registration registration;
const Registration registration{"ofi", 200, make, describe};

/// Reads of a peer's memory pay where hardware does them. Over plain sockets the peer's
/// processor sends the bytes in any case, and frames are faster at every size (1 MiB and more:
/// 2.7 against 1.2 GB/s).
bool Ofi::reads_wanted() const {
  return settings::is_set(settings::kOfiRead) ? settings::on(settings::kOfiRead)
                                              : !fabric_.is_plain_sockets();
}

Status Ofi::open(const Sinks& sinks, std::string* address) {
  const SignalGuard signals;
  const RecordNewThreads threads;
  sinks_ = sinks;
  uint64_t memory_key;
  random_bytes(&memory_key, sizeof memory_key);
  random_bytes(&key_, sizeof key_);
  random_bytes(&token_, sizeof token_);
  gate_ = std::make_unique<Gate>(key_);
  FGMPI_TRY(fabric_.find());
  reads_allowed_ = reads_wanted();
  max_message_ = std::min(fabric_.is_layered() ? kMostLayeredMessage : kMostMessage,
                          fabric_.info->ep_attr->max_msg_size);
  FGMPI_TRY(fabric_.open(max_message_, memory_key));
  FGMPI_TRY(make_buffers());
  lends_ = fabric_.is_plain_sockets() && !fabric_.needs_local_registration() &&
           fabric_.info->tx_attr->iov_limit >= 2;
  PublishedAddress mine;
  mine.provider = fabric_.provider();
  mine.key = key_;
  static_assert(PublishedAddress::kMostHost == kMostHostName);
  mine.host = plain_host_name();
  mine.memory_key = fabric_.memory && reads_allowed_ ? fabric_.memory_key : 0;
  char name[PublishedAddress::kMostAddress];
  size_t length = sizeof name;
  if (int e = fi_getname(&fabric_.ep->fid, name, &length); e || length > sizeof name)
    return error(MPI_ERR_OTHER, "libfabric provider %s does not name its endpoint: %s",
                 mine.provider.c_str(), fabric_error(e).c_str());
  mine.address.assign(name, length);
  own_address_ = mine.address;
  sockaddr_storage own{};
  if (is_internet(fabric_.info->addr_format) && length <= sizeof own) {
    std::memcpy(&own, name, length);
    mine.lifeline =
        lifelines_.open(own, key_, static_cast<int>(settings::number(settings::kPeerTimeout)));
  }
  wait_fd_ = fabric_.is_plain_sockets() ? lifelines_.wait_with(fabric_.wait_fd) : fabric_.wait_fd;
  *address = mine.to_string();
  return {};
}

/// Makes send and receive buffers in one piece of memory, which is registered where the
/// provider needs that.
Status Ofi::make_buffers() {
  static_assert(settings::kRecords[settings::kOfiSend].min == kMostLayeredMessage);
  static_assert(settings::kRecords[settings::kOfiRecv].min ==
                kReceiveBuffers * 2 * kMostLayeredMessage);
  size_t send_bytes = settings::size(settings::kOfiSend);
  size_t receive_bytes = static_cast<size_t>(settings::number(settings::kOfiRecv));
  sends_.resize(std::max<size_t>(2, send_bytes / max_message_));
  // Over sockets, what arrives waits in the kernel until there is a buffer, and this core copies it
  // into the buffer. So the buffers are small, no more than the peers can fill, and stay in the
  // core's cache. A network card writes to memory and must find room.
  receive_bytes_ = fabric_.is_plain_sockets()
                       ? 2 * max_message_
                       : std::max(receive_bytes / kReceiveBuffers, 2 * max_message_);
  receives_.resize(std::max(receive_bytes / receive_bytes_, kReceiveBuffers));
  const size_t all = sends_.size() * max_message_ + receives_.size() * receive_bytes_;
  memory_ = allocate_bytes(all);
  if (!memory_) return error(MPI_ERR_OTHER, "no memory for %zu bytes of network buffers", all);
  if (fabric_.needs_local_registration()) {
    if (int e = fi_mr_reg(fabric_.domain, memory_.get(), all, FI_SEND | FI_RECV, 0, 0, 0,
                          &registered_, nullptr))
      return error(MPI_ERR_OTHER, "libfabric provider %s: fi_mr_reg of %zu bytes: %s",
                   fabric_.provider().c_str(), all, fabric_error(e).c_str());
    descriptor_ = fi_mr_desc(registered_);
  }
  char* at = memory_.get();
  for (SendBuffer& buffer : sends_) {
    buffer.type = Operation::Type::kSend;
    buffer.bytes = at;
    buffer.next = free_sends_;
    free_sends_ = &buffer;
    at += max_message_;
  }
  for (ReceiveBuffer& buffer : receives_) {
    buffer.type = Operation::Type::kReceive;
    buffer.bytes = at;
    at += receive_bytes_;
  }
  use_receives(kReceiveBuffers);
  return {};
}

/// Posts `count` more receive buffers, or as many as there are.
void Ofi::use_receives(size_t count) {
  for (; count > 0 && receives_used_ < receives_.size(); --count)
    post_receive(&receives_[receives_used_++]);
}

void Ofi::post_receive(ReceiveBuffer* buffer) {
  iovec piece{buffer->bytes, receive_bytes_};
  fi_msg message{};
  message.msg_iov = &piece;
  message.desc = &descriptor_;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  message.context = &buffer->context;
  buffer->filled = buffer->end = 0;
  buffer->torn = false;
  buffer->posted = fi_recvmsg(fabric_.ep, &message, FI_MULTI_RECV) == 0;
  unposted_ |= !buffer->posted;
}

bool Ofi::reaches(const std::string& address) const {
  PublishedAddress theirs;
  return theirs.parse(address) && theirs.provider == fabric_.provider();
}

Status Ofi::add_peer(uint32_t process, const std::string& address, uint64_t* local) {
  PublishedAddress theirs;
  if (!theirs.parse(address))
    return error(MPI_ERR_OTHER,
                 "process %u published \"%s\"; allowed is an address that begins with ofi2:",
                 process, escaped(address).c_str());
  fi_addr_t known = FI_ADDR_NOTAVAIL;
  if (fi_av_insert(fabric_.av, theirs.address.data(), 1, &known, 0, nullptr) != 1)
    return error(MPI_ERR_OTHER, "libfabric provider %s does not take the address of process %u",
                 fabric_.provider().c_str(), process);
  auto host = std::find(hosts_.begin(), hosts_.end(), theirs.host);
  if (host == hosts_.end()) host = hosts_.insert(host, theirs.host);
  *local = peers_.size();
  peers_.push_back({known, theirs.key, reads_allowed_ ? theirs.memory_key : 0, process,
                    static_cast<uint32_t>(host - hosts_.begin()), theirs.lifeline, 0,
                    !fabric_.is_plain_sockets() || own_address_ >= theirs.address, false, false,
                    false});
  if (peers_.size() > 1) use_receives(kReceiveBuffers);
  return {};
}

/// Makes a buffer that holds the beginning of a message; nullptr when none is free.
SendBuffer* Ofi::start(uint32_t index, NetworkMessageKind kind) {
  SendBuffer* buffer = free_sends_;
  if (!buffer) return nullptr;
  free_sends_ = buffer->next;
  Prefix prefix{kind, me_, token_};
  buffer->peer = index;
  buffer->length = 0;
  buffer->lent = nullptr;
  buffer->append(&prefix, sizeof prefix);
  return buffer;
}

void Ofi::release(SendBuffer* buffer) {
  buffer->next = free_sends_;
  free_sends_ = buffer;
}

/// Sends the buffer's bytes and then the lent payload, as one message; returns libfabric's result.
ssize_t Ofi::send_lent(SendBuffer* buffer) {
  if (buffer->lent) sched::keep_unpacked(buffer->lent, buffer->lent_length);
  iovec pieces[2] = {{buffer->bytes, buffer->length},
                     {const_cast<void*>(buffer->lent), buffer->lent_length}};
  fi_msg message{};
  message.msg_iov = pieces;
  message.iov_count = 2;
  message.addr = peers_[buffer->peer].address;
  message.context = &buffer->context;
  return fi_sendmsg(fabric_.ep, &message, FI_COMPLETION);
}

/// Gives a message to the provider. False: there is no room now, and the buffer stays the caller's.
bool Ofi::transmit(SendBuffer* buffer) {
  return with_room([&] { return transmit_here(buffer); });
}

bool Ofi::transmit_here(SendBuffer* buffer) {
  uint32_t index = buffer->peer;
  OfiPeer& peer = peers_[index];
  // A provider that connects for each message answers "no room" for ever where the peer's process
  // has ended, and messages to all others would wait behind this one.
  if (__builtin_expect(peer.failed, 0)) {
    release(buffer);
    return true;
  }
  ssize_t e = buffer->lent ? send_lent(buffer)
                           : fi_send(fabric_.ep, buffer->bytes, buffer->length, descriptor_,
                                     peer.address, &buffer->context);
  if (e == -FI_EAGAIN) return false;
  if (e) {
    release(buffer);
    fail(index, "sending failed: " + fabric_error(e));
    return true;
  }
  ++sends_in_flight_;
  ++peer.in_flight;
  return true;
}

/// Sends the gathered frames. False: there is no room now, and they stay.
bool Ofi::flush() {
  if (!gathering_) return true;
  if (!transmit(gathering_)) {
    if (!starved_since_) starved_since_ = now_ns();
    return false;
  }
  gathering_ = nullptr;
  return true;
}

/// Sends a message without frames. False: there is no room now.
bool Ofi::send_plain(uint32_t index, NetworkMessageKind kind, const Hello* hello) {
  SendBuffer* buffer = flush() ? start(index, kind) : nullptr;
  if (!buffer) return false;
  if (hello) buffer->append(hello, sizeof *hello);
  if (transmit(buffer)) return true;
  release(buffer);
  return false;
}

/// Opens the relation to a peer with a hello.
bool Ofi::greet(uint32_t index) {
  Hello hello{peers_[index].key, kVersion, 0};
  if (!send_plain(index, NetworkMessageKind::kHello, &hello)) return false;
  peers_[index].greeted = true;
  return true;
}

/// Opens the lifeline to a peer, once, before the first message to it. Where there can be no
/// lifeline, both processes of a pair may connect.
void Ofi::hold_lifeline(uint32_t index) {
  OfiPeer& peer = peers_[index];
  if (peer.lined) return;
  peer.lined = true;
  sockaddr_storage address;
  if (!with_room([&] { return endpoint_address(index, &address); }) ||
      !lifelines_.connect(peer.process, address, peer.lifeline, peer.key, me_))
    peer.connects = true;
}

/// Finds the contact for further lifelines to a peer that has not answered on its own.
bool Ofi::find_contact(uint32_t process, liveness::Contact* contact) {
  const uint32_t index = index_of(process);
  if (index == peers_.size() || peers_[index].failed || gate_->has_left(process)) return false;
  contact->port = peers_[index].lifeline;
  contact->key = peers_[index].key;
  return contact->port && with_room([&] { return endpoint_address(index, &contact->address); });
}

/// Has the peer been greeted? If not, greets it, or waits for its hello. False: not yet.
bool Ofi::ready(uint32_t index) {
  const OfiPeer& peer = peers_[index];
  if (peer.greeted) return true;
  hold_lifeline(index);
  if (!peer.connects && !gate_->knows(peer.process)) return false;
  if (greet(index)) return true;
  if (!starved_since_) starved_since_ = now_ns();
  return false;
}

/// Answers new lifelines: their peers wait for the hello of this process, if this one connects.
void Ofi::poll_lines() {
  std::vector<uint32_t> opened;
  lifelines_.poll(&opened);
  for (uint32_t process : opened) {
    const uint32_t index = index_of(process);
    if (index < peers_.size() && peers_[index].connects) callers_.push_back(index);
  }
}

/// The index of the process in peers_; peers_.size() where the process is none of them.
uint32_t Ofi::index_of(uint32_t process) const {
  uint32_t index = 0;
  while (index < peers_.size() && peers_[index].process != process) ++index;
  return index;
}

/// Answers peers with new lifelines, as far as there is room.
void Ofi::answer_callers() {
  while (!callers_.empty()) {
    const OfiPeer& peer = peers_[callers_.back()];
    if (!peer.failed && !closing_ && !ready(callers_.back())) return;
    callers_.pop_back();
  }
}

/// Sends one frame, its payload copied or, if there is a lender, lent; or gathers it with others to
/// the same peer.
LendResult Ofi::send_frame(uint32_t index, const Header& header, const void* payload, size_t length,
                           void* lender) {
  size_t needed = kFrameOverhead + length;
  if (gathering_ && (gathering_->peer != index || gathering_->length + needed > max_message_) &&
      !flush())
    return LendResult::kNoRoom;
  SendBuffer* buffer = gathering_ ? gathering_ : start(index, NetworkMessageKind::kFrames);
  if (!buffer) return LendResult::kNoRoom;
  // The frame is gathered with others if enough messages are under way already, or this is flushed
  // soon, and another frame of this length would fit, too.
  const bool gathers = gathering_ || ((delivering_ || peers_[index].in_flight >= kAtOnce) &&
                                      buffer->length + 2 * needed <= max_message_);
  const bool lends = lender && !gathers;
  auto count = static_cast<uint32_t>(length);
  buffer->append(&count, sizeof count);
  buffer->append(&header, sizeof header);
  if (lends) {
    buffer->lent = payload;
    buffer->lent_length = length;
    buffer->lender = lender;
  } else if (length) {
    buffer->append(payload, length);
  }
  if (gathers) {
    gathering_ = buffer;
    return LendResult::kSent;
  }
  if (!transmit(buffer)) {
    release(buffer);
    return LendResult::kNoRoom;
  }
  return lends && !peers_[index].failed ? LendResult::kLent : LendResult::kSent;
}

/// Finds the internet address of a peer; false when it has none.
bool Ofi::endpoint_address(uint32_t index, sockaddr_storage* address) const {
  *address = {};
  size_t length = sizeof *address;
  return is_internet(fabric_.info->addr_format) &&
         !fi_av_lookup(fabric_.av, peers_[index].address, address, &length) &&
         length <= sizeof *address;
}

bool Ofi::tick() {
  poll_lines();
  const auto broken = lifelines_.release_broken();
  if (broken.empty()) return false;
  // What the peer sent before is received, its bye too. (poll() is also true where it has tried
  // again to send to the peer, which may be so without end.)
  for (uint64_t before = ~completed_; before != completed_;) {
    before = completed_;
    poll();
  }
  for (const auto& [process, why] : broken)
    if (const uint32_t index = index_of(process); index < peers_.size()) fail(index, why);
  report();
  return true;
}

bool Ofi::try_send(uint32_t, uint64_t handle, const Header& header, const void* payload,
                   size_t length) {
  return try_lend(0, handle, header, payload, length, nullptr) != LendResult::kNoRoom;
}

LendResult Ofi::try_lend(uint32_t, uint64_t handle, const Header& header, const void* payload,
                         size_t length, void* lender) {
  FGMPI_ASSERT(length <= max_payload() && handle < peers_.size());
  auto index = static_cast<uint32_t>(handle);
  OfiPeer& peer = peers_[index];
  if (peer.failed) return LendResult::kSent;
  if (__builtin_expect(!peer.greeted, 0) && !ready(index)) return LendResult::kNoRoom;
  const LendResult result = send_frame(index, header, payload, length, lends_ ? lender : nullptr);
  if (result == LendResult::kNoRoom && !starved_since_) starved_since_ = now_ns();
  return result;
}

void Ofi::complete(Operation* operation, uint64_t flags, const void* bytes, size_t length) {
  switch (operation->type) {
    case Operation::Type::kSend: {
      auto* buffer = static_cast<SendBuffer*>(operation);
      --sends_in_flight_;
      --peers_[buffer->peer].in_flight;
      release(buffer);
      if (buffer->lent && !closing_) sinks_.frames->returned(buffer->lender);
      break;
    }
    case Operation::Type::kReceive:
      if (flags & FI_RECV) received(bytes, length);
      complete_receive(static_cast<ReceiveBuffer*>(operation), flags, bytes, length);
      break;
    case Operation::Type::kMove: {
      auto* piece = static_cast<PieceOperation*>(operation);
      piece->busy = false;
      --piece->moving->in_flight;
      break;
    }
  }
}

/// Posts the buffer again when its last message has arrived and all before it.
void Ofi::complete_receive(ReceiveBuffer* buffer, uint64_t flags, const void* bytes,
                           size_t length) {
  buffer->filled += length;
  if (flags & FI_MULTI_RECV)
    buffer->end = flags & FI_RECV ? static_cast<const char*>(bytes) + length - buffer->bytes : 1;
  bool whole = buffer->filled >= buffer->end || buffer->torn || !fabric_.fills_side_by_side();
  if (buffer->end && whole) post_receive(buffer);
}

void Ofi::received(const void* bytes, size_t length) {
  Decoded d;
  bool good = decode(bytes, length, &d);
  if (good) good = d.prefix.kind == NetworkMessageKind::kHello ? gate_->hello(d) : gate_->admits(d);
  if (!good) {
    ++refused_;
    return;
  }
  if (d.prefix.kind == NetworkMessageKind::kBye) gate_->bye(d.prefix.process);
  OfiFrame frame;
  while (next_frame(&d, max_payload(), &frame))
    if (!closing_) sinks_.frames->deliver(frame.header, frame.payload, frame.length);
  if (d.left) ++refused_;
}

/// Removes one failed operation from the queue and handles it.
void Ofi::complete_failed() {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(fabric_.cq, &entry, 0) != 1 || !entry.op_context) return;
  auto* operation = reinterpret_cast<Operation*>(entry.op_context);
  std::string why = fabric_error(entry.err);
  switch (operation->type) {
    case Operation::Type::kSend:
      fail(static_cast<SendBuffer*>(operation)->peer, "sending failed: " + why);
      break;
    case Operation::Type::kReceive:
      if (entry.err == FI_ETRUNC)
        ++refused_;
      else if (fabric_.fills_side_by_side())  // the rest of the buffer is still posted
        static_cast<ReceiveBuffer*>(operation)->torn = true;
      else
        static_cast<ReceiveBuffer*>(operation)->posted = false, unposted_ = !closing_;
      break;
    case Operation::Type::kMove:
      static_cast<PieceOperation*>(operation)->moving->failure = why;
      fail(static_cast<PieceOperation*>(operation)->moving->peer,
           "an access to its memory failed: " + why);
      break;
  }
  complete(operation, entry.flags & FI_MULTI_RECV, nullptr, 0);
}

bool Ofi::poll() {
  return with_room([&] { return poll_here(); });
}

bool Ofi::poll_here() {
  constexpr size_t kBatch = 16;
  fi_cq_data_entry entries[kBatch];
  const bool slept = std::exchange(slept_, false);
  // Accesses of peers leave nothing in the queue. One of them may have ended the sleep, and another
  // one is likely.
  bool any = slept && (granted_ || (reads_allowed_ && fabric_.memory));
  if (wait_fd_ != fabric_.wait_fd && (slept || ++polls_ % kPollsPerCheck == 0)) poll_lines();
  flush();
  delivering_ = true;
  for (int round = 0; round < 8; ++round) {
    ssize_t n = fi_cq_read(fabric_.cq, entries, kBatch);
    if (n == -FI_EAVAIL)
      complete_failed();
    else if (n <= 0)
      break;
    any = true;
    ++completed_;
    for (ssize_t i = 0; i < n; ++i)
      complete(static_cast<Operation*>(entries[i].op_context), entries[i].flags, entries[i].buf,
               entries[i].len);
    if (n < static_cast<ssize_t>(kBatch)) break;
  }
  if (__builtin_expect(!movings_.empty(), 0)) any |= go_on_moving();
  if (__builtin_expect(unposted_, 0)) {
    unposted_ = false;
    for (size_t i = 0; i < receives_used_; ++i)
      if (!receives_[i].posted) post_receive(&receives_[i]);
  }
  if (__builtin_expect(starved_since_ != 0, 0) && (any || now_ns() - starved_since_ > kRetry)) {
    starved_since_ = 0;
    any = true;
  }
  if (__builtin_expect(!callers_.empty(), 0)) answer_callers();
  delivering_ = false;
  flush();
  if (__builtin_expect(!failures_.empty(), 0)) report();
  return any;
}

bool Ofi::arm() {
  const bool gathered = gathering_ != nullptr;
  flush();                                    // when that fails, longest_sleep() is short
  if (gathered && !gathering_) return false;  // it may have left already
  if (unposted_ || !failures_.empty()) return false;
  for (const auto& moving : movings_)
    if (moving->in_flight == 0) return false;
  // Without a descriptor Idle polls now and then.
  slept_ = fabric_.wait_fd < 0 || fabric_.may_sleep();
  return slept_;
}

/// Used only where the queue has no descriptor to wait on, as with udp;ofi_rxd, which repeats lost
/// messages when it is polled.
void Ofi::sleep(int64_t timeout_ns) {
  stand_still(timeout_ns < 0 ? kCheckInterval : std::min(timeout_ns, kCheckInterval));
}

void Ofi::fail(uint32_t index, const std::string& why) {
  OfiPeer& peer = peers_[index];
  if (peer.failed) return;
  peer.failed = true;
  bool expected = gate_->has_left(peer.process) || closing_;
  gate_->bye(peer.process);  // nothing more is expected from it
  if (expected && (closing_ || !environment::text(environment::kFt))) return;
  char raw[80], text[120] = "?";
  size_t length = sizeof raw, text_length = sizeof text;
  if (!fi_av_lookup(fabric_.av, peer.address, raw, &length) && length <= sizeof raw)
    fi_av_straddr(fabric_.av, raw, text, &text_length);
  failures_.emplace_back(peer.process,
                         expected ? ""
                                  : format("host %s (%s, %s): %s", hosts_[peer.host].c_str(),
                                           fabric_.provider().c_str(), text, why.c_str()));
}

void Ofi::report() {
  auto failures = std::move(failures_);
  failures_.clear();
  for (auto& [process, why] : failures) sinks_.frames->peer_failed(process, why);
}

void Ofi::close() {
  if (fabric_.ep) sched::call_on_host([&] { close_here(); });
}

void Ofi::close_here() {
  closing_ = true;
  int64_t deadline = now_ns() + kFlush;
  for (uint32_t i = 0; i < peers_.size(); ++i)
    while (peers_[i].greeted && !peers_[i].failed &&
           !send_plain(i, NetworkMessageKind::kBye, nullptr) && now_ns() < deadline)
      poll();
  while ((gathering_ || sends_in_flight_ || !gate_->all_have_left()) && now_ns() < deadline) poll();
  if (registered_) fi_close(&registered_->fid);
  registered_ = nullptr;
  if (granted_) fi_close(&granted_->fid);
  granted_ = nullptr;
  lifelines_.close();
  fabric_.close();
}

}  // namespace fgmpi::transport::ofi
