// Requests of point-to-point: an operation, the buffer that it uses, and the base Request.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/repeatable.h"
#include "base/slab.h"
#include "host/handle_bits.h"
#include "proclet-sched/coroutine/call_count.h"
#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

inline constexpr uint32_t kRequestBase =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kRequest);
inline constexpr uint32_t kIndexMask = 0x01ffffffu;  ///< bit 25 is for messages
inline constexpr uint32_t kMessageBit = 0x02000000u;
inline constexpr uint32_t kSentHandle = kRequestBase | kIndexMask;

/// The objects behind handles, and the shared complete send. Both are never destroyed: programs use
/// MPI until they end.
[[gnu::visibility("hidden")]] extern Slab<Request*>& g_requests;
[[gnu::visibility("hidden")]] extern Request* const g_sent;

class SendRequest final : public Request {
 public:
  SendRequest(const Buffer& b, Peer to, const Envelope& e, SendMode m, const char* name,
              RefCount* k);
  ~SendRequest() override;
  static void sent(SendOp* op);
  Status start() override;
  void cancel() override;
  void describe(std::string* out) const override;
  bool awaits(WaitFor* out) const override;
  ToolEvent tool_event() const override;
  static void* operator new(size_t);
  static void operator delete(void* p);
  static bool trim();

  SendOp op;
  Buffer buffer;
  SendMode mode;
};

class RecvRequest final : public Request {
 public:
  RecvRequest(const Buffer& b, Endpoint* at, const Envelope& pattern, const char* name,
              RefCount* k);
  /// Makes a receive of `bytes` contiguous bytes.
  RecvRequest(void* data, uint64_t bytes, Endpoint* at, const Envelope& pattern, const char* name,
              RefCount* k)
      : at(at) {
    buffer.address = op.data = static_cast<char*>(data);
    buffer.count = static_cast<int64_t>(bytes);
    op.buffer = &buffer;
    op.capacity = bytes;
    op.outcome = &outcome;
    prepare(pattern, name, k);
  }
  ~RecvRequest() override;
  Status start() override;
  void cancel() override;
  void describe(std::string* out) const override;
  bool awaits(WaitFor* out) const override;
  /// Stalls a receive from MPI_ANY_SOURCE that may wait for a failed process (lost.h). The receive
  /// stays posted, but the request is complete with this error until the program has received the
  /// error. progress() checks whether the reason still holds.
  void stall(Status pending);
  void progress() override;
  /// Makes a stalled request incomplete again: the program has received the error, or the
  /// reason has gone.
  void go_on();
  ToolEvent tool_event() const override { return {.what = ToolEvent::kReceive}; }
  static void arrived(RecvOp* op) { static_cast<RecvRequest*>(op->owner)->set_complete(); }
  static void arrived_stalled(RecvOp* op);
  static void* operator new(size_t) { return pool.take(); }
  static void operator delete(void* p) { pool.give(p); }
  static bool trim() { return pool.trim(); }

  RecvOp op;  ///< op.envelope is the pattern
  Buffer buffer;
  Endpoint* at;

 private:
  void prepare(const Envelope& pattern, const char* name, RefCount* k) {
    call = name;
    comm_ref = k;
    if (comm_ref) comm_ref->retain();
    op.envelope = pattern;
    op.owner = this;
    op.direct = op.data ? op.capacity + 1 : 0;
    op.finish = arrived;
  }
  [[gnu::visibility("hidden")]] static Pool<RecvRequest> pool;
};

/// The request that completes with this operation, by itself or with another one; nullptr: there is
/// none. Without progress at other processes only.
Request* request_of(const RecvOp& op);
Request* request_of(const SendOp& op);

/// Is this a partitioned send or receive?
bool is_partitioned(const Request* request);

/// Handles (pt2pt.h), in line for the bindings.
namespace fast {

/// As many handles may be in use before others run (need_handle()); at most kIndexMask.
[[gnu::visibility("hidden")]] extern uint32_t g_handles_before_turn;

/// False when all handles but kSentHandle's are in use, or so many more than at the begin of the
/// turn that others are to run first.
inline bool has_free_handle() { return g_requests.live() < g_handles_before_turn; }
/// From now on as many more may be in use as a turn has calls. In recorded runs turns end by events
/// (src/rewind): how many handles are in use may depend on whether the run is checked.
inline void begin_turn_of_handles() {
  g_handles_before_turn =
      is_repeatable() ? kIndexMask : std::min(g_requests.live() + sched::kCallsPerTurn, kIndexMask);
}

/// REQUIRES: not all handles are in use, or the request has one already.
inline MPI_Request handle_of(Request* request) {
  if (request->handle == 0) {
    int64_t index = g_requests.create(request);
    FGMPI_ASSERT(index >= 0 && index < kIndexMask);
    request->handle = kRequestBase | static_cast<uint32_t>(index);
  }
  return static_cast<MPI_Request>(request->handle);
}

/// Returns nullptr when the handle is not in use.
inline Request* find_request(MPI_Request handle) {
  uint32_t h = static_cast<uint32_t>(handle);
  if (h == kSentHandle) return g_sent;
  if (__builtin_expect((h & ~kIndexMask) != kRequestBase, 0)) return nullptr;
  Request** slot = g_requests.get(h & kIndexMask);
  return __builtin_expect(slot && !(*slot)->freed, 1) ? *slot : nullptr;
}

inline void drop_handle(Request* request) {
  if (request->handle == 0 || request->immortal) return;
  g_requests.destroy(request->handle & kIndexMask);
  request->handle = 0;
}

}  // namespace fast
}  // namespace fgmpi::pt2pt
