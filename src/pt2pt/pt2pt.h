// Point-to-point: requests, matching, protocols. This layer takes a context id and a resolved peer,
// never a communicator (src/comm resolves ranks).
//
// Each proclet of the process has an Endpoint: its queues of posted receives and of unexpected
// messages. An idle endpoint has allocated nothing. The process itself has one more, for messages
// between processes (level two of collectives, notices). A message goes to (process, local
// endpoint) and is matched there by (context id, source rank, tag). It never overtakes an earlier
// message of the same source and context.
//
// Between collocated ranks the sender matches directly in the receiver's queue:
//   receive posted first    the sender copies straight into the receive buffer
//   unexpected and small    the sender makes an eager copy, from which the receiver copies
//   unexpected and large    the sender waits, and the receiver copies from the sender's buffer
// Between processes a message is sent in eager frames, or by rendezvous: the receiver pulls it by
// MemoryReader::read, or asks for data frames.
//
// Thread rule: one thread. Every blocking call here may switch; i-calls never do.
// Invariants: a request completes exactly once; what a request uses (datatype, communicator) lives
// until then.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/ref_count.h"
#include "base/status.h"
#include "ch4-av-rankmap/av.h"
#include "datatype/datatype.h"
#include "proclet-sched/coroutine/poller.h"
#include "proclet-sched/sched.h"
#include "transport/transport.h"

namespace fgmpi::pt2pt {

using transport::kProcessEndpoint;

/// A resolved destination or source endpoint. A destination may also be {kUnknownProcess, rank in
/// the communicator}: the send then waits for its address, and later sends to that rank wait behind
/// it (unknown_peer.cc).
using Peer = Location;  // local may be kProcessEndpoint

enum class SendMode : uint8_t { kStandard, kSynchronous, kReady, kBuffered };

/// User memory: `count` elements of `type` at `address`.
struct Buffer {
  void* address = nullptr;
  int64_t count = 0;
  datatype::Type type;
  int64_t bytes() const { return count * type.size(); }
};

/// What a completed request reports (MPI_Status without its layout).
struct Outcome {
  /// Rank in the communicator, MPI_PROC_NULL, or MPI_ANY_SOURCE (empty status).
  int32_t source = MPI_ANY_SOURCE;
  int32_t tag = MPI_ANY_TAG;
  uint64_t bytes = 0;
  bool cancelled = false;
  Status error;  ///< e.g. MPI_ERR_TRUNCATE
};

using sched::Waiter;

/// The proclet or process that something waits for, for the deadlock report.
struct WaitFor {
  Peer peer;
};

/// Base of everything that a user can wait for. Derived: point-to-point requests (below),
/// collectives (src/coll), generalized and partitioned requests (src/pt2pt), RMA (src/rma).
class Request {
 public:
  virtual ~Request() = default;
  /// Allocation for requests without a pool of their own. The freed bytes are counted, so that a
  /// trimmer can return memory of the allocator's heap to the system.
  static void* operator new(size_t bytes);
  static void operator delete(void* request, size_t bytes);
  /// Called by MPI_Start on a persistent (or partitioned) request that is inactive.
  virtual Status start() { return error(MPI_ERR_REQUEST, "the request is not persistent"); }
  /// MPI_Cancel: may complete the request with outcome.cancelled.
  virtual void cancel() {}
  /// Polled by test and wait, for requests that make progress in no other way (generalized requests
  /// with poll functions).
  virtual void progress() {}
  /// Appends words for the deadlock report ("send to 3, tag 7, ...").
  virtual void describe(std::string* out) const { *out += call; }
  /// Sets whom the request waits for; false when that is not one proclet or process.
  virtual bool awaits(WaitFor*) const { return false; }
  /// Generalized requests fill the user's status themselves and return an MPI error code; others
  /// return -1, and the status is made from `outcome`.
  virtual int fill_status(MPI_Status*) { return -1; }
  /// Calls a generalized request's free function, once, before the request is deleted. Returns an
  /// MPI error code.
  virtual int release() { return MPI_SUCCESS; }
  /// What a generalized request's cancel function returned to the last cancel(): an MPI error code.
  virtual int cancel_code() const { return MPI_SUCCESS; }

  /// How its start, or its completion, is reported to tools as an event (MPI-4.0 section 15.3.8).
  struct ToolEvent {
    enum What : uint8_t { kNothing, kSend, kReceive, kCollective, kCommunicator } what = kNothing;
    /// A send's target as a world rank; a collective's kind; a new communicator's handle.
    int32_t first = 0;
    int32_t second = 0;  ///< a send's tag; a collective's number
    int64_t bytes = 0;   ///< of a send
  };
  virtual ToolEvent tool_event() const { return {}; }

  /// Persistent, polled, external or watched.
  bool is_special() const {
    uint32_t word;
    __builtin_memcpy(&word, &persistent, sizeof word);
    return word != 0;
  }
  bool complete() const { return complete_; }
  const bool* complete_flag() const { return &complete_; }
  /// Marks the request complete and wakes its waiter; deletes a request that the user has freed.
  /// Never switches.
  void set_complete();

  Outcome outcome;
  RefCount* comm_ref = nullptr;  ///< the communicator it belongs to (a comm::Comm), or nullptr
  const char* call = "";         ///< the MPI call that made it
  Waiter* waiter = nullptr;
  uint32_t handle = 0;  ///< its MPI_Request, or 0 when it has none
  // The four flags that make a request special. They fill one word, which is_special()
  // reads at once.
  alignas(4) bool persistent = false;
  bool polled = false;    ///< completes only by calls of progress()
  bool external = false;  ///< may be completed from outside of MPI: not part of a deadlock
  bool watched = false;   ///< its completion is an event for tools
  bool active = true;     ///< persistent: from its start until a call returns its completion
  bool freed = false;     ///< MPI_Request_free was called on it while it was active
  bool immortal = false;  ///< shared by all sends that completed at once: never freed
  bool exact = false;     ///< of a RecvRequest: a message shorter than its buffer is an error
 protected:
  bool complete_ = false;

 public:
  /// MPI_Request_get_status has returned that it is complete, so that every later call must
  /// return so, too.
  bool reported_complete = false;
};

/// Matching state of one proclet, or of the process. At most 64 bytes while idle.
class Endpoint;
/// The endpoint of proclet `local` of this process, or of the process (kProcessEndpoint).
Endpoint* endpoint(uint32_t local);

/// What init() sets up: `local_count` endpoints, and the transports to other processes:
/// transports[bit] serves peers whose transport bit is `bit`.
struct Setup {
  uint32_t local_count = 0;
  transport::FrameCarrier* transports[2] = {nullptr, nullptr};
};
/// Reads the settings FGMPI_UNEXPECTED_LIMIT, FGMPI_EAGER_LOCAL, FGMPI_EAGER_REMOTE (sizes). A bad
/// value ends the process with one line.
Status init(const Setup& setup);
void finalize();
/// Where transports deliver to.
transport::Sinks sinks();

// ---- Processes of other jobs (src/dynamic) ------------------------------------------------------
/// From now on the address vector has `processes` elements, and those with transport bit 1 are
/// reached by `others`. `others` replaces the transport that had the bit before, if there was one.
/// Never switches.
void set_processes(uint32_t processes, transport::FrameCarrier* others);
/// Drops frames that wait to be sent to a process of another job, whose element of the address
/// vector is released. Never switches.
void forget_process(uint32_t process);
/// Ranks with local indices below `count` may run from now on. REQUIRES: count <=
/// sched::most_ranks(). Never switches.
void set_local_count(uint32_t count);
/// While other jobs may still send something, this job cannot detect a deadlock: none is reported.
void set_connected_to_others(bool connected);
/// Takes frames between jobs out of the counts, since the detection of deadlocks compares what is
/// sent and received within the job.
void discount_frames(uint64_t sent, uint64_t received);
/// Converts the source of a message between processes (below) to a form that another job
/// understands, and back.
int32_t source_to_travel(int32_t source);
int32_t source_from_travel(int32_t source, uint32_t process);
/// Jobs with more processes have a shorter signature and cannot be connected.
inline constexpr uint32_t kMostProcessesToConnect = 1u << 16;
/// Polls transports and pushes deferred frames; true when anything has moved. Never switches.
bool progress();
/// From now on progress() also polls this source, which carries no frames (src/multicast), and
/// quiet() asks it.
void add_polled_source(transport::WaitSource* source);
/// True when no frame of this process is deferred and no rendezvous is under way. A process that is
/// not quiet must poll, not sleep without limit, and must not end.
bool quiet();
/// Sets the function that is called when a transport reports that a peer is lost. Without one, a
/// lost peer ends the process with one line.
void set_peer_failed_handler(void (*handler)(uint32_t process, const std::string& why));

/// Functions of the layers above that name what only they know, for reports. Each may be nullptr.
struct Naming {
  /// Sets *out to the communicator of a context id, as the user knows it ("MPI_COMM_WORLD", "grid
  /// <0,1>").
  void (*communicator)(uint64_t ctx, std::string* out) = nullptr;
  /// Where the rank of a communicator lives; false when unknown. For contexts whose messages go
  /// between processes (collectives), *out is the process's endpoint (kProcessEndpoint).
  bool (*locate)(uint64_t ctx, int32_t rank, Peer* out) = nullptr;
};
void set_naming(const Naming& naming);

// ---- Destinations whose address has to be asked for ---------------------------------------------
/// Finds where a rank of the communicator of `ctx` is. False when that is not known yet: then the
/// layer above asks for it, and calls start_waiting_sends() with the answer. Must not switch.
using AddressSource = bool (*)(uint64_t ctx, int32_t rank, Peer* out);
void set_address_source(AddressSource source);
/// Starts the sends that wait for this address, in the order in which they were called. `ctx` may
/// be of any plane. Never switches.
void start_waiting_sends(uint64_t ctx, int32_t rank, Peer peer);
/// The ranks in [low, high) of the communicator to which sends wait for an address, ascending.
std::vector<int32_t> awaited_ranks(uint64_t ctx, int32_t low, int32_t high);
/// How many sends wait for an address, for reports and tests.
uint32_t sends_without_address();

// ---- Sends. `source_rank` is the sender's rank in the communicator of `ctx`. --------------------
/// Blocking; may switch.
Status send(const Buffer& buffer, Peer to, int32_t source_rank, int32_t tag, uint64_t ctx,
            SendMode mode, const char* call);
/// Never switches. *out is a new request (the caller owns it until wait/test/free).
Status isend(const Buffer& buffer, Peer to, int32_t source_rank, int32_t tag, uint64_t ctx,
             SendMode mode, const char* call, RefCount* comm_ref, Request** out);
Status send_init(const Buffer& buffer, Peer to, int32_t source_rank, int32_t tag, uint64_t ctx,
                 SendMode mode, const char* call, RefCount* comm_ref, Request** out);

// ---- Receives at endpoint `at`. source: rank or MPI_ANY_SOURCE; tag: value or MPI_ANY_TAG. ------
Status recv(const Buffer& buffer, Endpoint* at, int32_t source, int32_t tag, uint64_t ctx,
            const char* call, Outcome* outcome);
Status irecv(const Buffer& buffer, Endpoint* at, int32_t source, int32_t tag, uint64_t ctx,
             const char* call, RefCount* comm_ref, Request** out);
Status recv_init(const Buffer& buffer, Endpoint* at, int32_t source, int32_t tag, uint64_t ctx,
                 const char* call, RefCount* comm_ref, Request** out);

// ---- Send and receive in one call. A side with process kNoPeer is MPI_PROC_NULL and does nothing.
inline constexpr uint32_t kNoPeer = 0xffffffffu;
struct Exchange {
  Buffer send, recv;
  Peer to{kNoPeer, 0};
  int32_t source_rank = 0, send_tag = 0;  ///< of the message that is sent
  Endpoint* at = nullptr;
  int32_t source = MPI_PROC_NULL, recv_tag = 0;  ///< MPI_PROC_NULL: nothing is received
  uint64_t ctx = 0;
  bool replace = false;  ///< both sides use `send`: the data is copied before it is sent
};
/// Blocking; may switch.
Status sendrecv(Exchange& exchange, const char* call, Outcome* outcome);
Status isendrecv(Exchange& exchange, const char* call, RefCount* comm_ref, Request** out);

// ---- Buffered sends -----------------------------------------------------------------------------
class AttachedBuffer;

/// Where a buffer can be attached: to a rank, a communicator or a session. A buffer with messages
/// outlives its place until they are sent.
struct BufferPlace {
  AttachedBuffer* attached = nullptr;

  BufferPlace() = default;
  BufferPlace(BufferPlace&& other) noexcept;  ///< REQUIRES: no buffer is attached to the other one
  ~BufferPlace();
};

/// The buffers of a rank: its own, and a list of all that are attached to its communicators and
/// sessions or have messages.
struct RankBuffers {
  AttachedBuffer* first = nullptr;
  BufferPlace own;

  RankBuffers() = default;
  RankBuffers(const RankBuffers&) = delete;
  ~RankBuffers();
};

/// The address of a buffer that MPI provides: MPI_BUFFER_AUTOMATIC of MPICH's mpi.h, from 4.2 on.
inline void* const kBufferAutomatic = reinterpret_cast<void*>(intptr_t{-2});

Status attach_buffer(RankBuffers* rank, BufferPlace* place, void* address, int64_t bytes);
/// Waits until all messages in the buffer have left it. May switch. Sets nullptr and 0 when none
/// is attached, and 0 bytes for kBufferAutomatic.
Status detach_buffer(BufferPlace* place, void** address, int64_t* bytes, const char* call);
/// Waits until the messages have left the buffer that are in it now. May switch. Does nothing where
/// no buffer is attached.
Status flush_buffer(BufferPlace* place, const char* call);
/// A request that completes when the messages have left the buffer that are in it now.
Request* iflush_buffer(AttachedBuffer* attached, const char* call, RefCount* comm_ref);
/// Waits until no buffer of the rank has messages. May switch.
void flush_all_buffers(RankBuffers* rank, const char* call);
/// Never switches. MPI_ERR_BUFFER when there is no buffer (nullptr), or no room in it.
Status bsend(AttachedBuffer* attached, const Buffer& buffer, Peer to, int32_t source_rank,
             int32_t tag, uint64_t ctx);
/// The buffer for buffered sends on a communicator; nullptr where none is attached.
using BufferFinder = AttachedBuffer* (*)(const RefCount* comm_ref);
/// Calls `find` at each start, since another buffer may have been attached.
Status bsend_init(BufferFinder find, const Buffer& buffer, Peer to, int32_t source_rank,
                  int32_t tag, uint64_t ctx, const char* call, RefCount* comm_ref, Request** out);

// ---- Partitioned (MPI-4.0 chapter 4) ------------------------------------------------------------
// `partition` describes one partition; partition i lies i * count * extent further. `ctx` is on the
// plane of partitioned traffic; the plane above that one carries the data. A peer with process
// kNoPeer is MPI_PROC_NULL. These calls never switch.
Status psend_init(const Buffer& partition, int32_t partitions, Peer to, int32_t source_rank,
                  int32_t tag, uint64_t ctx, const char* call, RefCount* comm_ref, Request** out);
Status precv_init(const Buffer& partition, int32_t partitions, Endpoint* at, int32_t source,
                  int32_t tag, uint64_t ctx, const char* call, RefCount* comm_ref, Request** out);
/// Marks partitions low to high, or the listed ones, as ready; on an error it marks none.
/// MPI_ERR_REQUEST: not an active partitioned send; MPI_ERR_OTHER: no such partition; MPI_ERR_ARG:
/// the partition is ready already.
Status pready_range(Request* request, int32_t low, int32_t high);
Status pready_list(Request* request, const int32_t* partitions, int32_t count);
/// Yields to other proclets when the partition has not arrived. May switch.
Status parrived(Request* request, int32_t partition, bool* arrived);

// ---- Generalized requests (MPI-4.0 section 13.2; MPICH's extension with poll functions) ---------
struct GeneralizedCalls {
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* free = nullptr;
  MPI_Grequest_cancel_function* cancel = nullptr;
  MPIX_Grequest_poll_function* poll = nullptr;
  void* state = nullptr;
};
Request* generalized_start(const GeneralizedCalls& calls, const char* call);
/// Returns MPI_ERR_REQUEST when the request is not a generalized one or is complete. *code: what
/// the free function returned, where the user has freed the request already.
Status generalized_complete(Request* request, int* code);
/// From now on the request's functions are called with the conventions of Fortran.
void generalized_fortran(Request* request);

/// The request of a send that is complete. It is shared and never freed.
Request* sent_request();
/// An already complete request (MPI_PROC_NULL).
Request* completed_request(int32_t source, int32_t tag, const char* call, RefCount* comm_ref);

// ---- Probes -------------------------------------------------------------------------------------
/// Finds a matching message and sets its envelope; the message stays in the queue. Yields when
/// there is none.
bool iprobe(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, Outcome* outcome);
/// Waits for a matching message, which stays in the queue. May switch.
Status probe(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, const char* call,
             Outcome* outcome);
/// Matched probes take the message out of the queue. mrecv() and imrecv() consume a Message.
class Message;
bool improbe(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, Outcome* outcome,
             Message** message);
Status mprobe(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, const char* call,
              Outcome* outcome, Message** message);
Status imrecv(const Buffer& buffer, Message* message, const char* call, RefCount* comm_ref,
              Request** out);
/// Blocking form; may switch.
Status mrecv(const Buffer& buffer, Message* message, const char* call, Outcome* outcome);
MPI_Message message_handle(Message* message);
/// Finds the message behind a handle and releases the handle; nullptr when the handle
/// is not in use.
Message* claim_message(MPI_Message handle);

// ---- Completion ---------------------------------------------------------------------------------
/// Parks until every non-null request is complete. May switch. Does not free the requests.
void wait_all(Request* const* requests, size_t count, const char* call);
/// Parks until at least one request is complete. May switch. REQUIRES: one of them is non-null.
void wait_any(Request* const* requests, size_t count, const char* call);
inline void wait(Request* request, const char* call) {
  if (!request->complete()) wait_all(&request, 1, call);
}
/// Polls for progress once, then yields when the request is still incomplete. True when it
/// is complete.
bool test(Request* request, const char* call);
/// Drops a request: deletes it when complete or inactive, else when it completes.
void free_request(Request* request);

// ---- Handles: MPI_Request <-> Request -----------------------------------------------------------
/// Called before an operation that needs a handle begins; no switch may lie between it and
/// handle_of(), which makes the handle. MPI_ERR_NO_MEM when all handles are in use or there is no
/// memory for another one.
Status need_handle();
/// Returns the request's handle, and makes it at the first call. REQUIRES: need_handle() was ok.
MPI_Request handle_of(Request* request);
/// Like need_handle(), for message_handle().
Status need_message_handle();
/// Returns nullptr when the handle is not in use.
Request* find_request(MPI_Request handle);
void drop_handle(Request* request);
/// Like find_request(), for freed requests too: a freed generalized request keeps its handle until
/// it is complete.
Request* find_freed_too(MPI_Request handle);
/// Calls visit() for every request with a handle, in the order of handles.
void for_each_request(void (*visit)(Request*, void*), void* argument);

// ---- Messages between processes (level two), contiguous bytes -----------------------------------
// Messages are matched at the process endpoints by (ctx, sender's process, tag, signature). The
// signature stands for what both ends must agree on: a message with another signature is not
// matched. A message whose length is not the one that the receiver expects is an error
// (MPI_ERR_TRUNCATE). The blocking calls may switch.
using Signature = uint32_t;
Status process_send(uint32_t process, uint64_t ctx, int32_t tag, const void* data, size_t bytes,
                    const char* call, Signature signature = 0);
Status process_recv(uint32_t process, uint64_t ctx, int32_t tag, void* data, size_t bytes,
                    const char* call, Signature signature = 0);
/// Receives from whichever process sends, with any signature.
Status process_recv_any(uint64_t ctx, int32_t tag, void* data, size_t bytes, const char* call,
                        uint32_t* process);
/// Receives a message of any size.
Status process_recv(uint32_t process, uint64_t ctx, int32_t tag, std::vector<uint8_t>* data,
                    const char* call);
Status process_isend(uint32_t process, uint64_t ctx, int32_t tag, const void* data, size_t bytes,
                     const char* call, Request** out, Signature signature = 0);
Status process_irecv(uint32_t process, uint64_t ctx, int32_t tag, void* data, size_t bytes,
                     const char* call, Request** out, Signature signature = 0);
/// The outcome of a complete request of process_isend() or process_irecv().
Status process_outcome(Request* request);
/// The bits of a signature that a message carries. How many they are depends on the number
/// of processes.
Signature carried_bits(Signature signature);
/// The process that the source of such a message's envelope stands for.
uint32_t process_of_source(int32_t source);

/// A message for this process that no receive has matched.
struct Unmatched {
  uint64_t ctx;
  int32_t tag;
  uint32_t process;     ///< the sender
  Signature signature;  ///< only the bits of carried_bits()
};
/// Sets the function that is called for each unmatched message when it arrives. It runs inside poll
/// and must not switch.
void set_unmatched_handler(void (*handler)(const Unmatched&));
/// list_unmatched() lists the messages that wait now; count_unmatched() counts them, up to `most`.
std::vector<Unmatched> list_unmatched();
uint32_t count_unmatched(uint32_t most = ~0u);
/// Ends the traffic of (ctx, tag), and of all tags that differ from `tag` only in bits of `mask`:
/// posted receives complete with this error, messages that no receive has matched are dropped, and
/// requests of sends complete. Never switches.
void cancel_traffic(uint64_t ctx, int32_t tag, int32_t mask, const Status& status);

/// Notices are handled as they arrive; they are not matched. `kind` (0..15) picks the handler that
/// a module has set. The handler runs inside poll: it must not switch or throw. A notice has at
/// most most_notice_bytes(), which is at least 1 KiB. Its bytes come from another process: a
/// handler checks all of them before it uses any, and drops an impossible notice with
/// refuse_notice().
using NoticeHandler = void (*)(uint32_t from_process, uint64_t ctx, const void* data, size_t bytes);
void set_notice_handler(int kind, NoticeHandler handler);
/// Sets a tool's function that is called in each process before a deadlock is reported; nullptr:
/// none. It must not switch.
void set_tool_deadlock(void (*deadlock)());
void refuse_notice();  ///< counts one in Engine::bad_frames()
void notify(uint32_t process, int kind, uint64_t ctx, const void* data, size_t bytes);
/// How many bytes of a notice a frame to that process holds.
size_t most_notice_bytes(uint32_t process);
inline constexpr int kNoticeCommFreed = 0;
inline constexpr int kNoticeDeadlock = 1;
inline constexpr int kNoticeAgree = 3;
inline constexpr int kNoticeCollective = 4;
inline constexpr int kNoticeRma = 5;
inline constexpr int kNoticeFile = 6;
inline constexpr int kNoticeMulticast = 7;
inline constexpr int kNoticeTool = 8;  ///< MPIX_Tool_notify
inline constexpr int kNoticeFailure = 9;
inline constexpr int kNoticeRevoke = 10;
inline constexpr int kNoticeSurvivors = 11;
inline constexpr int kNoticeConstruction = 12;
inline constexpr int kNoticeGroupTree = 13;
inline constexpr int kNoticeMove = 14;

// ---- Deadlock (deadlock.h) ----------------------------------------------------------------------
/// The scheduler's hook for when every proclet of this process is parked. True when the whole job
/// is deadlocked and has been reported (FGMPI_DEADLOCK=abort). Runs on the host stack.
bool all_parked();
/// Sets a tool's function that is called before all_parked(); nullptr: none. It may call notify(),
/// and must not switch. `stuck` is called where all wait for MPI, and may wake ranks.
void set_tool_parked(void (*parked)(), void (*stuck)());
/// The function to install as the scheduler's hook: all_parked(), or, where a tool has set a
/// function, one that calls that first.
bool (*parked_hook())();
/// The scheduler's hook of that name: a rank may wait outside of MPI for what another one does at
/// an event of the decider.
bool parked_beside_timers();
/// How long this process may sleep while parked, in ns (-1: no limit), so that the detection of
/// deadlocks advances.
int64_t sleep_limit();

/// True where FGMPI_LEAKS=1 was set.
bool leaks_wanted();
/// Lists requests, messages and receives that are left, by kind and creating call, where
/// FGMPI_LEAKS=1 was set. Called by finalize().
void report_leaks();

/// Counters for MPIX_Stats, the tools interface and tests.
struct Counters {
  /// Where a message goes: within the process, or by one of the two transports.
  enum { kLocal, kByTransport, kGoals = kByTransport + 2 };
  void count_message(int goal, uint64_t bytes) {
    ++messages[goal];
    message_bytes[goal] += bytes;
  }
  // Two arrays, not one of pairs: for pairs the compiler builds a vector first, which is slower.
  uint64_t messages[kGoals], message_bytes[kGoals];
  uint64_t sent_frames, sent_bytes_frames, unexpected_bytes, unexpected_bytes_peak, reads, polls;
};
const Counters& counters();

}  // namespace fgmpi::pt2pt
