// MPI_Sendrecv, MPI_Sendrecv_replace and their nonblocking forms: both sides in one call.

#include "base/buffer.h"
#include "datatype/copy.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

namespace {

/// For the _replace forms: packs the data to send, so that the receive may overwrite it.
Status copy_out(Exchange* x, Bytes* copy) {
  if (!x->replace || x->to.process == kNoPeer) return {};
  int64_t n = x->send.bytes();
  *copy = allocate_bytes(static_cast<size_t>(n));
  if (!*copy)
    return error(MPI_ERR_NO_MEM, "no memory for a copy of %lld bytes to send",
                 static_cast<long long>(n));
  if (x->send.type.contiguous()) {
    if (n) memcpy(copy->get(), bytes_of(x->send), static_cast<size_t>(n));
  } else {
    datatype::pack(x->send.address, x->send.count, x->send.type, copy->get());
  }
  x->send = Buffer{copy->get(), n, datatype::Type()};
  return {};
}

void nothing_received(Outcome* outcome) {
  outcome->source = MPI_PROC_NULL;
  outcome->tag = MPI_ANY_TAG;
  outcome->bytes = 0;
}

/// Both sides as one request. Its outcome is that of the receive.
class ExchangeRequest final : public Request {
 public:
  ExchangeRequest(Exchange&& x, Bytes&& copy, const char* name, RefCount* k)
      : exchange(std::move(x)), copy_(std::move(copy)) {
    call = name;
    comm_ref = k;
    if (comm_ref) comm_ref->retain();
  }
  ~ExchangeRequest() override {
    if (comm_ref) comm_ref->release();
  }
  void begin() {
    if (exchange.source != MPI_PROC_NULL) {
      recv_.prepare(exchange.recv, &outcome);
      recv_.owner = this;
      recv_.finish = received;
      begin_recv(&recv_, exchange.at, {exchange.ctx, exchange.source, exchange.recv_tag});
    } else {
      nothing_received(&outcome);
      half_done();
    }
    Envelope envelope{exchange.ctx, exchange.source_rank, exchange.send_tag};
    if (exchange.to.process == kNoPeer ||
        send_buffer_at_once(exchange.send, exchange.to, envelope, SendMode::kStandard))
      return half_done();
    send_.buffer = &exchange.send;
    send_.to = exchange.to;
    send_.envelope = envelope;
    send_.queued = false;
    send_.owner = this;
    send_.finish = sent;
    begin_send(&send_, SendMode::kStandard);
  }
  void describe(std::string* out) const override {
    if (exchange.source != MPI_PROC_NULL && !recv_.done)
      describe_recv(recv_.envelope, recv_.capacity, out);
    else
      describe_send(send_, out);
  }
  bool awaits(WaitFor* out) const override {
    if (exchange.source != MPI_PROC_NULL && !recv_.done) return awaited_source(recv_.envelope, out);
    return awaited_destination(send_, out);
  }
  static void received(RecvOp* op) { static_cast<ExchangeRequest*>(op->owner)->half_done(); }
  static void sent(SendOp* op) {
    auto* r = static_cast<ExchangeRequest*>(op->owner);
    if (!op->error.ok() && r->outcome.error.ok()) r->outcome.error = std::move(op->error);
    r->half_done();
  }
  Exchange exchange;

 private:
  void half_done() {
    if (--missing_ == 0) set_complete();
  }
  Bytes copy_;
  RecvOp recv_;
  SendOp send_;
  int missing_ = 2;
};

}  // namespace

Request* request_of(const RecvOp& op) {
  const bool is_one = op.finish == RecvRequest::arrived || op.finish == ExchangeRequest::received;
  return is_one ? static_cast<Request*>(op.owner) : nullptr;
}
Request* request_of(const SendOp& op) {
  const bool is_one = op.finish == SendRequest::sent || op.finish == ExchangeRequest::sent;
  return is_one ? static_cast<Request*>(op.owner) : nullptr;
}

Status sendrecv(Exchange& x, const char* call, Outcome* outcome) {
  Bytes copy;
  FGMPI_TRY(copy_out(&x, &copy));
  RecvOp op;
  const bool receives = x.source != MPI_PROC_NULL;
  if (receives) {
    op.prepare(x.recv, outcome);
    begin_recv(&op, x.at, {x.ctx, x.source, x.recv_tag});
  } else {
    nothing_received(outcome);
  }
  Status sent;
  if (x.to.process != kNoPeer)
    sent = send(x.send, x.to, x.source_rank, x.send_tag, x.ctx, SendMode::kStandard, call);
  if (receives && !sent.ok() && op.queued) {
    x.at->posted.remove(&op);
  } else if (receives) {
    wait_for(&op, call);
  }
  if (!sent.ok()) return sent;
  return std::move(outcome->error);
}

Status isendrecv(Exchange& x, const char* call, RefCount* comm_ref, Request** out) {
  Bytes copy;
  FGMPI_TRY(copy_out(&x, &copy));
  auto* request = new ExchangeRequest(std::move(x), std::move(copy), call, comm_ref);
  *out = request;
  request->begin();
  return {};
}

}  // namespace fgmpi::pt2pt
