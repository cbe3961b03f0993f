// The notices by which all processes of a collective learn that it has failed, and what each
// process drops then.

#include "coll/failure.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <set>

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/strings.h"
#include "coll/args.h"
#include "coll/board_use.h"
#include "coll/notified.h"
#include "coll/rounds.h"
#include "coll/team.h"
#include "comm/broken.h"
#include "comm/hierarchy.h"
#include "datatype/op.h"
#include "multicast/comm_groups.h"
#include "system-ranked/construction.h"
#include "system-ranked/group_tree.h"

namespace fgmpi::coll {
namespace {

using comm::SharedComm;
using pt2pt::Unmatched;

/// A collective that has failed. The entry stays until no message of it can come any more.
struct FailedCollective {
  uint64_t ctx;
  int32_t number;
  Status status;
  std::set<uint32_t> notified_by;  ///< processes whose notices have come
  /// While `over_tree`: processes that are no neighbours, whose notices have come. They notify all
  /// processes, and so will this process once it knows all of them.
  std::set<uint32_t> notified_beyond;
  uint32_t notices_sent = 0;    ///< one to each process to notify; valid if `notified`
  uint8_t sides_concluded = 0;  ///< how many of this process's sides called conclude()
  uint8_t local_sides = 0;      ///< count_local_sides(); valid if `notified`
  bool notified = false;        ///< this process has sent its notices
  /// True while notices go along the tree only. When one process notifies all others, all processes
  /// do (settle_reach()).
  bool over_tree;
  bool has_all_notices() const {
    return notified && notified_by.size() >= notices_sent && notified_beyond.empty();
  }
  bool is_complete() const { return has_all_notices() && sides_concluded >= local_sides; }
};

/// The most entries, far more than fail at the same time; the eldest is dropped. Notices about a
/// communicator that another process has freed never come, so its entries would stay for ever.
constexpr size_t kMaxFailed = 1024;

enum FailureNoticeKind : uint32_t {
  kFailedNotice = 1,  ///< the collective has failed; the text of the error follows
  /// A request to compare this signature with the receiver's; nothing follows.
  kSignatureNotice,
  /// The answer where they differ, with the receiver's signature. The collective fails if it is
  /// still the one that asked: a request can come late, when its communicator has been freed and
  /// another one has the same context id.
  kSignatureAnswer
};
constexpr size_t kMaxNoticeText = 900;  ///< bytes; longer texts are cut

/// A wait at the begin of a round in which all processes agree.
struct RoundWait final : pt2pt::Request {
  /// `its_what`: words for what it waits for.
  RoundWait(const char* its_call, const char* its_what) : what(its_what) { call = its_call; }
  const char* const what;
  void describe(std::string* out) const override {
    *out += call;
    *out += what;
  }
  void cancel() override {}
  void end() { set_complete(); }
};

/// The start of a notice to another process.
struct NoticeHeader {
  uint32_t kind;
  int32_t tag;
  pt2pt::Signature signature;  ///< of requests and answers
  int32_t value;  ///< kFailedNotice: the error class; else the number of the asking OpenTeam
};

uint32_t round_of(uint64_t ctx) { return ctx >> 3 & 31; }
int32_t number_of(int32_t tag) { return tag >> kNumberBit; }
int32_t number_of_meeting(const comm::Meeting* m) {
  return static_cast<int32_t>(m->sequence & 0xffffff);
}

SharedComm* find_comm(uint64_t ctx) {
  SharedComm* shared = comm::find_with_members(comm::ContextId::of_plane(ctx), 0);
  return shared ? shared : comm::find_with_members(comm::ContextId::of_plane(ctx), 1);
}

uint64_t context_of(const SharedComm* shared, const comm::Meeting* m) {
  return shared->id.plane(comm::kPlaneColl, m->round);
}

/// A signature: 31 bits of a hash of `agreed`. Different lengths nearly always differ in
/// these bits.
pt2pt::Signature signature_of(uint64_t agreed) {
  return pt2pt::carried_bits(static_cast<pt2pt::Signature>(mix(agreed) >> 33));
}

Status disagreement(const char* call, uint32_t other) {
  return error(
      MPI_ERR_TRUNCATE,
      "%s: processes %u and %u do not give the same root or the same amount of data: all members "
      "must agree on root, counts and types",
      call, g_av.me(), other);
}

}  // namespace

/// The collectives between processes that are open here, and those that have failed.
class Failures {
 public:
  void open(OpenTeam* team);
  void close(OpenTeam* team);
  const FailedCollective* find_failed(uint64_t ctx, int32_t number) const;
  void agree_on_rounds(SharedComm* shared, const comm::Meeting* m);
  void conclude(SharedComm* shared, uint64_t ctx, int32_t number, bool tree_only, Status* status);
  void on_unmatched(const Unmatched& message);
  void on_multicast(uint64_t ctx, int32_t tag, pt2pt::Signature signature, uint32_t process);
  void on_notice(uint32_t from, uint64_t ctx, const void* data, size_t bytes);
  void answer(uint32_t from, uint64_t ctx, NoticeHeader header);
  int64_t compare_when_idle();
  /// Ends the collectives of a communicator that is broken (comm/broken.h) in this process. Every
  /// other process does the same by itself.
  void break_comm(SharedComm* shared, const Status& status);
  /// Drops all entries of a communicator that has been freed in this process: its context id may be
  /// used for another one.
  void forget(comm::ContextId id) {
    if (__builtin_expect(!failed_.empty(), 0))
      std::erase_if(failed_, [&](const FailedCollective& f) {
        return comm::ContextId::of_plane(f.ctx) == id;
      });
    if (__builtin_expect(next_removed_ > 0, 0))
      for (Removed& p : removed_)
        if (comm::ContextId::of_plane(p.ctx) == id) p = {};
    std::erase_if(late_, [&](const Late& late) { return late.id == id; });
  }

 private:
  FailedCollective* find_or_add(uint64_t ctx, int32_t number, const Status& status, bool tree_only);
  FailedCollective* fail(SharedComm* shared, uint64_t ctx, int32_t number, const Status& status,
                         bool tree_only);
  bool was_removed(uint64_t ctx, int32_t number) const;
  void break_team(OpenTeam* team, const Status& status);
  /// An agreement of processes in a round, about the rounds of its collective before it (at most
  /// 16 back).
  struct Agreement {
    comm::ContextId id;
    int32_t number;
    uint32_t round;
    /// True if some processes may not know yet what this one knows about these rounds.
    bool changed = false;
    bool broken = false;              ///< the communicator is broken
    RoundWait* wait = nullptr;        ///< waits for all notices about earlier rounds
    RoundWait* other_side = nullptr;  ///< waits until this process's other side has agreed for both
    Agreement *next = nullptr, *prev = nullptr;
    /// The context of the agreement's own messages; other users of this plane have no rounds.
    /// Consecutive agreements of a collective have different contexts.
    uint64_t ctx() const { return id.plane(comm::kPlaneInternal, 1 + round / kRoundsApart); }
    bool is_before(uint64_t ctx, int32_t n) const {
      const uint32_t ago = (round - round_of(ctx)) % 32;
      return n == number && ago >= 1 && ago <= 16 && comm::ContextId::of_plane(ctx) == id;
    }
  };
  Agreement* other_side_of(const Agreement& agreement);
  bool agrees_for_both(Agreement* agreement, const char* call);
  void record_earlier_rounds(Agreement* agreement) const;
  void notify_of_earlier(SharedComm* shared, const Agreement& agreement);
  bool lacks_notices(const Agreement& agreement) const;
  void record_change(const FailedCollective& failed);
  void wake_agreements();
  void settle_reach(SharedComm* shared, FailedCollective* failed, bool tree_only);
  void notify_others(SharedComm* shared, FailedCollective* failed);
  void on_notice_of_removed(SharedComm* shared, uint64_t ctx, const NoticeHeader& header,
                            const std::string& text);
  bool check_signature(uint64_t ctx, int32_t tag, pt2pt::Signature signature, uint32_t process);
  void compare_with_others(bool all);
  void remove_if_complete(const FailedCollective* failed);

  /// The bucket of an open collective. Nonblocking collectives of a communicator that are open at
  /// the same time have consecutive odd numbers, and so different buckets. (A HashTable cannot be
  /// used: teams with the same key may be open, the two sides of an intercommunicator.)
  List<OpenTeam>& bucket_of(uint64_t ctx, int32_t number) {
    return open_[(static_cast<uint64_t>(number) / comm::kNextOfKind + (ctx >> 8)) % kBuckets];
  }
  /// The first open team of a collective (its two sides may be open here), or nullptr.
  const OpenTeam* find_open(uint64_t ctx, int32_t tag) {
    const OpenTeam* t = bucket_of(ctx, tag >> kNumberBit).front();
    while (t && (t->ctx != ctx || t->tag != tag)) t = t->next;
    return t;
  }
  template <class F>
  void for_each_open(F&& f) {
    for (const List<OpenTeam>& bucket : open_)
      for (OpenTeam* t = bucket.front(); t; t = t->next) f(t);
  }

  static constexpr size_t kBuckets = 1024;  ///< tens of thousands may be open at once
  List<OpenTeam> open_[kBuckets];
  uint32_t open_count_ = 0;
  int32_t last_serial_ = 0;
  std::deque<FailedCollective> failed_;
  /// The last failed collectives whose entries have been removed. A notice about one of them is
  /// ignored: else it would make a new entry, and this process would notify the others once more.
  struct Removed {
    uint64_t ctx = 0;
    int32_t number = -1;
    bool over_tree = false;  ///< only the neighbours in the tree have been notified
    /// Another process notifies all others, but this one did not know all of them.
    bool sent_by_all = false;
  } removed_[16];
  uint32_t next_removed_ = 0;
  /// Disagreements about collectives that had already ended in this process. As perhaps no process
  /// is left in such a collective, the next collective of the communicator fails instead.
  struct Late {
    comm::ContextId id;
    Status status;
  };
  std::vector<Late> late_;
  List<Agreement> agreements_;
  bool release_late(comm::ContextId id, Status* status);
  // The time since when no rank of this process has run while collectives were open (the
  // scheduler's count of switches was the same at each call), and the number of comparisons
  // since then.
  int64_t idle_since_ = 0;
  uint64_t idle_switch_count_ = ~uint64_t{0};
  int comparisons_ = 0;
};

namespace {
/// Never destroyed, as programs use MPI until they end.
Failures& g_failures = *new Failures;

/// True if messages of this collective go over the tree where there is one (Team::kTree).
bool runs_over_tree(const comm::Meeting* m) {
  switch (static_cast<CollectiveKind>(m->operation / 4)) {
    case CollectiveKind::kBarrier:
    case CollectiveKind::kBcast:
      return true;
    case CollectiveKind::kReduce:
    case CollectiveKind::kAllreduce:
      return m->operation % 4 == static_cast<int>(CallMode::kShort) || !m->last ||
             datatype::is_commutative(static_cast<const Args*>(m->last)->op);
    default:
      return false;
  }
}

void send_notice(uint32_t process, uint64_t ctx, const NoticeHeader& header,
                 const std::string& text) {
  uint8_t message[sizeof header + kMaxNoticeText];
  size_t length = std::min(text.size(), kMaxNoticeText);
  std::memcpy(message, &header, sizeof header);
  std::memcpy(message + sizeof header, text.data(), length);
  pt2pt::notify(process, pt2pt::kNoticeCollective, ctx, message, sizeof header + length);
}

NoticeHeader failed_header(int32_t number, bool tree_only, int error_class) {
  return {kFailedNotice, number << kNumberBit | (tree_only ? kOverTree : 0), 0, error_class};
}

/// Notifies the processes that are no neighbours in the tree; returns their number.
uint32_t notify_beyond_tree(SharedComm* shared, uint64_t ctx, int32_t number, int error_class,
                            const std::string& text) {
  const NoticeHeader header = failed_header(number, false, error_class);
  uint32_t count = 0;
  for_each_notified_process(shared, false, [&](uint32_t process) {
    if (is_neighbour(shared, process)) return;
    ++count;
    send_notice(process, ctx, header, text);
  });
  return count;
}

}  // namespace

OpenTeam::OpenTeam(SharedComm* comm, uint64_t context, int32_t its_tag, uint64_t agreed,
                   const char* name)
    : shared(comm && (comm->processes > 1 || comm->inter) ? comm : nullptr),
      ctx(context),
      tag(its_tag),
      signature(shared ? signature_of(agreed) : 0),
      call(name) {
  if (shared) g_failures.open(this);
}

OpenTeam::~OpenTeam() {
  if (shared) g_failures.close(this);
}

Status OpenTeam::failure() const {
  const FailedCollective* failed = g_failures.find_failed(ctx, number_of(tag));
  return failed ? comm::copy_status(failed->status) : Status();
}

void Failures::open(OpenTeam* team) {
  team->serial = last_serial_ = (last_serial_ + 1) & INT32_MAX;
  bucket_of(team->ctx, number_of(team->tag)).push_back(team);
  ++open_count_;
  if (__builtin_expect(team->shared->broken != 0, 0))  // broken while the team was being made
    return break_team(team, comm::broken_status(*team->shared));
  if (__builtin_expect(!failed_.empty(), 0))
    if (find_failed(team->ctx, number_of(team->tag))) {
      fail(team->shared, team->ctx, number_of(team->tag), Status(),
           over_tree(team->shared, team->tag));
      Status also;
      release_late(comm::ContextId::of_plane(team->ctx), &also);
      return;
    }
  if (Status late; __builtin_expect(!late_.empty(), 0) &&
                   release_late(comm::ContextId::of_plane(team->ctx), &late)) {
    fail(team->shared, team->ctx, number_of(team->tag), late, over_tree(team->shared, team->tag));
    return;
  }
  // Compares the messages that came before the collective began in this process. If there are many,
  // compare_when_idle() compares them, so that opening a collective never costs more than this.
  constexpr uint32_t kMaxCompared = 16;
  const uint32_t unmatched = pt2pt::count_unmatched(kMaxCompared + 1);
  if (unmatched == 0 || unmatched > kMaxCompared) return;
  for (const Unmatched& m : pt2pt::list_unmatched())
    if (m.ctx == team->ctx && m.tag == team->tag &&
        check_signature(m.ctx, m.tag, m.signature, m.process))
      return;
}

void Failures::close(OpenTeam* team) {
  bucket_of(team->ctx, number_of(team->tag)).remove(team);
  --open_count_;
  if (!team->failed_ && !team->shared->inter && team->shared->meetings)
    comm::remember_completed(team->shared, round_of(team->ctx), team->tag, team->signature);
}

bool Failures::release_late(comm::ContextId id, Status* status) {
  auto it = std::find_if(late_.begin(), late_.end(), [&](const Late& l) { return l.id == id; });
  if (it == late_.end()) return false;
  *status = std::move(it->status);
  late_.erase(it);
  return true;
}

/// Handles a multicast transfer for which there is no receive. Its root may have ended the
/// collective as all others have, each with a different root.
void Failures::on_multicast(uint64_t ctx, int32_t tag, pt2pt::Signature signature,
                            uint32_t process) {
  if ((ctx & comm::kPlaneMask) != comm::kPlaneColl) return;
  if (find_failed(ctx, number_of(tag)) || was_removed(ctx, number_of(tag)))
    return multicast::cancel_transfers(ctx, tag, kNotNumber);
  if (!check_signature(ctx, tag, signature, process) || find_open(ctx, tag)) return;
  constexpr size_t kMostLate = 64;
  for (const Late& late : late_)
    if (late.id == comm::ContextId::of_plane(ctx)) return;
  if (late_.size() < kMostLate)
    late_.push_back({comm::ContextId::of_plane(ctx), disagreement("a collective", process)});
}

/// Compares the signature of a message or notice from `process` with that of the collective here,
/// open or completed lately. If they differ, the collective fails; returns true then.
bool Failures::check_signature(uint64_t ctx, int32_t tag, pt2pt::Signature signature,
                               uint32_t process) {
  if (const OpenTeam* t = find_open(ctx, tag)) {
    if (t->signature == signature) return false;
    fail(t->shared, ctx, number_of(tag), disagreement(t->call, process), over_tree(t->shared, tag));
    return true;
  }
  if ((ctx & comm::kPlaneMask) != comm::kPlaneColl) return false;
  SharedComm* shared = comm::find_with_members(comm::ContextId::of_plane(ctx));
  const comm::CompletedCollective* completed =
      shared ? comm::find_completed(shared, round_of(ctx), tag) : nullptr;
  if (!completed || completed->signature == signature) return false;
  // All processes know of the failure; nobody receives the message any more.
  if (was_removed(ctx, number_of(tag))) {
    pt2pt::cancel_traffic(ctx, tag, kNotNumber, Status());
    return true;
  }
  fail(shared, ctx, number_of(tag), disagreement("a collective", process), over_tree(shared, tag));
  return true;
}

bool Failures::was_removed(uint64_t ctx, int32_t number) const {
  for (const Removed& p : removed_)
    if (p.ctx == ctx && p.number == number) return true;
  return false;
}

// ---- Rounds of persistent collectives -----------------------------------------------------------

void Failures::record_earlier_rounds(Agreement* a) const {
  for (const FailedCollective& f : failed_) a->changed |= a->is_before(f.ctx, f.number);
  for (const Removed& r : removed_) a->changed |= a->is_before(r.ctx, r.number);
  a->changed |= next_removed_ > std::size(removed_);  // older ones have been overwritten
}

/// Called on a system-ranked communicator when this process gets to know all others: answers those
/// that notify all.
void Failures::notify_of_earlier(SharedComm* shared, const Agreement& a) {
  comm::hierarchy(shared);
  for (FailedCollective& f : failed_)
    if (a.is_before(f.ctx, f.number) && !f.notified_beyond.empty()) settle_reach(shared, &f, false);
  for (Removed& r : removed_) {
    if (!a.is_before(r.ctx, r.number) || !r.sent_by_all) continue;
    r.over_tree = r.sent_by_all = false;
    notify_beyond_tree(shared, r.ctx, r.number, MPI_ERR_OTHER, "a collective has failed");
  }
}

bool Failures::lacks_notices(const Agreement& a) const {
  for (const FailedCollective& f : failed_)
    if (a.is_before(f.ctx, f.number) && !f.has_all_notices()) return true;
  return false;
}

void Failures::record_change(const FailedCollective& failed) {
  for (Agreement* a = agreements_.front(); a; a = a->next)
    a->changed |= a->is_before(failed.ctx, failed.number);
}

void Failures::wake_agreements() {
  for (Agreement* a = agreements_.front(); a; a = a->next) {
    if (a->wait && (a->broken || !lacks_notices(*a))) std::exchange(a->wait, nullptr)->end();
    if (a->other_side && a->broken) std::exchange(a->other_side, nullptr)->end();
  }
}

/// The other side of an intercommunicator in this process, if it came first and waits;
/// else nullptr.
Failures::Agreement* Failures::other_side_of(const Agreement& agreement) {
  for (Agreement* a = agreements_.front(); a; a = a->next)
    if (a->other_side && a->id == agreement.id && a->number == agreement.number &&
        a->round == agreement.round)
      return a;
  return nullptr;
}

/// Decides which of an intercommunicator's two sides in one process agrees for both. The second to
/// come gets true. The first waits until the second has agreed, and gets false.
bool Failures::agrees_for_both(Agreement* agreement, const char* call) {
  if (other_side_of(*agreement)) return true;
  RoundWait wait(call, " (the other group has yet to begin the round)");
  agreement->other_side = &wait;
  agreements_.push_back(agreement);
  pt2pt::wait(&wait, call);
  agreements_.remove(agreement);
  return false;
}

void Failures::agree_on_rounds(SharedComm* shared, const comm::Meeting* m) {
  if (shared->broken) return;
  uint32_t me;
  const std::vector<uint32_t> processes = processes_that_agree(shared, &me);
  const int32_t number = number_of_meeting(m);
  Agreement a{shared->id, number, m->round % 32};
  if (shared->broken || (count_local_sides(shared) == 2 && !agrees_for_both(&a, m->call))) return;
  const Team team(processes, me, a.ctx(), number << kNumberBit, m->call);
  record_earlier_rounds(&a);
  agreements_.push_back(&a);
  bool any = true, all_known = !shared->tree;
  while (any && !a.broken) {
    while (all_known && lacks_notices(a) && !a.broken) {
      RoundWait wait(m->call, " (others have yet to hear of a failed round)");
      a.wait = &wait;
      pt2pt::wait(&wait, m->call);
    }
    any = std::exchange(a.changed, false);
    const Status status = any_of_processes(shared, team, &any);
    if (!status.ok()) break;
    if (any && !std::exchange(all_known, true)) {
      notify_of_earlier(shared, a);
      record_earlier_rounds(&a);
    }
  }
  agreements_.remove(&a);
  if (a.broken) return;
  std::erase_if(failed_, [&](const FailedCollective& f) { return a.is_before(f.ctx, f.number); });
  for (Removed& r : removed_)
    if (a.is_before(r.ctx, r.number)) r = {};
  if (Agreement* side = other_side_of(a)) std::exchange(side->other_side, nullptr)->end();
  if (!shared->meetings || !shared->meetings->completed) return;
  comm::OpenMeetings::Completed& ring = *shared->meetings->completed;
  for (size_t i = 0; i < std::size(ring.last); ++i)
    if (a.is_before(shared->id.plane(comm::kPlaneColl, ring.round[i]), number_of(ring.last[i].tag)))
      ring.last[i] = {};
}

// ---- Failed collectives, their notices ----------------------------------------------------------

const FailedCollective* Failures::find_failed(uint64_t ctx, int32_t number) const {
  for (const FailedCollective& f : failed_)
    if (f.ctx == ctx && f.number == number) return &f;
  return nullptr;
}

FailedCollective* Failures::find_or_add(uint64_t ctx, int32_t number, const Status& status,
                                        bool tree_only) {
  if (const FailedCollective* f = find_failed(ctx, number)) return const_cast<FailedCollective*>(f);
  if (failed_.size() == kMaxFailed) failed_.pop_front();
  FailedCollective& f = failed_.emplace_back();
  f.ctx = ctx;
  f.number = number;
  f.status = comm::copy_status(status);
  f.over_tree = tree_only;
  record_change(f);
  return &f;
}

/// Ends the collective in this process with an error, and notifies the other processes if that has
/// not been done. `shared` is nullptr if this process has no such communicator (not yet, or freed).
FailedCollective* Failures::fail(SharedComm* shared, uint64_t ctx, int32_t number,
                                 const Status& status, bool tree_only) {
  FailedCollective* failed = find_or_add(ctx, number, status, tree_only);
  settle_reach(shared, failed, tree_only);
  close_board(shared);
  for (OpenTeam* t = bucket_of(ctx, number).front(); t; t = t->next)
    if (t->ctx == ctx && number_of(t->tag) == number) t->failed_ = true;
  pt2pt::cancel_traffic(ctx, number << kNumberBit, kNotNumber, failed->status);
  multicast::cancel_transfers(ctx, number << kNumberBit, kNotNumber);
  system_ranked::fail_construction(
      {comm::ContextId::of_plane(ctx).bits, static_cast<uint32_t>(number)}, failed->status);
  // The first collective of a group computes the group's processes, not this function, which runs
  // inside poll. Where they are not known yet, they are notified when the collective begins here.
  if (shared && !failed->notified &&
      (failed->over_tree ? shared->tree != nullptr : shared->hierarchy != nullptr) &&
      (!shared->inter || shared->remote_hierarchy)) {
    if (!shared->inter &&
        comm::find_completed(shared, round_of(ctx), number << kNumberBit, kNotNumber))
      failed->sides_concluded = 1;
    notify_others(shared, failed);
  }
  return failed;
}

/// Decides which processes are notified of a failed collective of a system-ranked communicator.
/// One process may find an error that its members make, and notify all others, while another finds
/// an error in the tree. A process notifies all others as soon as one does. It must not expect
/// notices of its neighbours and count those of others instead: messages of its neighbours could
/// come later.
void Failures::settle_reach(SharedComm* shared, FailedCollective* failed, bool tree_only) {
  if (!shared || !shared->tree) return;
  // This process does not know all other processes yet.
  if (!failed->over_tree && !shared->hierarchy && !failed->notified) {
    failed->over_tree = true;
    std::set<uint32_t> neighbours;
    for (uint32_t process : failed->notified_by)
      (is_neighbour(shared, process) ? neighbours : failed->notified_beyond).insert(process);
    failed->notified_by = std::move(neighbours);
  }
  if (!failed->over_tree || tree_only || !shared->hierarchy) return;
  failed->over_tree = false;
  failed->notified_by.merge(failed->notified_beyond);
  record_change(*failed);
  if (failed->notified)
    failed->notices_sent += notify_beyond_tree(shared, failed->ctx, failed->number,
                                               failed->status.error_class(), failed->status.what());
}

void Failures::notify_others(SharedComm* shared, FailedCollective* failed) {
  failed->notified = true;
  failed->local_sides = count_local_sides(shared);
  const NoticeHeader header =
      failed_header(failed->number, failed->over_tree, failed->status.error_class());
  for_each_notified_process(shared, failed->over_tree, [&](uint32_t process) {
    ++failed->notices_sent;
    send_notice(process, failed->ctx, header, failed->status.what());
  });
}

void Failures::remove_if_complete(const FailedCollective* failed) {
  if (!failed->is_complete()) return;
  removed_[next_removed_++ % std::size(removed_)] = {failed->ctx, failed->number,
                                                     failed->over_tree};
  failed_.erase(std::find_if(failed_.begin(), failed_.end(),
                             [&](const FailedCollective& f) { return &f == failed; }));
}

void Failures::conclude(SharedComm* shared, uint64_t ctx, int32_t number, bool tree_only,
                        Status* status) {
  const FailedCollective* known = find_failed(ctx, number);
  if ((status->ok() && !known) || shared->broken) return;
  if (status->ok()) *status = comm::copy_status(known->status);
  if (!shared->tree) comm::hierarchy(shared);  // computes the processes, for notify_others()
  if (shared->inter) comm::remote_hierarchy(shared);
  FailedCollective* failed =
      fail(shared, ctx, number, *status, shared->tree && (tree_only || !shared->hierarchy));
  ++failed->sides_concluded;
  remove_if_complete(failed);
}

void Failures::break_team(OpenTeam* t, const Status& status) {
  const bool tree = over_tree(t->shared, t->tag);
  find_or_add(t->ctx, number_of(t->tag), status, tree)->notified = true;
  fail(t->shared, t->ctx, number_of(t->tag), status, tree);
}

void Failures::break_comm(SharedComm* shared, const Status& status) {
  for_each_open([&](OpenTeam* t) {
    if (t->shared == shared && !t->failed_) break_team(t, status);
  });
  for (const Unmatched& m : pt2pt::list_unmatched())
    if (comm::ContextId::of_plane(m.ctx) == shared->id)
      pt2pt::cancel_traffic(m.ctx, m.tag, 0, status);
  for (Agreement* a = agreements_.front(); a; a = a->next) {
    if (!(a->id == shared->id)) continue;
    a->broken = true;
    pt2pt::cancel_traffic(a->ctx(), a->number << kNumberBit, 0, status);
  }
  wake_agreements();
}

// ---- Messages and notices of other processes ----------------------------------------------------

void Failures::on_unmatched(const Unmatched& m) {
  if (__builtin_expect(comm::any_broken(), 0)) {
    const SharedComm* shared = find_comm(m.ctx);
    if (shared && shared->broken)
      return pt2pt::cancel_traffic(m.ctx, m.tag, 0, comm::broken_status(*shared));
  }
  if ((m.ctx & comm::kPlaneMask) != comm::kPlaneColl) return;
  if (__builtin_expect(!failed_.empty(), 0))
    if (const FailedCollective* failed = find_failed(m.ctx, number_of(m.tag))) {
      pt2pt::cancel_traffic(m.ctx, m.tag, kNotNumber, failed->status);
      return;
    }
  check_signature(m.ctx, m.tag, m.signature, m.process);
}

/// Answers a request to compare signatures if this process has another one for the collective.
void Failures::answer(uint32_t from, uint64_t ctx, NoticeHeader header) {
  if (find_failed(ctx, number_of(header.tag))) return;
  const OpenTeam* open = find_open(ctx, header.tag);
  const SharedComm* shared =
      open ? nullptr : comm::find_with_members(comm::ContextId::of_plane(ctx));
  const comm::CompletedCollective* completed =
      shared ? comm::find_completed(shared, round_of(ctx), header.tag) : nullptr;
  if (!open && !completed) return;
  const pt2pt::Signature own = open ? open->signature : completed->signature;
  if (own == header.signature) return;
  header.signature = own;
  header.kind = kSignatureAnswer;
  send_notice(from, ctx, header, "");
}

void Failures::on_notice(uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
  NoticeHeader header{};
  if (bytes >= sizeof header) std::memcpy(&header, data, sizeof header);
  const bool known = header.kind >= kFailedNotice && header.kind <= kSignatureAnswer;
  if (!known || (ctx & comm::kPlaneMask) != comm::kPlaneColl) return pt2pt::refuse_notice();
  if (header.kind == kSignatureNotice) return answer(from, ctx, header);
  if (header.kind == kSignatureAnswer) {
    for (OpenTeam* t = bucket_of(ctx, number_of(header.tag)).front(); t; t = t->next)
      if (t->ctx == ctx && t->tag == header.tag && t->serial == header.value && !t->failed_)
        check_signature(ctx, header.tag, header.signature, from);
    return;
  }
  std::string text(static_cast<const char*>(data) + sizeof header, bytes - sizeof header);
  int error_class =
      header.value > 0 && header.value < MPI_ERR_LASTCODE ? header.value : MPI_ERR_OTHER;
  SharedComm* shared = find_comm(ctx);
  if (was_removed(ctx, number_of(header.tag)))
    return on_notice_of_removed(shared, ctx, header, text);
  FailedCollective* failed =
      fail(shared, ctx, number_of(header.tag), error(error_class, "%s", text.c_str()),
           (header.tag & kOverTree) != 0 && (!shared || shared->tree));
  const bool beyond = shared && shared->tree && failed->over_tree && !is_neighbour(shared, from);
  (beyond ? failed->notified_beyond : failed->notified_by).insert(from);
  remove_if_complete(failed);
  wake_agreements();
}

/// Handles a notice about a collective whose entry is removed. This process has notified only its
/// neighbours in the tree, which was enough; but the sender of this notice waits for all.
void Failures::on_notice_of_removed(SharedComm* shared, uint64_t ctx, const NoticeHeader& header,
                                    const std::string& text) {
  if ((header.tag & kOverTree) != 0 || !shared || !shared->tree) return;
  for (Removed& p : removed_) {
    if (p.ctx != ctx || p.number != number_of(header.tag) || !p.over_tree) continue;
    p.sent_by_all = !shared->hierarchy;
    if (p.sent_by_all) continue;
    p.over_tree = false;
    notify_beyond_tree(shared, ctx, p.number, header.value, text);
  }
}

// ---- Comparisons while the process is idle ------------------------------------------------------

/// Idle time in ns before the first comparison; longer than a message travels.
constexpr int64_t kFirstComparison = 50'000'000;
constexpr int kMaxComparisons = 4;  ///< each after four times as long: at 50, 200, 800, 3200 ms
/// Among more, only the last is with all: else all pairs get rings in a slow start.
constexpr uint32_t kFewProcesses = 16;

void Failures::compare_with_others(bool all) {
  for (const Unmatched& m : pt2pt::list_unmatched())
    if (!find_failed(m.ctx, number_of(m.tag)))
      check_signature(m.ctx, m.tag, m.signature, m.process);
  for_each_open([all](const OpenTeam* t) {
    if (t->failed_) return;
    const bool tree = over_tree(t->shared, t->tag);
    // A collective without a list of processes is skipped: its team is still being made, which
    // needs messages on a system-ranked communicator.
    if (!tree && (!t->shared->hierarchy || (t->shared->inter && !t->shared->remote_hierarchy)))
      return;
    NoticeHeader header{kSignatureNotice, t->tag, t->signature, t->serial};
    uint32_t place = 0;
    for_each_notified_process(t->shared, tree, [&](uint32_t process) {
      if (all || std::has_single_bit(++place)) send_notice(process, t->ctx, header, "");
    });
  });
}

int64_t Failures::compare_when_idle() {
  if (open_count_ == 0) return -1;
  const int64_t now = now_ns();
  if (idle_switch_count_ != sched::switch_count()) {
    idle_switch_count_ = sched::switch_count();
    idle_since_ = now;
    comparisons_ = 0;
  }
  if (comparisons_ == kMaxComparisons) return -1;
  const int64_t due = idle_since_ + (kFirstComparison << 2 * comparisons_);
  if (now < due) return due - now;
  ++comparisons_;
  compare_with_others(g_av.processes() <= kFewProcesses || comparisons_ == kMaxComparisons);
  return comparisons_ == kMaxComparisons
             ? -1
             : (kFirstComparison << 2 * comparisons_) - (now - idle_since_);
}

void compare_signature(uint64_t ctx, int32_t tag, pt2pt::Signature signature, uint32_t process) {
  g_failures.on_multicast(ctx, tag, signature, process);
}

void agree_on_rounds(SharedComm* shared, const comm::Meeting* m) {
  if (m->round > 0 && m->round % kRoundsApart == 0 && (shared->processes > 1 || shared->inter))
    g_failures.agree_on_rounds(shared, m);
}

int64_t compare_signatures_when_idle() { return g_failures.compare_when_idle(); }

/// Ends a collective in which members of this process called different collectives. No process can
/// know the path of its messages, so all others are notified.
static void conclude_mismatch(SharedComm* shared, const comm::Meeting* m) {
  if (shared->processes == 1 && !shared->inter) return;
  agree_on_rounds(shared, m);  // the other processes wait there for this one
  Status status = comm::copy_status(m->status);
  g_failures.conclude(shared, context_of(shared, m), number_of_meeting(m), false, &status);
}

void init_failures() {
  multicast::set_unexpected_handler(compare_signature);
  pt2pt::set_unmatched_handler([](const Unmatched& u) { g_failures.on_unmatched(u); });
  pt2pt::set_notice_handler(pt2pt::kNoticeCollective,
                            [](uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
                              g_failures.on_notice(from, ctx, data, bytes);
                            });
  comm::add_broken_handler(
      [](SharedComm* shared, const Status& status) { g_failures.break_comm(shared, status); });
  comm::set_mismatch_handler(
      [](SharedComm* shared, comm::Meeting* m) { conclude_mismatch(shared, m); });
  system_ranked::set_failure_source([](const system_ranked::ConstructionKey& key) {
    uint64_t ctx = comm::ContextId{key.parent}.plane(comm::kPlaneColl);
    const FailedCollective* failed = g_failures.find_failed(ctx, static_cast<int32_t>(key.number));
    return failed ? comm::copy_status(failed->status) : Status();
  });
  comm::add_dropped_handler([](comm::ContextId id) {
    g_failures.forget(id);
    multicast::forget_comm(id);
  });
}

void conclude_between(SharedComm* shared, const comm::Meeting* m, Status* status) {
  g_failures.conclude(shared, context_of(shared, m), number_of_meeting(m), runs_over_tree(m),
                      status);
}

}  // namespace fgmpi::coll
