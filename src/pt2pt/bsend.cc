// Buffered sends. Messages that could not be sent at once are stored in an attached buffer, that of
// a rank, of one of its communicators or of a session.
//
//   attached buffer   | head 32 | message ... | head 32 | message | head | free ...            |
//
// Segments lie in the order of their addresses, each with a head. A search that meets a free
// segment merges it with the free ones behind it. A head and its alignment cost at most 48 of the
// MPI_BSEND_OVERHEAD (96) bytes that the user adds for each message. Messages that find their
// receive posted, or that may be copied eagerly, use no room in the buffer. Source: MPI-4.0
// section 3.6.1.
//
// A buffer that the program lets MPI provide (MPI_BUFFER_AUTOMATIC, MPI-4.1 section 3.6) has no
// segments: each message has memory of its own.
//
// A flush completes when the messages have left the buffer that were in it when the flush began.
// Later ones do not count, so the messages between two flushes are counted together:
//
//   flush points   | messages 3 | flush A |   | messages 0 | flush B |   | messages 7 |
//                    complete A, then B, when 3 reaches 0                  open: no flush yet

#include <cstdlib>
#include <list>
#include <vector>

#include "base/count_words.h"
#include "datatype/copy.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

namespace {

struct alignas(16) BsendSegment {
  BsendSegment* next;
  uint64_t bytes;  ///< of the data behind the head
  uint64_t used;
  uint64_t unused;
  char* data() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(BsendSegment) == 32 &&
              sizeof(BsendSegment) + 2 * alignof(BsendSegment) <= MPI_BSEND_OVERHEAD);

/// Uses `n` bytes of a free segment and splits off the rest.
void carve(BsendSegment* s, uint64_t n) {
  uint64_t rounded = (n + 15) & ~uint64_t{15};
  if (s->bytes >= rounded + sizeof(BsendSegment) + 16) {
    auto* rest = reinterpret_cast<BsendSegment*>(s->data() + rounded);
    *rest = {s->next, s->bytes - rounded - sizeof(BsendSegment), 0, 0};
    s->next = rest;
    s->bytes = rounded;
  }
  s->used = 1;
}

}  // namespace

/// Messages that were put into a buffer between two flushes.
struct FlushPoint {
  uint32_t pending = 0;
  std::vector<Request*> flushes;  ///< complete when this point and all before have no messages
};

class AttachedBuffer {
 public:
  AttachedBuffer(RankBuffers* of, BufferPlace* at, void* a, int64_t n);
  ~AttachedBuffer();
  AttachedBuffer(const AttachedBuffer&) = delete;

  bool automatic() const { return address == kBufferAutomatic; }
  /// Finds room for a message; nullptr where there is none.
  BsendSegment* allocate(uint64_t n);
  void give_back(BsendSegment* segment);
  /// Counts a message that has left the buffer, and completes flushes. Deletes the buffer when it
  /// is nowhere attached any more and the message was the last one.
  void message_left(FlushPoint* point);
  /// Nobody can attach, detach or flush the buffer any more.
  void leave_place();

  void* const address;
  const int64_t bytes;
  uint32_t pending = 0;
  std::list<FlushPoint> points{1};          ///< never empty; messages are added to the last one
  RankBuffers* rank;                        ///< nullptr after the rank's end
  AttachedBuffer *next, *before = nullptr;  ///< in the list of the rank

 private:
  BsendSegment* search(uint64_t n);

  BufferPlace* place_;  ///< nullptr: detached
  BsendSegment* first_ = nullptr;
  BsendSegment* rover_ = nullptr;  ///< where the next search begins
};

AttachedBuffer::AttachedBuffer(RankBuffers* of, BufferPlace* at, void* a, int64_t n)
    : address(a), bytes(a == kBufferAutomatic ? 0 : n), rank(of), next(of->first), place_(at) {
  if (next) next->before = this;
  rank->first = place_->attached = this;
  if (automatic()) return;
  uintptr_t begin = (reinterpret_cast<uintptr_t>(address) + 15) & ~uintptr_t{15};
  uintptr_t end =
      (reinterpret_cast<uintptr_t>(address) + static_cast<uint64_t>(bytes)) & ~uintptr_t{15};
  if (end < begin + sizeof(BsendSegment)) return;
  first_ = reinterpret_cast<BsendSegment*>(begin);
  *first_ = {nullptr, end - begin - sizeof(BsendSegment), 0, 0};
}

AttachedBuffer::~AttachedBuffer() {
  if (next) next->before = before;
  if (before)
    before->next = next;
  else if (rank)
    rank->first = next;
}

void AttachedBuffer::leave_place() {
  place_->attached = nullptr;
  place_ = nullptr;
  if (pending == 0) delete this;
}

void AttachedBuffer::message_left(FlushPoint* point) {
  --pending;
  --point->pending;
  std::vector<Request*> complete;
  while (points.size() > 1 && points.front().pending == 0) {
    auto& flushes = points.front().flushes;
    complete.insert(complete.end(), flushes.begin(), flushes.end());
    points.pop_front();
  }
  if (pending == 0 && !place_) delete this;
  for (Request* flush : complete) flush->set_complete();
}

BsendSegment* AttachedBuffer::allocate(uint64_t n) {
  if (!automatic()) return search(n);
  auto* segment = static_cast<BsendSegment*>(std::malloc(sizeof(BsendSegment) + n));
  if (segment) *segment = {nullptr, n, 1, 0};
  return segment;
}

void AttachedBuffer::give_back(BsendSegment* segment) {
  if (automatic())
    std::free(segment);
  else
    segment->used = 0;
}

/// Searches the segments once, from the rover on and around the end.
BsendSegment* AttachedBuffer::search(uint64_t n) {
  if (!first_) return nullptr;
  BsendSegment* start = rover_ ? rover_ : first_;
  bool wrapped = false;
  for (BsendSegment* s = start;;) {
    while (!s->used && s->next && !s->next->used) {
      if (s->next == start) start = s;
      if (s->next == rover_) rover_ = s;
      s->bytes += sizeof(BsendSegment) + s->next->bytes;
      s->next = s->next->next;
    }
    if (!s->used && s->bytes >= n) {
      carve(s, n);
      rover_ = s->next;
      return s;
    }
    s = s->next;
    if (!s) {
      if (wrapped) return nullptr;
      wrapped = true;
      s = first_;
    }
    if (wrapped && s == start) return nullptr;
  }
}

namespace {

/// A message that lies in the attached buffer.
struct BufferedSend {
  SendOp op;
  Buffer buffer;
  AttachedBuffer* attached;
  FlushPoint* point;
  BsendSegment* segment;
};
Pool<BufferedSend> g_buffered_sends;

void sent(SendOp* op) {
  auto* send = static_cast<BufferedSend*>(op->owner);
  AttachedBuffer* attached = send->attached;
  FlushPoint* point = send->point;
  attached->give_back(send->segment);
  g_buffered_sends.drop(send);
  attached->message_left(point);
}

Status no_room(const AttachedBuffer* attached, uint64_t n) {
  if (attached && attached->automatic())
    return error(MPI_ERR_NO_MEM, "no memory is left to buffer %s", count_words(n, "byte").c_str());
  if (!attached)
    return error(MPI_ERR_BUFFER,
                 "a buffered send of %s without a buffer; attach one with MPI_Buffer_attach",
                 count_words(n, "byte").c_str());
  return error(MPI_ERR_BUFFER,
               "a buffered send of %s does not fit into the attached buffer of %s, in which %s "
               "not delivered yet",
               count_words(n, "byte").c_str(),
               count_words(static_cast<uint64_t>(attached->bytes), "byte").c_str(),
               attached->pending == 1
                   ? "1 message is"
                   : (std::to_string(attached->pending) + " messages are").c_str());
}

/// Waits for the messages that are in a buffer.
class FlushRequest final : public Request {
 public:
  FlushRequest(const char* name, RefCount* k) {
    call = name;
    comm_ref = k;
    if (comm_ref) comm_ref->retain();
  }
  ~FlushRequest() override {
    if (comm_ref) comm_ref->release();
  }
  void describe(std::string* out) const override { *out += "messages in the attached buffer"; }
};

class BsendRequest final : public Request {
 public:
  BsendRequest(BufferFinder f, const Buffer& b, Peer t, const Envelope& e, const char* name,
               RefCount* k)
      : find(f), buffer(b), to(t), envelope(e) {
    call = name;
    comm_ref = k;
    if (comm_ref) comm_ref->retain();
    persistent = true;
    active = false;
  }
  ~BsendRequest() override {
    if (comm_ref) comm_ref->release();
  }
  Status start() override {
    FGMPI_TRY(bsend(find(comm_ref), buffer, to, envelope.source, envelope.tag, envelope.ctx));
    active = true;
    if (!complete_) set_complete();
    return {};
  }
  BufferFinder find;
  Buffer buffer;
  Peer to;
  Envelope envelope;
};

}  // namespace

bool trim_buffered_sends() { return g_buffered_sends.trim(); }

BufferPlace::BufferPlace(BufferPlace&& other) noexcept : attached(other.attached) {
  FGMPI_ASSERT(!attached);  // a buffer knows its place
}

BufferPlace::~BufferPlace() {
  if (attached) attached->leave_place();
}

RankBuffers::~RankBuffers() {
  for (AttachedBuffer* b = first; b; b = b->next) b->rank = nullptr;
}

Status attach_buffer(RankBuffers* rank, BufferPlace* place, void* address, int64_t bytes) {
  const bool automatic = address == kBufferAutomatic;  // the size then has no meaning
  if (bytes < 0 && !automatic)
    return error(MPI_ERR_ARG, "size is %lld; allowed is 0 or more", static_cast<long long>(bytes));
  if (place->attached)
    return error(MPI_ERR_BUFFER, "a buffer is attached already; detach it first");
  if (!address && bytes > 0)
    return error(MPI_ERR_ARG, "the buffer is a null pointer; allowed is memory of its size");
  new AttachedBuffer(rank, place, address, bytes);
  return {};
}

Status detach_buffer(BufferPlace* place, void** address, int64_t* bytes, const char* call) {
  *address = nullptr;
  *bytes = 0;
  // A thread of the rank may put further messages into the buffer meanwhile.
  while (place->attached && place->attached->pending > 0) FGMPI_TRY(flush_buffer(place, call));
  AttachedBuffer* attached = place->attached;
  if (!attached) return {};
  *address = attached->address;
  *bytes = attached->bytes;
  attached->leave_place();
  return {};
}

Request* iflush_buffer(AttachedBuffer* attached, const char* call, RefCount* comm_ref) {
  if (attached->pending == 0) return completed_request(MPI_ANY_SOURCE, MPI_ANY_TAG, call, comm_ref);
  auto* request = new FlushRequest(call, comm_ref);
  attached->points.back().flushes.push_back(request);
  attached->points.emplace_back();
  return request;
}

namespace {
void wait_for_flush(AttachedBuffer* attached, const char* call) {
  Request* request = iflush_buffer(attached, call, nullptr);
  wait(request, call);
  free_request(request);
}
}  // namespace

Status flush_buffer(BufferPlace* place, const char* call) {
  if (place->attached) wait_for_flush(place->attached, call);
  return {};
}

void flush_all_buffers(RankBuffers* rank, const char* call) {
  // The list may change in each wait.
  const auto with_messages = [rank] {
    AttachedBuffer* found = rank->first;
    while (found && found->pending == 0) found = found->next;
    return found;
  };
  while (AttachedBuffer* attached = with_messages()) wait_for_flush(attached, call);
}

Status bsend(AttachedBuffer* attached, const Buffer& buffer, Peer to, int32_t source_rank,
             int32_t tag, uint64_t ctx) {
  const uint64_t n = static_cast<uint64_t>(buffer.bytes());
  Envelope envelope{ctx, source_rank, tag};
  if (!attached ||
      (!attached->automatic() && n + sizeof(BsendSegment) > static_cast<uint64_t>(attached->bytes)))
    return no_room(attached, n);
  if (send_buffer_at_once(buffer, to, envelope, SendMode::kBuffered)) return {};
  BsendSegment* segment = attached->allocate(n);
  if (!segment && progress()) segment = attached->allocate(n);
  if (!segment) return no_room(attached, n);
  if (buffer.type.contiguous()) {
    if (n) memcpy(segment->data(), bytes_of(buffer), n);
  } else {
    datatype::pack(buffer.address, buffer.count, buffer.type, segment->data());
  }
  BufferedSend* send = g_buffered_sends.make();
  send->attached = attached;
  send->point = &attached->points.back();
  send->segment = segment;
  send->buffer = Buffer{segment->data(), static_cast<int64_t>(n), datatype::Type()};
  send->op.buffer = &send->buffer;
  send->op.to = to;
  send->op.envelope = envelope;
  send->op.queued = false;
  send->op.owner = send;
  send->op.finish = sent;
  ++attached->pending;
  ++send->point->pending;
  begin_send(&send->op, SendMode::kBuffered);
  return {};
}

Status bsend_init(BufferFinder find, const Buffer& buffer, Peer to, int32_t source_rank,
                  int32_t tag, uint64_t ctx, const char* call, RefCount* comm_ref, Request** out) {
  *out = new BsendRequest(find, buffer, to, {ctx, source_rank, tag}, call, comm_ref);
  return {};
}

}  // namespace fgmpi::pt2pt
