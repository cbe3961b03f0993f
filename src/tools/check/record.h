// A call with its arguments and its place. What may be reported of a call later (messages, receives, requests, steps) shares
// one copy of it, which is also where what follows from the arguments alone is kept: programs make the same calls again and
// again.
// Thread rule: as Call (call.h).
#pragma once

#include <cstdint>

#include "check/check_calls.h"
#include "tools/check/layout.h"
#include "tools/check/shared.h"

namespace fgmpi::check {

struct Comm;
struct MessageQueue;

struct CallRecord {
  uint16_t id = 0;
  int64_t words[kMostArguments] = {};
  uint64_t site = 0;
  const CallInfo& info() const { return kCalls[id]; }
  /// An argument by its place in Positions; `otherwise` where the call has none.
  int64_t at(int8_t position, int64_t otherwise = 0) const {
    return position < 0 ? otherwise : words[position];
  }
};

/// Where messages of a call go or come from: a queue of an Inbox, as long as none was erased there.
struct KnownQueue {
  MessageQueue* queue = nullptr;
  uint64_t comm_key = 0;
  uint32_t erased = 0;
};

/// What all messages of a send have in common.
struct Sent {
  Signature signature;
  Comm* comm = nullptr;
  int to = -1;  ///< world rank of the receiver
  int source = 0, tag = 0, source_world = 0;
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

/// A CallRecord that is shared. What is read of it while other ranks have run since is together: each line of the cache
/// counts. REQUIRES: what `sent` says is the same for all who share it.
struct alignas(64) KeptCall : CallRecord {
  enum Known : uint32_t {
    kFine = 1,   ///< nothing is wrong with the arguments
    kSent = 2,   ///< `sent` is filled
    kReach = 4,  ///< its one buffer is all bytes from `low` to `high`
    kFits = 8,   ///< a message of the signature `fits` was taken without fault
  };
  uint32_t users = 0;
  uint32_t known = 0;
  uint64_t known_in = 0;  ///< the epoch of the rank (Rank::epoch) for which that holds
  Sent sent;
  KnownQueue sends_to;
  const char *base = nullptr, *low = nullptr, *high = nullptr;
  KnownQueue takes_from;
  Signature fits;
  uint64_t agreed = 0;       ///< of a collective: agreed_of()
  bool sent_before = false;  ///< messages of it may be under way
  KeptCall* next_free = nullptr;

  bool is_known(uint64_t epoch, Known what) const { return known_in == epoch && (known & what); }
  void set_known(uint64_t epoch, Known what) {
    known = (known_in == epoch ? known : 0) | what;
    known_in = epoch;
  }
  /// Forgets what was known of the call before.
  void let_go() {
    known_in = 0;
    sent_before = false;
    sends_to = takes_from = {};
  }
};

/// Shares a KeptCall; null when default-made.
class Record : public Shared<KeptCall> {
 public:
  Record() = default;
  Record(Shared<KeptCall> kept) : Shared(std::move(kept)) {}
  /// A copy of its own.
  explicit Record(const CallRecord& call) : Shared(make()) {
    static_cast<CallRecord&>(**this) = call;
  }
  operator const CallRecord&() const { return **this; }
};

}  // namespace fgmpi::check
