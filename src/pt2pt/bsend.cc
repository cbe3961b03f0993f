// Buffered sends. Messages that could not be sent at once are stored in the user's attached buffer.
//
//   attached buffer   | head 32 | message ... | head 32 | message | head | free ...            |
//
// Segments lie in the order of their addresses, each with a head. A search that meets a free
// segment merges it with the free ones behind it. A head and its alignment cost at most 48 of the
// MPI_BSEND_OVERHEAD (96) bytes that the user adds for each message. Messages that find their
// receive posted, or that may be copied eagerly, use no room in the buffer. Source: MPI-4.0
// section 3.6.1.

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

struct AttachedBuffer {
  void* address;
  int64_t bytes;
  BsendSegment* first = nullptr;
  BsendSegment* rover = nullptr;  ///< where the next search begins
  uint32_t pending = 0;
  sched::Proclet* detacher = nullptr;

  BsendSegment* allocate(uint64_t n);
};

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

/// Searches the segments once, from the rover on and around the end.
BsendSegment* AttachedBuffer::allocate(uint64_t n) {
  if (!first) return nullptr;
  BsendSegment* start = rover ? rover : first;
  bool wrapped = false;
  for (BsendSegment* s = start;;) {
    while (!s->used && s->next && !s->next->used) {
      if (s->next == start) start = s;
      if (s->next == rover) rover = s;
      s->bytes += sizeof(BsendSegment) + s->next->bytes;
      s->next = s->next->next;
    }
    if (!s->used && s->bytes >= n) {
      carve(s, n);
      rover = s->next;
      return s;
    }
    s = s->next;
    if (!s) {
      if (wrapped) return nullptr;
      wrapped = true;
      s = first;
    }
    if (wrapped && s == start) return nullptr;
  }
}

/// A message that lies in the attached buffer.
struct BufferedSend {
  SendOp op;
  Buffer buffer;
  AttachedBuffer* attached;
  BsendSegment* segment;
};
Pool<BufferedSend> g_buffered_sends;

void sent(SendOp* op) {
  auto* send = static_cast<BufferedSend*>(op->owner);
  AttachedBuffer* attached = send->attached;
  send->segment->used = 0;
  g_buffered_sends.drop(send);
  if (--attached->pending == 0 && attached->detacher) sched::ready(attached->detacher);
}

Status no_room(const AttachedBuffer* attached, uint64_t n) {
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

class BsendRequest final : public Request {
 public:
  BsendRequest(void** s, const Buffer& b, Peer t, const Envelope& e, const char* name, RefCount* k)
      : slot(s), buffer(b), to(t), envelope(e) {
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
    FGMPI_TRY(bsend(*slot, buffer, to, envelope.source, envelope.tag, envelope.ctx));
    active = true;
    if (!complete_) set_complete();
    return {};
  }
  void** slot;
  Buffer buffer;
  Peer to;
  Envelope envelope;
};

}  // namespace

bool trim_buffered_sends() { return g_buffered_sends.trim(); }

Status attach_buffer(void** slot, void* address, int64_t bytes) {
  if (bytes < 0)
    return error(MPI_ERR_ARG, "size is %lld; allowed is 0 or more", static_cast<long long>(bytes));
  if (*slot) return error(MPI_ERR_BUFFER, "a buffer is attached already; detach it first");
  if (!address && bytes > 0)
    return error(MPI_ERR_ARG, "the buffer is a null pointer; allowed is memory of its size");
  auto* attached = new AttachedBuffer{address, bytes};
  uintptr_t begin = (reinterpret_cast<uintptr_t>(address) + 15) & ~uintptr_t{15};
  uintptr_t end =
      (reinterpret_cast<uintptr_t>(address) + static_cast<uint64_t>(bytes)) & ~uintptr_t{15};
  if (end >= begin + sizeof(BsendSegment)) {
    attached->first = reinterpret_cast<BsendSegment*>(begin);
    *attached->first = {nullptr, end - begin - sizeof(BsendSegment), 0, 0};
  }
  *slot = attached;
  return {};
}

Status detach_buffer(void** slot, void** address, int64_t* bytes, const char* call) {
  auto* attached = static_cast<AttachedBuffer*>(*slot);
  *address = nullptr;
  *bytes = 0;
  if (!attached) return {};
  if (attached->pending > 0) {
    sched::WaitSite site;
    site.call = call;
    site.describe = [](const sched::WaitSite*, std::string* out) {
      *out += "messages in the attached buffer";
    };
    attached->detacher = sched::current();
    sched::park(&site);
  }
  *address = attached->address;
  *bytes = attached->bytes;
  delete attached;
  *slot = nullptr;
  return {};
}

Status bsend(void* slot, const Buffer& buffer, Peer to, int32_t source_rank, int32_t tag,
             uint64_t ctx) {
  auto* attached = static_cast<AttachedBuffer*>(slot);
  const uint64_t n = static_cast<uint64_t>(buffer.bytes());
  Envelope envelope{ctx, source_rank, tag};
  if (!attached || n + sizeof(BsendSegment) > static_cast<uint64_t>(attached->bytes))
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
  send->segment = segment;
  send->buffer = Buffer{segment->data(), static_cast<int64_t>(n), datatype::Type()};
  send->op.buffer = &send->buffer;
  send->op.to = to;
  send->op.envelope = envelope;
  send->op.queued = false;
  send->op.owner = send;
  send->op.finish = sent;
  ++attached->pending;
  begin_send(&send->op, SendMode::kBuffered);
  return {};
}

Status bsend_init(void** slot, const Buffer& buffer, Peer to, int32_t source_rank, int32_t tag,
                  uint64_t ctx, const char* call, RefCount* comm_ref, Request** out) {
  *out = new BsendRequest(slot, buffer, to, {ctx, source_rank, tag}, call, comm_ref);
  return {};
}

}  // namespace fgmpi::pt2pt
