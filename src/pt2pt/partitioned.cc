// Partitioned communication: a transfer whose partitions are sent when they are ready.
//
//   sender    init:    sends one announcement {partitions, bytes, base} with the user's (source,
//                      tag), so that sends meet receives in the order of their inits
//             pready:  sends partition i as a message (source, tag base + i) in the plane above
//   receiver  init:    posts a receive for the announcement, by a Listener
//             start:   posts a receive for each of the sender's partitions, now or when the
//                      announcement has arrived
//
// The inits alone form the pairs. A receive may be freed before its announcement has arrived,
// started or not; this announcement still belongs to it. So its Listener stays posted without it.
//
// The two sides may divide the message differently: a partition of the receiver has arrived when
// all partitions of the sender that overlap it have arrived. Tags of data are unique in the sending
// process (a 31-bit counter); rounds of one request follow each other in order.
// Source: MPI-4.0 chapter 4.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "pt2pt/message_decider.h"
#include "pt2pt/polls.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

namespace {

struct Announcement {
  uint64_t bytes;
  uint32_t partitions;
  uint32_t base;
};

/// All tags of data are below this number.
constexpr uint32_t kMostTags = 0x7fffffff;
uint32_t g_next_base = 0;

Buffer raw(void* data, uint64_t bytes) {
  Buffer b;
  b.address = data;
  b.count = static_cast<int64_t>(bytes);
  return b;
}

/// Sends an announcement, and deletes itself when the announcement has been received.
struct Announcer {
  SendOp op;
  Announcement words;
  Buffer buffer;

  static void send(const Announcement& words, Peer to, const Envelope& envelope) {
    if (send_buffer_at_once(raw(const_cast<Announcement*>(&words), sizeof words), to, envelope,
                            SendMode::kStandard))
      return;
    auto* a = new Announcer;
    a->words = words;
    a->buffer = raw(&a->words, sizeof words);
    a->op.buffer = &a->buffer;
    a->op.to = to;
    a->op.envelope = envelope;
    a->op.queued = false;
    a->op.owner = a;
    a->op.finish = [](SendOp* op) { delete static_cast<Announcer*>(op->owner); };
    begin_send(&a->op, SendMode::kStandard);
  }
};

Status bad_partition(int32_t partition, int32_t partitions) {
  // The error class is the one that MPICH returns.
  return error(MPI_ERR_OTHER, "partition is %d; allowed is 0 to %d", partition, partitions - 1);
}

Buffer partition_of(const Buffer& first, int32_t index) {
  Buffer b = first;
  b.address = static_cast<char*>(first.address) + index * first.count * first.type.extent();
  return b;
}

class PartitionedSend final : public Request {
 public:
  struct SendPart {
    SendOp op;
    Buffer buffer;
    bool ready = false;
  };
  PartitionedSend(const Buffer& partition, int32_t partitions, Peer to, const Envelope& e,
                  const char* name, RefCount* k)
      : count_(partitions),
        to_(to),
        parts_(std::make_unique<SendPart[]>(static_cast<size_t>(partitions))) {
    call = name;
    comm_ref = k;
    if (comm_ref) comm_ref->retain();
    persistent = true;
    active = false;
    base_ = g_next_base;
    if (static_cast<uint32_t>(partitions) > kMostTags - base_) base_ = 0;
    g_next_base = base_ + static_cast<uint32_t>(partitions);
    for (int32_t i = 0; i < partitions; ++i) {
      SendPart& p = parts_[static_cast<size_t>(i)];
      p.buffer = partition_of(partition, i);
      p.op.buffer = &p.buffer;
      p.op.to = to;
      p.op.envelope = {e.ctx + 1, e.source, static_cast<int32_t>(base_) + i};
      p.op.queued = false;
      p.op.owner = this;
      p.op.finish = [](SendOp* op) {
        auto* self = static_cast<PartitionedSend*>(op->owner);
        if (!op->error.ok() && self->outcome.error.ok()) self->outcome.error = std::move(op->error);
        self->part_done();
      };
    }
    if (to.process == kNoPeer) return;
    uint64_t bytes = static_cast<uint64_t>(partition.bytes()) * static_cast<uint64_t>(partitions);
    Announcer::send({bytes, static_cast<uint32_t>(partitions), base_}, to, e);
  }
  ~PartitionedSend() override {
    if (comm_ref) comm_ref->release();
  }
  Status start() override {
    complete_ = false;
    active = true;
    outcome.error = Status();
    missing_ = count_;
    for (int32_t i = 0; i < count_; ++i) parts_[static_cast<size_t>(i)].ready = false;
    if (missing_ == 0) set_complete();
    return {};
  }
  Status may_be_ready(int32_t i) const {
    if (i < 0 || i >= count_) return bad_partition(i, count_);
    if (parts_[static_cast<size_t>(i)].ready)
      return error(MPI_ERR_ARG, "partition %d was marked ready already", i);
    return {};
  }
  Status ready(int32_t i) {
    FGMPI_TRY(may_be_ready(i));
    SendPart& p = parts_[static_cast<size_t>(i)];
    p.ready = true;
    p.op.done = false;
    if (to_.process == kNoPeer ||
        send_buffer_at_once(p.buffer, p.op.to, p.op.envelope, SendMode::kStandard))
      part_done();
    else
      begin_send(&p.op, SendMode::kStandard);
    return {};
  }
  void describe(std::string* out) const override { *out += format_missing(missing_, count_); }
  bool awaits(WaitFor* out) const override {
    out->peer = to_;
    return to_.process != kNoPeer && to_.process != kUnknownProcess;
  }
  static std::string format_missing(int32_t missing, int32_t count) {
    return std::to_string(missing) + " of " + std::to_string(count) + " partitions missing";
  }

 private:
  void part_done() {
    if (--missing_ == 0) set_complete();
  }
  int32_t count_, missing_ = 0;
  Peer to_;
  uint32_t base_;
  std::unique_ptr<SendPart[]> parts_;
};

class PartitionedRecv;

/// Receives the announcement for one PartitionedRecv. If the PartitionedRecv is deleted before the
/// announcement has arrived, the listener stays posted, and deletes itself on arrival. So the
/// announcement does not go to the next receive of that source and tag. Until then the listener
/// retains the communicator: otherwise its context id could be given to another communicator, and
/// the listener would receive that one's announcements.
class Listener {
 public:
  Listener(PartitionedRecv* owner, RefCount* k);
  Listener(const Listener&) = delete;
  ~Listener() {
    if (comm_ref_) comm_ref_->release();
  }
  void post(Endpoint* at, const Envelope& e) { begin_recv(&op_, at, e); }
  /// Called when the owner is deleted: from now on the listener deletes itself.
  void leave_owner() {
    owner_ = nullptr;
    if (op_.done) delete this;
  }
  bool heard() const { return op_.done; }
  /// The error of an announcement that will not arrive, or that no sender of this library could
  /// have made. REQUIRES: heard().
  Status check() const;
  /// REQUIRES: check().ok().
  const Announcement& words() const { return words_; }

 private:
  PartitionedRecv* owner_;
  RefCount* comm_ref_;
  RecvOp op_;
  Outcome outcome_;
  Buffer buffer_;
  Announcement words_;
};

class PartitionedRecv final : public Request {
 public:
  PartitionedRecv(const Buffer& partition, int32_t partitions, Endpoint* at, const Envelope& e,
                  const char* name, RefCount* k)
      : whole_(partition),
        count_(partitions),
        part_bytes_(static_cast<uint64_t>(partition.bytes())),
        at_(at),
        envelope_(e),
        missing_of_(static_cast<size_t>(partitions)) {
    whole_.count *= partitions;
    if (e.source != MPI_PROC_NULL) listener_ = new Listener(this, k);
    call = name;
    comm_ref = k;
    if (comm_ref) comm_ref->retain();
    persistent = true;
    active = false;
    outcome.source = e.source;
    outcome.tag = listener_ ? e.tag : MPI_ANY_TAG;
    if (listener_) listener_->post(at, e);
  }
  ~PartitionedRecv() override {
    if (listener_) listener_->leave_owner();
    if (comm_ref) comm_ref->release();
  }
  Status start() override {
    complete_ = false;
    active = true;
    outcome.error = Status();
    missing_ = -1;
    std::fill(missing_of_.begin(), missing_of_.end(), -1);
    reported_.clear();
    if (!listener_)
      set_complete();
    else if (listener_->heard())
      post();
    return {};
  }
  /// Called by the listener, inside poll, when the announcement has arrived.
  void announced() {
    if (!active || complete_ || missing_ >= 0) return;
    try {
      post();
    } catch (const std::bad_alloc&) {
      fail(error(MPI_ERR_NO_MEM, "no memory is left for the partitions of its sender"));
    }
  }
  bool has_arrived(int32_t i) const {
    return complete_ || !active || missing_of_[static_cast<size_t>(i)] == 0;
  }
  /// Has MPI_Parrived returned that partition i has arrived? Recorded only while there is a decider
  /// (message_decider.h).
  bool was_reported(int32_t i) const {
    return !reported_.empty() && reported_[static_cast<size_t>(i)];
  }
  void mark_reported(int32_t i) {
    reported_.resize(static_cast<size_t>(count_));
    reported_[static_cast<size_t>(i)] = true;
  }
  int32_t count() const { return count_; }
  /// What is counted down when one more of the sender's partitions has arrived, or none will.
  Waiter** news() { return &news_; }
  void describe(std::string* out) const override {
    describe_recv(envelope_, capacity(), out);
    if (missing_ < 0)
      *out += ", not announced yet";
    else
      *out += ", " + PartitionedSend::format_missing(missing_, static_cast<int32_t>(parts_count_));
  }
  bool awaits(WaitFor* out) const override { return awaited_source(envelope_, out); }

 private:
  struct RecvPart {
    PartRecvOp op;
    Outcome outcome;
    uint32_t index;
    PartitionedRecv* whole;
  };

  uint64_t capacity() const { return static_cast<uint64_t>(whole_.bytes()); }

  /// Ends the transfer under way with an error. REQUIRES: no partition is posted yet.
  void fail(Status status) {
    outcome.error = std::move(status);
    outcome.bytes = 0;
    tell_news();
    set_complete();
  }
  void tell_news() {
    if (Waiter* waiter = std::exchange(news_, nullptr)) waiter->count_down();
  }

  void post() {
    if (Status status = listener_->check(); !status.ok()) return fail(std::move(status));
    const Announcement& words = listener_->words();
    outcome.bytes = std::min(words.bytes, capacity());
    if (words.bytes > capacity())
      outcome.error = error(MPI_ERR_TRUNCATE,
                            "the sender's partitions have %llu bytes, the receive buffer has %llu",
                            static_cast<unsigned long long>(words.bytes),
                            static_cast<unsigned long long>(capacity()));
    if (!parts_) make_parts(words);
    missing_ = static_cast<int32_t>(parts_count_);
    count_overlaps(words);
    if (missing_ == 0) return set_complete();
    for (uint32_t i = 0; i < parts_count_; ++i) {
      RecvPart& p = parts_[i];
      p.op.done = false;
      begin_recv(&p.op, at_,
                 {envelope_.ctx + 1, envelope_.source, static_cast<int32_t>(words.base + i)});
    }
  }

  void make_parts(const Announcement& words) {
    parts_ = std::make_unique<RecvPart[]>(words.partitions);
    parts_count_ = words.partitions;
    sender_bytes_ = parts_count_ ? words.bytes / parts_count_ : 0;
    for (uint32_t i = 0; i < parts_count_; ++i) {
      RecvPart& p = parts_[i];
      uint64_t begin = std::min(i * sender_bytes_, capacity());
      p.index = i;
      p.whole = this;
      p.op.prepare_part(whole_, begin, std::min(sender_bytes_, capacity() - begin), &p.outcome);
      p.op.owner = &p;
      p.op.finish = [](RecvOp* op) {
        RecvPart* part = static_cast<RecvPart*>(op->owner);
        part->whole->part_done(part);
      };
    }
  }

  /// The receiver's partitions [first, last] that a partition of the sender overlaps. Where one
  /// side's partitions have no bytes, they overlap by their share of all partitions: each of the
  /// receiver's then depends on at least one of the sender's. Receiver's partitions beyond the
  /// sender's data depend on the sender's last one.
  bool overlapped(uint32_t index, size_t* first, size_t* last) const {
    const uint64_t ours = static_cast<uint64_t>(count_);
    if (ours == 0) return false;
    if (part_bytes_ == 0 || sender_bytes_ == 0) {
      *first = index * ours / parts_count_;
      *last = ((index + 1) * ours - 1) / parts_count_;
      return true;
    }
    uint64_t begin = index * sender_bytes_, end = std::min(begin + sender_bytes_, capacity());
    if (begin >= end) return false;
    *first = begin / part_bytes_;
    *last = index + 1 == parts_count_ ? ours - 1 : (end - 1) / part_bytes_;
    return true;
  }
  void count_overlaps(const Announcement&) {
    std::fill(missing_of_.begin(), missing_of_.end(), 0);
    size_t first, last;
    for (uint32_t i = 0; i < parts_count_; ++i)
      if (overlapped(i, &first, &last))
        for (size_t j = first; j <= last; ++j) ++missing_of_[j];
  }
  void part_done(RecvPart* part) {
    if (!part->outcome.error.ok() && outcome.error.ok())
      outcome.error = std::move(part->outcome.error);
    part->outcome.error = Status();
    size_t first, last;
    if (overlapped(part->index, &first, &last))
      for (size_t j = first; j <= last; ++j) --missing_of_[j];
    tell_news();
    if (--missing_ == 0) set_complete();
  }

  Buffer whole_;  ///< all partitions
  int32_t count_;
  uint64_t part_bytes_;
  Endpoint* at_;
  Envelope envelope_;
  Listener* listener_ = nullptr;
  std::unique_ptr<RecvPart[]> parts_;
  uint32_t parts_count_ = 0;
  uint64_t sender_bytes_ = 0;
  int32_t missing_ = -1;  ///< of the sender's partitions; -1: not announced
  /// How many of the sender's partitions have not arrived, by own partition.
  std::vector<int32_t> missing_of_;
  Waiter* news_ = nullptr;
  std::vector<bool> reported_;  ///< was_reported(), by own partition; empty: none
};

Listener::Listener(PartitionedRecv* owner, RefCount* k) : owner_(owner), comm_ref_(k) {
  if (comm_ref_) comm_ref_->retain();
  buffer_ = raw(&words_, sizeof words_);
  op_.prepare(buffer_, &outcome_);
  op_.owner = this;
  op_.finish = [](RecvOp* op) {
    auto* listener = static_cast<Listener*>(op->owner);
    if (listener->owner_)
      listener->owner_->announced();
    else
      delete listener;
  };
}

Status Listener::check() const {
  if (!outcome_.error.ok()) return {outcome_.error.error_class(), outcome_.error.what()};
  if (outcome_.bytes == sizeof words_ && words_.partitions <= kMostTags &&
      words_.base <= kMostTags - words_.partitions)
    return {};
  return error(MPI_ERR_OTHER, "its sender announced %u partitions from tag %u on in %llu bytes",
               words_.partitions, words_.base, static_cast<unsigned long long>(outcome_.bytes));
}

}  // namespace

Status psend_init(const Buffer& partition, int32_t partitions, Peer to, int32_t source_rank,
                  int32_t tag, uint64_t ctx, const char* call, RefCount* comm_ref, Request** out) {
  *out = new PartitionedSend(partition, partitions, to, {ctx, source_rank, tag}, call, comm_ref);
  return {};
}

Status precv_init(const Buffer& partition, int32_t partitions, Endpoint* at, int32_t source,
                  int32_t tag, uint64_t ctx, const char* call, RefCount* comm_ref, Request** out) {
  *out = new PartitionedRecv(partition, partitions, at, {ctx, source, tag}, call, comm_ref);
  return {};
}

namespace {
/// Marks at(0) to at(n - 1) as ready: all of them or, on an error, none.
template <class At>
Status mark_ready(Request* request, int64_t n, At&& at) {
  auto* send = dynamic_cast<PartitionedSend*>(request);
  if (!send)
    return error(MPI_ERR_REQUEST, "the request of %s is not a partitioned send", request->call);
  if (!send->active)
    return error(MPI_ERR_REQUEST, "the partitioned send is not active; start it first");
  for (int64_t i = 0; i < n; ++i) FGMPI_TRY(send->may_be_ready(at(i)));
  for (int64_t i = 0; i < n; ++i) FGMPI_TRY(send->ready(at(i)));
  return {};
}
}  // namespace

Status pready_range(Request* request, int32_t low, int32_t high) {
  return mark_ready(request, int64_t{high} - low + 1,
                    [&](int64_t i) { return static_cast<int32_t>(low + i); });
}

Status pready_list(Request* request, const int32_t* partitions, int32_t count) {
  return mark_ready(request, count, [&](int64_t i) { return partitions[i]; });
}

bool is_partitioned(const Request* request) {
  return dynamic_cast<const PartitionedSend*>(request) ||
         dynamic_cast<const PartitionedRecv*>(request);
}

namespace {
bool has_arrived(const void* request, uint64_t partition) {
  return static_cast<const PartitionedRecv*>(request)->has_arrived(static_cast<int32_t>(partition));
}
}  // namespace

Status parrived(Request* request, int32_t partition, bool* arrived) {
  auto* recv = dynamic_cast<PartitionedRecv*>(request);
  if (!recv)
    return error(MPI_ERR_REQUEST, "the request of %s is not a partitioned receive", request->call);
  if (partition < 0 || partition >= recv->count()) return bad_partition(partition, recv->count());
  if (__builtin_expect(g_message_decider != nullptr, 0) && recv->active) {
    *arrived = recv->was_reported(partition) ||
               g_message_decider->decide_test(recv, static_cast<uint64_t>(partition), has_arrived,
                                              "MPI_Parrived");
    if (*arrived) recv->mark_reported(partition);
    return {};
  }
  *arrived = recv->has_arrived(partition);
  if (*arrived) return {};
  Request* const looked_at = recv;
  RequestsSite site("MPI_Parrived", &looked_at, 1);
  let_others_run_after_look(recv->news(), &site);
  *arrived = recv->has_arrived(partition);
  return {};
}

}  // namespace fgmpi::pt2pt
