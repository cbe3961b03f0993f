// Set-up, the messages between processes (level two), and notices.

#include <mpi.h>

#include <algorithm>

#include "base/counters.h"
#include "base/settings.h"
#include "pt2pt/deadlock.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

Endpoint* endpoint(uint32_t local) { return g_engine.at(local); }
transport::Sink* sink() { return &g_engine; }
bool progress() {
  bool moved = g_engine.progress();
  return moved || (__builtin_expect(g_engine.detecting, 0) && detection_due());
}
bool quiet() {
  return g_engine.waiting_peers.empty() && g_engine.pulls.used() == 0 && g_engine.lent == 0;
}
const Counters& counters() { return g_engine.counters; }

namespace {
[[maybe_unused]] const bool g_counters_provided = [] {
  using namespace counters;
  provide(kLocalMessages, [](const void*) { return g_engine.counters.sent_local; });
  provide(kFrames, [](const void*) { return g_engine.counters.sent_frames; });
  provide(kFrameBytes, [](const void*) { return g_engine.counters.sent_bytes_frames; });
  provide(kUnexpectedBytes, [](const void*) { return g_engine.counters.unexpected_bytes; });
  provide(kUnexpectedBytesPeak,
          [](const void*) { return g_engine.counters.unexpected_bytes_peak; });
  provide(kReads, [](const void*) { return g_engine.counters.reads; });
  return true;
}();
}  // namespace

void set_peer_failed_handler(void (*handler)(uint32_t, const std::string&)) {
  g_engine.on_peer_failed = handler;
}

Status init(const Setup& setup) {
  Engine& e = g_engine;
  e.me = g_av.me();
  e.processes = g_av.processes();
  e.local_count = setup.local_count;
  e.endpoints = std::make_unique<Endpoint[]>(size_t{setup.local_count} + 1);
  e.peers = std::make_unique<PeerState[]>(e.processes);
  e.transports[0] = setup.transports[0];
  e.transports[1] = setup.transports[1];
  e.counters = {};
  const uint64_t limit = settings::size(settings::kUnexpectedLimit);
  // Collocated: a copy of up to 64 KiB costs less than what programs lose that count on it to
  // return, and MPICH's eager limit in shared memory is the same. Between processes the transport
  // knows what pays: one frame, or several where asking takes as long.
  e.eager_local = settings::size(settings::kEagerLocal);
  const uint64_t remote = settings::size(settings::kEagerRemote);
  for (int bit = 0; bit < 2; ++bit) {
    const transport::Transport* t = setup.transports[bit];
    if (!t) continue;
    e.eager_remote[bit] = std::min<uint64_t>(remote, t->most_unasked());
    e.least_lent[bit] = t->least_lent();
    e.copied_remote[bit] =
        std::min({e.eager_remote[bit], uint64_t{t->max_payload()}, e.least_lent[bit] - 1});
  }
  e.lent = 0;
  const bool alone = e.processes < 2;
  e.local_limit = alone ? limit : limit / 2;
  e.window = alone ? 0 : limit / 2 / (e.processes - 1);
  e.local_unexpected = 0;
  start_detection();
  return {};
}

void finalize() {
  Engine& e = g_engine;
  report_leaks();
  for (uint32_t i = 0; i < e.local_count + 1 && e.endpoints; ++i) {
    while (Arrived* a = e.endpoints[i].unexpected.front()) {
      Unexpected* u = static_cast<Unexpected*>(a);
      remove_unexpected(&e.endpoints[i], u);
      if (u->kind != Unexpected::kLocal) drop_unexpected(u);
    }
  }
  e.endpoints.reset();
  e.peers.reset();
  e.local_count = 0;
  e.transports[0] = e.transports[1] = nullptr;
}

// ---- Level two ----------------------------------------------------------------------------------

namespace {
Buffer raw(const void* data, size_t bytes) {
  Buffer b;
  b.address = const_cast<void*>(data);
  b.count = static_cast<int64_t>(bytes);
  return b;
}
int32_t rank_of(uint32_t process) { return static_cast<int32_t>(process); }
}  // namespace

Status process_send(uint32_t process, uint64_t ctx, int32_t tag, const void* data, size_t bytes,
                    const char* call) {
  return send(raw(data, bytes), {process, kProcessEndpoint}, rank_of(g_engine.me), tag, ctx,
              Mode::kStandard, call);
}

Status process_recv(uint32_t process, uint64_t ctx, int32_t tag, void* data, size_t bytes,
                    const char* call) {
  Outcome outcome;
  FGMPI_TRY(recv(raw(data, bytes), endpoint(kProcessEndpoint), rank_of(process), tag, ctx, call,
                 &outcome));
  if (__builtin_expect(outcome.bytes == bytes, 1)) return {};
  return error(MPI_ERR_TRUNCATE,
               "process %u sent %llu bytes where %zu are expected: counts and types must match",
               process, static_cast<unsigned long long>(outcome.bytes), bytes);
}

Status process_recv(uint32_t process, uint64_t ctx, int32_t tag, std::vector<uint8_t>* data,
                    const char* call) {
  Outcome outcome;
  Message* message;
  mprobe(endpoint(kProcessEndpoint), rank_of(process), tag, ctx, call, &outcome, &message);
  data->resize(outcome.bytes);
  return mrecv(raw(data->data(), data->size()), message, call, &outcome);
}

Status process_isend(uint32_t process, uint64_t ctx, int32_t tag, const void* data, size_t bytes,
                     const char* call, Request** out) {
  return isend(raw(data, bytes), {process, kProcessEndpoint}, rank_of(g_engine.me), tag, ctx,
               Mode::kStandard, call, nullptr, out);
}

Status process_irecv(uint32_t process, uint64_t ctx, int32_t tag, void* data, size_t bytes,
                     const char* call, Request** out) {
  return irecv(raw(data, bytes), endpoint(kProcessEndpoint), rank_of(process), tag, ctx, call,
               nullptr, out);
}

// ---- Notices ------------------------------------------------------------------------------------

void set_notice_handler(int kind, NoticeHandler handler) {
  FGMPI_CHECK(kind >= 0 && kind < 16);
  g_engine.notice_handlers[kind] = handler;
}

void notify(uint32_t process, int kind, uint64_t ctx, const void* data, size_t bytes) {
  Engine& e = g_engine;
  FGMPI_CHECK(kind >= 0 && kind < 16 && bytes <= 1024);
  if (process == e.me) {
    if (e.notice_handlers[kind]) e.notice_handlers[kind](e.me, ctx, data, bytes);
    return;
  }
  transport::Header h = e.header_for(kNotice, 0);
  h.ctx = ctx;
  h.tag = kind;
  h.size = bytes;
  e.send_own(process, h, data, bytes);
}

}  // namespace fgmpi::pt2pt
