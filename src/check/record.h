// A call with its arguments and its site. Everything that may name the call in a later report
// (messages, receives, requests, steps) shares one copy of it. Facts that follow from the arguments
// alone are cached in this copy, because programs make the same calls again and again.
// Thread rule: as CheckedCall (call.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/hash.h"
#include "check/check_calls.h"
#include "check/collectives/collective_declaration.h"
#include "check/memory/layout.h"
#include "check/objects/request_table.h"
#include "check/ref_ptr.h"

namespace fgmpi::check {

struct CheckedComm;
struct MessageQueue;
struct RequestOperation;
struct OwnComm;
struct Rank;

struct CallRecord {
  uint64_t id : 16 = 0;
  /// The address that the call returned to. Set only in a record that its rank
  /// remembers, 0 in copies.
  uint64_t place : 48 = 0;
  int64_t words[kMostArguments] = {};
  uint64_t site = 0;
  CallRecord() = default;
  CallRecord(const CallRecord& other) { *this = other; }
  CallRecord& operator=(const CallRecord& other) {
    id = other.id;
    place = 0;
    std::memcpy(words, other.words, sizeof words);
    site = other.site;
    return *this;
  }
  const CallInfo& info() const { return kCalls[id]; }
  /// The argument at a position of Positions; `otherwise` where the call has none.
  int64_t at(int8_t position, int64_t otherwise = 0) const {
    return position < 0 ? otherwise : words[position];
  }
};

/// The number of message queues that this process has erased.
inline uint32_t g_queues_erased = 0;

/// The queue of an Inbox that messages of a call enter or leave. Valid until any queue is erased.
struct KnownQueue {
  MessageQueue* queue = nullptr;
  uint32_t erased = 0;
  bool is_there() const { return queue && erased == g_queues_erased; }
};

/// The properties that all messages of one send call share.
struct MessageProperties {
  uint64_t signature_name = 0;  ///< name() of `signature`
  int receiver_world = -1;      ///< world rank of the receiver
  int source = 0;
  CheckedComm* comm = nullptr;
  TypeSignature signature;
  int tag = 0, source_world = 0;
  int64_t bytes = 0;
  bool standard = false;  ///< the library may buffer it, or not
  bool operator==(const MessageProperties& other) const {
    return signature.hash == other.signature.hash && signature.length == other.signature.length &&
           signature.known == other.signature.known && signature.packed == other.signature.packed &&
           bytes == other.bytes && source == other.source && tag == other.tag &&
           source_world == other.source_world && receiver_world == other.receiver_world &&
           comm == other.comm && standard == other.standard;
  }
};

/// The members that have called a collective when a call of it is over, even if nothing is
/// buffered. `kSome`: some, but which is not stored, as in a scan.
enum class AwaitedMembers : uint8_t { kNobody, kSome, kAll, kRoot };

/// Does nothing follow about a particular member?
inline bool awaits_nobody_known(AwaitedMembers m) { return m <= AwaitedMembers::kSome; }

/// A hash of everything that identifies a call: function, return address, arguments.
inline uint64_t call_hash(uint16_t id, const void* place, const int64_t* words, size_t count) {
  uint64_t hash = reinterpret_cast<uintptr_t>(place) ^ static_cast<uint64_t>(id) << 48;
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ static_cast<uint64_t>(words[i])) * kGoldenRatio + 1;
  return hash ^ hash >> 32;
}

struct RememberedCall;
/// Releases RememberedCall::wire_call_number: the receiver's process gets no more messages under
/// that number.
void release_wire_number(RememberedCall* send);

/// A CallRecord that is shared. Fields that are read after other ranks have run are adjacent,
/// because each cache line costs a miss; for repeated calls these are the first and the third line.
/// REQUIRES: `properties` is the same for all who share the record.
struct alignas(128) RememberedCall : CallRecord {
  enum CallFact : uint32_t {
    kFine = 1,        ///< the arguments are correct
    kProperties = 2,  ///< `properties` is filled
    kReach = 4,       ///< `low` and `bytes` are filled: the buffer is all bytes between
    kSignatureMatched =
        8,          ///< a message of signature `matched_signature` was matched without a finding
    kSendsTo = 16,  ///< `messages.queue` belongs to the communicator that the call sends on
    kReceivesFrom = 32,  ///< `messages.queue` is the only queue that the call receives from
    /// The buffer does not overlap the pending operations that Messages::beside identifies
    kBeside = 64,
    kOperation = 128,  ///< nonblocking collective: `operation` belongs to this call
    kDeclared = 256,   ///< collective: `declared` holds its declaration, made in call `declared_in`
    kEnters = 512,     ///< collective: `enters` is filled
  };
  /// Facts about a send or receive.
  struct Messages {
    const char* low;  ///< start of the buffer, if kReach is known
    uint64_t beside;  ///< Rank::pending_sum for which kBeside holds
    uint32_t bytes;   ///< size of the buffer
    uint32_t erased;  ///< KnownQueue::erased of `queue`
    /// The queue that a send's messages enter; for a receive, also one that sends as well, the
    /// queue that its messages leave.
    MessageQueue* queue;
    uint64_t matched_signature;  ///< name() of a signature that has matched
  };
  /// Facts about a collective.
  struct Enters {
    uint64_t agreed;  ///< agreed_of(); filled even without kEnters
    OwnComm* own;
    AwaitedMembers learns_of;  ///< the members whose clocks the rank learns
    bool is_root;              ///< the calling rank is the root, or the operation has none
    bool is_blocking;
    bool is_plain;  ///< `agreed` covers everything that members with the same role declare
    bool tells;     ///< others learn this rank's clock because it is the root
    bool has_arrays, has_details, root_differs;  ///< of the call's arguments
    AwaitedMembers awaits;
    bool root_is_here;  ///< the root is in this process
    int root;
  };
  uint32_t users = 0;
  uint32_t known = 0;
  uint64_t known_in = 0;  ///< the Rank::epoch in which the bits of `known` hold
  /// The call that followed this one the last time, if the rank still remembers it.
  RememberedCall* next_call = nullptr;
  union {
    Messages messages = {};
    Enters enters;
  };
  KnownQueue send_queue;  ///< where a call that also receives sends its messages
  MessageProperties properties;
  uint64_t send_comm_key = 0, receive_comm_key = 0;  ///< keys of the communicators of the queues
  Rank* rank = nullptr;  ///< the rank that remembers the call (Rank::remembered)
  const char* base = nullptr;
  uint64_t arrays = 0;  ///< collective with kFine: hash_of_arrays(), 0 without arrays
  uint64_t declared_in =
      0;  ///< the number on its communicator of the call that declared `declared`
  RefPtr<CollectiveDeclaration> declared;
  /// A completed operation to be reused for the next call, or a stale one. The record owns it.
  /// Nobody frees it: records live until the process ends.
  RequestTable<RequestOperation>::TableEntry* operation = nullptr;
  bool may_be_under_way = false;  ///< messages of the call may be under way
  uint32_t wire_call_number = 0;  ///< WireMessage::wire_call_number of a send to another process
  RememberedCall* next_free = nullptr;

  /// Is this the record of that call? `count`: the number of arguments.
  [[gnu::always_inline]] bool is(uint16_t call, const void* returns_to, const int64_t* arguments,
                                 size_t count) const {
    const CallRecord* own = this;
    uint64_t first;
    std::memcpy(&first, own, sizeof first);
    uint64_t differ = first ^ (reinterpret_cast<uintptr_t>(returns_to) << 16 | call);
#pragma GCC unroll 8
    for (size_t i = 0; i < count; ++i) differ |= static_cast<uint64_t>(words[i] ^ arguments[i]);
    return differ == 0;
  }
  /// Calls tend to come in the order of the last time, so the record of the next one is prefetched.
  /// Inlined, because GCC drops calls of functions that only prefetch.
  [[gnu::always_inline]] void prefetch_next() const {
    const auto* of_next = reinterpret_cast<const char*>(next_call);
    if (!of_next) return;
    __builtin_prefetch(of_next);
    __builtin_prefetch(of_next + 128);
  }
  KnownQueue queue() const { return {messages.queue, messages.erased}; }
  void set_queue(const KnownQueue& known_queue) {
    messages.queue = known_queue.queue;
    messages.erased = known_queue.erased;
  }
  const char* high() const { return messages.low + messages.bytes; }
  const void* returned_to() const { return reinterpret_cast<const void*>(uintptr_t{place}); }
  bool is_known(uint64_t epoch, uint32_t what) const {
    return known_in == epoch && (known & what) == what;
  }
  void set_known(uint64_t epoch, CallFact what) {
    known = (known_in == epoch ? known : 0) | what;
    known_in = epoch;
  }
  /// Forgets all facts about the call, before the record is reused for another.
  void let_go() {
    known_in = 0;
    rank = nullptr;
    may_be_under_way = false;
    if (wire_call_number) release_wire_number(this);
    arrays = 0;
    declared.reset();
    messages = {};
    send_queue = {};
  }
};
// Each call reads two cache lines of its record: the arguments, and the fields from
// `users` to the union.
static_assert(sizeof(CallRecord) == 128 && sizeof(RememberedCall::Messages) == 40 &&
              sizeof(RememberedCall::Enters) <= 40);

/// A shared RememberedCall; null when default-constructed.
class SharedCall : public RefPtr<RememberedCall> {
 public:
  SharedCall() = default;
  SharedCall(RefPtr<RememberedCall> kept) : RefPtr(std::move(kept)) {}
  /// A copy of the call, not shared yet.
  explicit SharedCall(RememberedCall* kept) : RefPtr(of(kept)) {}
  explicit SharedCall(const CallRecord& call) : RefPtr(make()) {
    static_cast<CallRecord&>(**this) = call;
  }
  operator const CallRecord&() const { return **this; }
};

}  // namespace fgmpi::check
