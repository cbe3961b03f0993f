// A call with its arguments and its place. What may be reported of a call later (messages, receives, requests, steps) shares
// one copy of it, which is also where what follows from the arguments alone is kept: programs make the same calls again and
// again.
// Thread rule: as Call (call.h).
#pragma once

#include <cstdint>
#include <utility>

#include "check/check_calls.h"
#include "tools/check/layout.h"

namespace fgmpi::check {

struct Comm;
struct MessageQueue;

struct CallRecord {
  uint16_t id = 0;
  uint64_t site = 0;
  int64_t words[kMostArguments] = {};
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
  int64_t bytes = 0;
  int source = 0, tag = 0, source_world = 0;
  int to = -1;  ///< world rank of the receiver
  Comm* comm = nullptr;
  bool standard = false;  ///< may be buffered by the library's choice
  bool operator==(const Sent& other) const {
    return signature.hash == other.signature.hash && signature.length == other.signature.length &&
           signature.known == other.signature.known && signature.packed == other.signature.packed &&
           bytes == other.bytes && source == other.source && tag == other.tag &&
           source_world == other.source_world && to == other.to && comm == other.comm &&
           standard == other.standard;
  }
};

/// A CallRecord that is shared. REQUIRES: what `sent` says is the same for all who share it.
struct KeptCall : CallRecord {
  uint32_t users = 0;
  KeptCall* next_free = nullptr;
  uint64_t sent_in = 0;  ///< the epoch of the rank in which `sent` was filled; 0: never
  Sent sent;
  KnownQueue sends_to, takes_from;
  uint64_t reach_in = 0;  ///< the epoch in which its one buffer was all bytes from `low` to `high`
  const char *base = nullptr, *low = nullptr, *high = nullptr;
  uint64_t fits_in =
      0;  ///< the epoch in which a message of the signature `fits` was taken without fault
  Signature fits;
};

/// Shares a KeptCall; null when default-made.
class Record {
 public:
  Record() = default;
  /// A copy of its own.
  explicit Record(const CallRecord& call) : Record(blank()) {
    static_cast<CallRecord&>(*kept_) = call;
  }
  Record(const Record& other) : kept_(other.kept_) {
    if (kept_) ++kept_->users;
  }
  Record(Record&& other) noexcept : kept_(std::exchange(other.kept_, nullptr)) {}
  Record& operator=(Record other) noexcept {
    std::swap(kept_, other.kept_);
    return *this;
  }
  ~Record() {
    if (kept_ && --kept_->users == 0) drop(kept_);
  }

  /// One whose fields are to be filled, with nothing known of it.
  static Record blank() {
    Record made;
    made.kept_ = fresh();
    made.kept_->users = 1;
    made.forget();
    return made;
  }
  /// Forgets what was known of the call before. REQUIRES: not shared().
  void forget() {
    kept_->sent_in = kept_->fits_in = kept_->reach_in = 0;
    kept_->sends_to = kept_->takes_from = {};
  }

  explicit operator bool() const { return kept_ != nullptr; }
  operator const CallRecord&() const { return *kept_; }
  const CallRecord& operator*() const { return *kept_; }
  KeptCall* operator->() const { return kept_; }
  bool shared() const { return kept_ && kept_->users > 1; }

 private:
  static KeptCall* fresh();
  static void drop(KeptCall* kept);
  KeptCall* kept_ = nullptr;
};

}  // namespace fgmpi::check
