// A call with its arguments and its place. What may be reported of a call later (messages,
// receives, requests, steps) shares one copy of it, which is also where what follows from the
// arguments alone is kept: programs make the same calls again and again.
// Thread rule: as Call (call.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/hash.h"
#include "check/check_calls.h"
#include "check/layout.h"
#include "check/request_table.h"
#include "check/said.h"
#include "check/shared.h"

namespace fgmpi::check {

struct Comm;
struct MessageQueue;
struct Operation;
struct OwnComm;
struct Rank;

struct CallRecord {
  uint64_t id : 16 = 0;
  /// The address that it returned to; only of a call that its rank remembers, 0 in copies.
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
  /// An argument by its place in Positions; `otherwise` where the call has none.
  int64_t at(int8_t position, int64_t otherwise = 0) const {
    return position < 0 ? otherwise : words[position];
  }
};

/// How many queues of messages of the process were erased.
inline uint32_t g_queues_erased = 0;

/// Where messages of a call go or come from: a queue of an Inbox, as long as none was erased.
struct KnownQueue {
  MessageQueue* queue = nullptr;
  uint32_t erased = 0;
  bool is_there() const { return queue && erased == g_queues_erased; }
};

/// What all messages of a send have in common.
struct Sent {
  uint64_t contents = 0;  ///< name() of the signature
  int to = -1;            ///< world rank of the receiver
  int source = 0;
  Comm* comm = nullptr;
  Signature signature;
  int tag = 0, source_world = 0;
  int64_t bytes = 0;
  bool standard = false;  ///< may be buffered by the library's choice
  bool operator==(const Sent& other) const {
    return signature.hash == other.signature.hash && signature.length == other.signature.length &&
           signature.known == other.signature.known && signature.packed == other.signature.packed &&
           bytes == other.bytes && source == other.source && tag == other.tag &&
           source_world == other.source_world && to == other.to && comm == other.comm &&
           standard == other.standard;
  }
};

/// Whom a member waits for in a collective call, if nothing is buffered.
enum class Needs : uint8_t { kNobody, kAll, kRoot };

/// What members of a collective know of others when they have left it: what all knew, or what the
/// root did.
enum class Learns : uint8_t { kNothing, kOfAll, kOfRoot };

/// Of all that says which call it is.
inline uint64_t call_hash(uint16_t id, const void* place, const int64_t* words, size_t count) {
  uint64_t hash = reinterpret_cast<uintptr_t>(place) ^ static_cast<uint64_t>(id) << 48;
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ static_cast<uint64_t>(words[i])) * kGoldenRatio + 1;
  return hash ^ hash >> 32;
}

struct KeptCall;
/// The receiver's process is told no more messages of the call by KeptCall::told_as.
void give_back_told_as(KeptCall* send);

/// A CallRecord that is shared. What is read of it while other ranks have run since is together:
/// each line of the cache counts. Of calls that are made again and again, those are the first line
/// and the third. REQUIRES: what `sent` says is the same for all who share it.
struct alignas(128) KeptCall : CallRecord {
  enum Known : uint32_t {
    kFine = 1,        ///< nothing is wrong with the arguments
    kSent = 2,        ///< `sent` is filled
    kReach = 4,       ///< `low` and `bytes` are filled: the buffer is all bytes between
    kFits = 8,        ///< a message of the signature `fits` was taken without fault
    kSendsTo = 16,    ///< the queue that it sends to is of its communicator
    kTakesFrom = 32,  ///< the queue that it takes from is, and it takes from no other
    kBeside = 64,  ///< its buffer meets nothing where the operations under way are Messages::beside
    kOperation = 128,  ///< of a nonblocking collective: `operation` is one of this call
    kSaid = 256,    ///< of a collective: `said` is what it says, `said_in` a call in which it did
    kEnters = 512,  ///< of a collective: `enters` is filled
  };
  /// Of a send or receive.
  struct Messages {
    const char* low;  ///< of its buffer, if kReach is known
    uint64_t beside;  ///< Rank::begun_sum, if kBeside is known
    uint32_t bytes;   ///< of its buffer
    uint32_t erased;  ///< KnownQueue
    /// That messages of a send go to, or those of a receive come from, also of one that sends, too.
    MessageQueue* queue;
    uint64_t fits;  ///< name() of a signature
  };
  /// Of a collective.
  struct Enters {
    uint64_t agreed;  ///< agreed_of(); whether or not kEnters is known
    OwnComm* own;
    Learns learns;
    bool is_root;  ///< the rank is, or there is none
    bool is_blocking;
    bool is_plain;                               ///< `agreed` is all that members say of it
    bool tells;                                  ///< others learn what the rank knows as the root
    bool has_arrays, has_details, root_differs;  ///< of the call's arguments
    Needs needs;
    bool root_is_here;  ///< in this process; there is a root
    int root;
  };
  uint32_t users = 0;
  uint32_t known = 0;
  uint64_t known_in = 0;  ///< the epoch of the rank (Rank::epoch) for which that holds
  /// What followed it the last time, if its rank remembers that still.
  KeptCall* next_call = nullptr;
  union {
    Messages messages = {};
    Enters enters;
  };
  KnownQueue sends_too;  ///< where the messages go of one that receives, too
  Sent sent;
  uint64_t sends_on = 0, takes_on = 0;  ///< keys of the communicators of the queues
  Rank* rank = nullptr;                 ///< that remembers it (Rank::remembered)
  const char* base = nullptr;
  uint64_t arrays = 0;   ///< of a collective whose kFine is known: hash_of_arrays(), 0: it has none
  uint64_t said_in = 0;  ///< the number of the call on its communicator
  Shared<Said> said;
  /// That has ended and is for the next one, or stale. Owned; given up by nobody, as calls are not.
  RequestTable<Operation>::Entry* operation = nullptr;
  bool sent_before = false;  ///< messages of it may be under way
  uint32_t told_as = 0;      ///< WireMessage::told_as, of a send to another process
  KeptCall* next_free = nullptr;

  /// Is it this call? `count`: of its arguments.
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
  /// Calls come in the order in which they came the last time: what is known of the next one is
  /// fetched meanwhile. Inlined, because GCC leaves out calls of functions that only fetch.
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
  void set_known(uint64_t epoch, Known what) {
    known = (known_in == epoch ? known : 0) | what;
    known_in = epoch;
  }
  /// Forgets what was known of the call before.
  void let_go() {
    known_in = 0;
    rank = nullptr;
    sent_before = false;
    if (told_as) give_back_told_as(this);
    arrays = 0;
    said.reset();
    messages = {};
    sends_too = {};
  }
};
// What each call reads is in two lines of the cache: the arguments, and from `users` to the union.
static_assert(sizeof(CallRecord) == 128 && sizeof(KeptCall::Messages) == 40 &&
              sizeof(KeptCall::Enters) <= 40);

/// Shares a KeptCall; null when default-made.
class Record : public Shared<KeptCall> {
 public:
  Record() = default;
  Record(Shared<KeptCall> kept) : Shared(std::move(kept)) {}
  /// A copy of its own.
  explicit Record(KeptCall* kept) : Shared(of(kept)) {}
  explicit Record(const CallRecord& call) : Shared(make()) {
    static_cast<CallRecord&>(**this) = call;
  }
  operator const CallRecord&() const { return **this; }
};

}  // namespace fgmpi::check
