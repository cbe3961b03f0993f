// Set-up of the module, messages between processes (level two), and notices.

#include <mpi.h>

#include <algorithm>
#include <bit>

#include "base/counters.h"
#include "base/settings.h"
#include "pt2pt/deadlock.h"
#include "pt2pt/lost.h"
#include "pt2pt/message_decider.h"
#include "pt2pt/moved_endpoints.h"
#include "pt2pt/moved_frames.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

MessageDecider* g_message_decider = nullptr;

namespace {
/// The lowest bit of the signature in an envelope's source; the bits below hold the process.
int g_signature_bit = 0;
/// The lowest value of g_signature_bit: processes of other jobs have numbers past the own job's,
/// and jobs that connect must have the same value.
constexpr int kLeastSignatureBit = 16;
int32_t source_of(uint32_t process, Signature signature);
static_assert(kMostProcessesToConnect == 1u << kLeastSignatureBit);
}  // namespace

Endpoint* endpoint(uint32_t local) { return g_engine.at(local); }

namespace {
/// Passes the ends of reads and accesses to the engine.
class EngineMemorySink final : public transport::MemorySink {
 public:
  void read_done(uint64_t cookie, Status status) override {
    g_engine.read_done(cookie, std::move(status));
  }
  void accessed(uint64_t cookie, Status status) override {
    g_engine.accessed(cookie, std::move(status));
  }
};
}  // namespace

namespace {
bool g_ranks_move = false;
}
void let_ranks_move(bool move) { g_ranks_move = move; }

transport::Sinks sinks() {
  static auto& memory = *new EngineMemorySink;  // never destroyed
  return {g_ranks_move ? moving_sink() : &g_engine, &memory};
}

bool progress() {
  bool moved = g_engine.progress();
  if (__builtin_expect(g_ask_again, 0) && quiet()) {
    g_ask_again = false;
    return true;
  }
  return moved || (__builtin_expect(g_detecting, 0) && detection_due());
}
bool quiet() { return g_engine.is_quiet() && sends_without_address() == 0; }
void add_polled_source(transport::WaitSource* source) { g_engine.transports.add_polled(source); }
const Counters& counters() { return g_engine.counters; }

namespace {
template <class F>
uint64_t sum_over_endpoints(F&& f) {
  uint64_t sum = 0;
  g_engine.endpoints.for_each([&](const Endpoint* at, uint32_t) { sum += f(*at); });
  return sum;
}

/// The sum over the transports through shared memory, or over the others.
uint64_t sum_of(const uint64_t (&counts)[pt2pt::Counters::kGoals], bool shared_memory) {
  const uint64_t *first = &counts[pt2pt::Counters::kByTransport], *second = first + 1;
  if (g_engine.transports.first_shares_memory()) return shared_memory ? *first : *second;
  return shared_memory ? 0 : *first + *second;
}

[[maybe_unused]] const bool g_counters_provided = [] {
  using namespace counters;
  static constexpr auto& messages = g_engine.counters.messages;
  static constexpr auto& bytes = g_engine.counters.message_bytes;
  provide(kLocalMessages, [](const void*) { return messages[pt2pt::Counters::kLocal]; });
  provide(kLocalBytes, [](const void*) { return bytes[pt2pt::Counters::kLocal]; });
  provide(kSharedMessages, [](const void*) { return sum_of(messages, true); });
  provide(kSharedBytes, [](const void*) { return sum_of(bytes, true); });
  provide(kNetworkMessages, [](const void*) { return sum_of(messages, false); });
  provide(kNetworkBytes, [](const void*) { return sum_of(bytes, false); });
  provide(kMatchesSearched, [](const void*) { return g_matches_searched; });
  provide(kPolls, [](const void*) { return g_engine.counters.polls; });
  provide(kFrames, [](const void*) { return g_engine.counters.sent_frames; });
  provide(kFrameBytes, [](const void*) { return g_engine.counters.sent_bytes_frames; });
  provide(kUnexpectedBytes, [](const void*) { return g_engine.counters.unexpected_bytes; });
  provide(kUnexpectedBytesPeak,
          [](const void*) { return g_engine.counters.unexpected_bytes_peak; });
  provide(kReads, [](const void*) { return g_engine.counters.reads; });
  provide(kPostedReceives, [](const void*) {
    return sum_over_endpoints([](const Endpoint& e) { return e.posted.size(); });
  });
  provide(kUnexpectedMessages, [](const void*) {
    return sum_over_endpoints([](const Endpoint& e) { return e.unexpected.size(); });
  });
  provide(kMemoryRequests, [](const void*) -> uint64_t { return ChunkPool::bytes_of_all(); });
  provide(kLostProcesses, [](const void*) -> uint64_t { return lost_processes().size(); });
  return true;
}();
}  // namespace

void set_peer_failed_handler(void (*handler)(uint32_t, const std::string&)) {
  g_engine.set_peer_failed_handler(handler);
}

namespace {
/// A trimmer (proclet-sched/sched.h) of requests and of the objects of messages.
bool trim_requests() {
  bool more = SendRequest::trim();
  more |= RecvRequest::trim();
  more |= trim_matching();
  more |= trim_buffered_sends();
  more |= g_engine.pulls.trim();
  more |= g_engine.blocks.trim();
  g_requests.trim();
  fast::begin_turn_of_handles();
  return more;
}
}  // namespace

void set_local_count(uint32_t count) { g_engine.endpoints.add_until(count); }

Status init(const Setup& setup) {
  Engine& e = g_engine;
  e.begin(g_av.me(), g_av.processes());
  g_signature_bit =
      std::max(kLeastSignatureBit, static_cast<int>(std::bit_width(e.processes() - 1)));
  FGMPI_TRY(e.endpoints.reserve(setup.local_count));
  e.peers.make(e.processes());
  e.transports.set(setup.transports[0], setup.transports[1]);
  e.flow.begin(e.processes());
  for (int bit = 0; bit < 2; ++bit)
    if (setup.transports[bit]) e.flow.set_limits(bit, *setup.transports[bit]);
  if (g_ranks_move)
    begin_forwarding();
  else
    end_forwarding();
  start_detection();
  sched::add_trimmer(trim_requests);
  return {};
}

void set_processes(uint32_t processes, transport::FrameCarrier* others) {
  Engine& e = g_engine;
  e.peers.add_until(processes);
  e.set_processes(processes);
  if (others != e.transports.with_bit(1)) {
    e.flow.set_limits_of_others(*others, e.transports.with_bit(1) != nullptr);
    e.transports.set_second(others);
  }
  e.flow.set_processes(processes);
}

void forget_process(uint32_t process) {
  g_engine.peers.forget(process, [&](DeferredFrame* f) { g_engine.drop_frame(process, f); });
}

void discount_frames(uint64_t sent, uint64_t received) { g_engine.discount_frames(sent, received); }

int32_t source_to_travel(int32_t source) {
  return static_cast<int32_t>(static_cast<uint32_t>(source) >> g_signature_bit);
}

int32_t source_from_travel(int32_t source, uint32_t process) {
  const auto signature = static_cast<Signature>(source);
  return source_of(process, carried_bits(signature));
}

void finalize() {
  Engine& e = g_engine;
  report_leaks();
  e.endpoints.for_each([](Endpoint* at, uint32_t) {
    while (Arrived* a = at->unexpected.front()) {
      UnexpectedMessage* u = static_cast<UnexpectedMessage*>(a);
      remove_unexpected(at, u);
      if (u->kind != UnexpectedMessage::kLocal) drop_unexpected(u);
    }
  });
  e.endpoints.release();
  e.peers.release();
  e.transports.remove_all();
}

// ---- Level two ----------------------------------------------------------------------------------

namespace {

Buffer raw(const void* data, size_t bytes) {
  Buffer b;
  b.address = const_cast<void*>(data);
  b.count = static_cast<int64_t>(bytes);
  return b;
}

/// The source that stands for a process and a signature. It is never negative: negative sources
/// are wildcards.
int32_t source_of(uint32_t process, Signature signature) {
  return static_cast<int32_t>(process | carried_bits(signature) << g_signature_bit);
}

/// Returns the status of a complete receive of `expected` bytes, or MPI_ERR_TRUNCATE for
/// another length.
Status check_length(Status status, const Outcome& outcome, uint64_t expected) {
  if (__builtin_expect(status.ok() && outcome.bytes == expected, 1)) return status;
  const auto room = static_cast<unsigned long long>(expected);
  if (status.ok())
    return error(MPI_ERR_TRUNCATE,
                 "process %u sent %llu bytes where %llu are expected: counts and types must match",
                 process_of_source(outcome.source), static_cast<unsigned long long>(outcome.bytes),
                 room);
  if (status.error_class() != MPI_ERR_TRUNCATE || outcome.source < 0) return status;
  return error(MPI_ERR_TRUNCATE,
               "process %u sent more than the %llu bytes that are expected: counts and types must "
               "match",
               process_of_source(outcome.source), room);
}

Unmatched unmatched_of(const UnexpectedMessage& u) {
  return {u.envelope.ctx, u.envelope.tag, u.process,
          static_cast<uint32_t>(u.envelope.source) >> g_signature_bit};
}

/// A receive that consumes a message for nobody.
struct Discard {
  Buffer buffer;
  Outcome outcome;
  RecvOp op;
  static void take(UnexpectedMessage* u) {
    auto* d = new Discard;
    d->op.prepare(d->buffer, &d->outcome);
    d->op.owner = d;
    d->op.finish = [](RecvOp* done) { delete static_cast<Discard*>(done->owner); };
    consume(u, &d->op);
  }
};

}  // namespace

Signature carried_bits(Signature signature) { return signature & (0x7fffffffu >> g_signature_bit); }

uint32_t process_of_source(int32_t source) {
  return static_cast<uint32_t>(source) & ((1u << g_signature_bit) - 1);
}

Status process_send(uint32_t process, uint64_t ctx, int32_t tag, const void* data, size_t bytes,
                    const char* call, Signature signature) {
  return send(raw(data, bytes), {process, kProcessEndpoint}, source_of(g_engine.me(), signature),
              tag, ctx, SendMode::kStandard, call);
}

Status process_recv(uint32_t process, uint64_t ctx, int32_t tag, void* data, size_t bytes,
                    const char* call, Signature signature) {
  Outcome outcome;
  Status status = recv(raw(data, bytes), endpoint(kProcessEndpoint), source_of(process, signature),
                       tag, ctx, call, &outcome);
  return check_length(std::move(status), outcome, bytes);
}

Status process_recv_any(uint64_t ctx, int32_t tag, void* data, size_t bytes, const char* call,
                        uint32_t* process) {
  Outcome outcome;
  Status status =
      recv(raw(data, bytes), endpoint(kProcessEndpoint), MPI_ANY_SOURCE, tag, ctx, call, &outcome);
  FGMPI_TRY(check_length(std::move(status), outcome, bytes));
  *process = process_of_source(outcome.source);
  return {};
}

Status process_recv(uint32_t process, uint64_t ctx, int32_t tag, std::vector<uint8_t>* data,
                    const char* call) {
  Outcome outcome;
  Message* message;
  FGMPI_TRY(mprobe(endpoint(kProcessEndpoint), source_of(process, 0), tag, ctx, call, &outcome,
                   &message));
  data->resize(outcome.bytes);
  return mrecv(raw(data->data(), data->size()), message, call, &outcome);
}

Status process_isend(uint32_t process, uint64_t ctx, int32_t tag, const void* data, size_t bytes,
                     const char* call, Request** out, Signature signature) {
  return isend(raw(data, bytes), {process, kProcessEndpoint}, source_of(g_engine.me(), signature),
               tag, ctx, SendMode::kStandard, call, nullptr, out);
}

Status process_irecv(uint32_t process, uint64_t ctx, int32_t tag, void* data, size_t bytes,
                     const char* call, Request** out, Signature signature) {
  FGMPI_TRY(irecv(raw(data, bytes), endpoint(kProcessEndpoint), source_of(process, signature), tag,
                  ctx, call, nullptr, out));
  (*out)->exact = true;
  return {};
}

Status process_outcome(Request* request) {
  Status status = std::move(request->outcome.error);
  if (!request->exact) return status;
  return check_length(std::move(status), request->outcome,
                      static_cast<RecvRequest*>(request)->op.capacity);
}

void set_unmatched_handler(void (*handler)(const Unmatched&)) {
  static void (*g_handler)(const Unmatched&);
  g_handler = handler;
  g_engine.set_unmatched_handler([](const UnexpectedMessage* u) { g_handler(unmatched_of(*u)); });
}

std::vector<Unmatched> list_unmatched() {
  std::vector<Unmatched> list;
  for (Arrived* a = endpoint(kProcessEndpoint)->unexpected.front(); a; a = a->next)
    list.push_back(unmatched_of(*static_cast<UnexpectedMessage*>(a)));
  return list;
}

uint32_t count_unmatched(uint32_t most) {
  return endpoint(kProcessEndpoint)->unexpected.size(most);
}

void cancel_traffic(uint64_t ctx, int32_t tag, int32_t mask, const Status& status) {
  Endpoint* at = endpoint(kProcessEndpoint);
  auto is_meant = [&](const Envelope& e) { return e.ctx == ctx && ((e.tag ^ tag) & ~mask) == 0; };
  std::vector<RecvOp*> receives;
  for (PostedReceive* p = at->posted.front(); p; p = p->next)
    if (is_meant(p->envelope)) receives.push_back(static_cast<RecvOp*>(p));
  for (RecvOp* op : receives) {
    at->posted.remove(op);
    op->queued = false;
    op->outcome->error = Status(status.error_class(), status.what());
    complete_op(op);
  }
  std::vector<UnexpectedMessage*> messages;
  for (Arrived* a = at->unexpected.front(); a; a = a->next)
    if (is_meant(a->envelope)) messages.push_back(static_cast<UnexpectedMessage*>(a));
  for (UnexpectedMessage* u : messages) {
    remove_unexpected(at, u);
    Discard::take(u);
  }
}

// ---- Notices ------------------------------------------------------------------------------------

void set_notice_handler(int kind, NoticeHandler handler) {
  FGMPI_CHECK(kind >= 0 && kind < 16);
  g_engine.set_notice_handler(static_cast<uint32_t>(kind), handler);
}

void refuse_notice() { g_engine.count_bad_frame(); }

size_t most_notice_bytes(uint32_t process) {
  return g_engine.transports.to(process)->max_payload();
}

void notify(uint32_t process, int kind, uint64_t ctx, const void* data, size_t bytes) {
  Engine& e = g_engine;
  FGMPI_CHECK(kind >= 0 && kind < 16 && (bytes <= 1024 || bytes <= most_notice_bytes(process)));
  if (process == e.me()) {
    if (NoticeHandler handler = e.notice_handler(static_cast<uint32_t>(kind)))
      handler(e.me(), ctx, data, bytes);
    return;
  }
  transport::Header h = e.header_for(kNotice, 0);
  h.ctx = ctx;
  h.tag = kind;
  h.size = bytes;
  e.send_own_frame(process, h, data, bytes);
}

}  // namespace fgmpi::pt2pt
