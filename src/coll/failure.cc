#include "coll/failure.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "base/clock.h"
#include "base/hash.h"
#include "base/strings.h"
#include "comm/hierarchy.h"
#include "comm/system_ranked/construction.h"
#include "comm/system_ranked/group_tree.h"

namespace fgmpi::coll {
namespace {

using comm::SharedComm;
using pt2pt::Unmatched;

/// A collective that has failed, kept until no message of it can come any more.
struct Failed {
  uint64_t ctx;
  int32_t number;
  Status status;
  uint32_t told_by = 0;  ///< other processes whose notice has come
  uint32_t others = 0;   ///< how many there are; valid if `told`
  uint8_t done = 0;      ///< members' sides of this process that are done with it
  uint8_t sides = 0;     ///< how many there are; valid if `told`
  bool told = false;     ///< the others know it from this process
  bool neighbours;       ///< the others are those in the tree (for_each_other_process())
  bool is_over() const { return told && told_by >= others && done >= sides; }
};

/// So many are kept at most: those of communicators that have been freed would stay for ever.
constexpr size_t kMostFailed = 1024;

enum Word : uint32_t { kFailedWord = 1, kCompareWord };
constexpr size_t kMostText = 900;

/// What a notice says; of kFailedWord, the error's text follows.
struct Words {
  uint32_t word;
  int32_t tag;
  pt2pt::Signature signature;
  int32_t error_class;
};

uint32_t round_of(uint64_t ctx) { return ctx >> 3 & 31; }
int32_t number_of(int32_t tag) { return tag >> kNumberBit; }

comm::ContextId id_of(uint64_t ctx) { return {ctx & ~uint64_t{0xff}}; }

SharedComm* find(uint64_t ctx) {
  SharedComm* shared = comm::lookup(id_of(ctx), 0);
  return shared ? shared : comm::lookup(id_of(ctx), 1);
}

uint64_t context_of(const SharedComm* shared, const comm::Meeting* m) {
  return shared->id.plane(comm::kPlaneColl, m->round);
}

/// 31 bits of a hash of `agreed`; different lengths nearly always differ in what is kept of it.
pt2pt::Signature signature_of(uint64_t agreed) {
  return pt2pt::kept_of(static_cast<pt2pt::Signature>(mix(agreed) >> 33));
}

Status disagreement(const char* call, uint32_t other) {
  return error(
      MPI_ERR_TRUNCATE,
      "%s: processes %u and %u do not give the same amount of data: all members must agree "
      "on counts and types",
      call, g_av.me(), other);
}

}  // namespace

/// Everything that is known here.
class Failures {
 public:
  void open(OpenTeam* team);
  void close(OpenTeam* team);
  const Failed* find_failed(uint64_t ctx, int32_t number) const;
  void conclude(SharedComm* shared, uint64_t ctx, int32_t number, const Status& status);
  void on_unmatched(const Unmatched& message);
  void on_notice(uint32_t from, uint64_t ctx, const void* data, size_t bytes);
  int64_t look();
  /// The communicator is gone here; its context id may be used for another one.
  void forget(comm::ContextId id) {
    if (__builtin_expect(!failed_.empty(), 0))
      std::erase_if(failed_, [&](const Failed& f) { return id_of(f.ctx) == id; });
    if (__builtin_expect(next_past_ > 0, 0))
      for (Past& p : past_)
        if (id_of(p.ctx) == id) p = {};
  }

 private:
  Failed* entry(uint64_t ctx, int32_t number, const Status& status, bool neighbours);
  Failed* fail(SharedComm* shared, uint64_t ctx, int32_t number, const Status& status,
               bool neighbours);
  bool is_past(uint64_t ctx, int32_t number) const;
  void tell(SharedComm* shared, Failed* failed);
  bool compare(uint64_t ctx, int32_t tag, pt2pt::Signature signature, uint32_t process);
  void compare_with_others();
  void drop_if_over(const Failed* failed);

  /// Where an open collective is kept. Collectives of a communicator that are open at once have
  /// consecutive numbers.
  OpenTeam*& chain_of(uint64_t ctx, int32_t number) {
    return open_[(static_cast<uint64_t>(number) + (ctx >> 8)) % kChains];
  }
  template <class F>
  void for_each_open(F&& f) {
    for (OpenTeam* chain : open_)
      for (OpenTeam* t = chain; t; t = t->next) f(t);
  }

  static constexpr size_t kChains = 1024;  ///< tens of thousands may be open at once
  OpenTeam* open_[kChains] = {};
  uint32_t open_count_ = 0;
  std::deque<Failed> failed_;
  /// The last that nothing is kept of any more. A notice about one of them is late: to take it for news would have it
  /// told again.
  struct Past {
    uint64_t ctx = 0;
    int32_t number = -1;
  } past_[16];
  uint32_t next_past_ = 0;
  // Since when nothing has moved while collectives were open, and how often that was looked at.
  int64_t still_since_ = 0;
  uint64_t switches_ = ~uint64_t{0};
  int looks_ = 0;
};

namespace {

/// Never destroyed: programs use MPI until they end.
Failures& g_failures = *new Failures;

/// A collective over the tree of a system-ranked communicator: each process knows its neighbours there, and these tell
/// theirs.
bool over_tree(const SharedComm* shared, int32_t tag) {
  return shared->tree && (tag & kOverTree) != 0;
}

/// f(process) for all other processes with members of either group; `neighbours`: for those in the tree.
template <class F>
void for_each_other_process(SharedComm* shared, bool neighbours, F&& f) {
  if (neighbours) {
    const comm::system_ranked::Place& place = shared->tree->place();
    if (place.parent != comm::system_ranked::kNobody) f(place.parent);
    for (uint32_t child : place.children) f(child);
    return;
  }
  const comm::Hierarchy& h = comm::hierarchy(shared);
  for (uint32_t i = 0; i < h.count(); ++i)
    if (h.processes[i] != g_av.me()) f(h.processes[i]);
  if (!shared->inter) return;
  const comm::Hierarchy& remote = comm::remote_hierarchy(shared);
  for (uint32_t i = 0; i < remote.count(); ++i) {
    uint32_t process = remote.processes[i];
    if (process != g_av.me() && h.index_of_process(process) == ~0u) f(process);
  }
}

/// Members of both groups of an intercommunicator may live here: then there are two of it.
uint8_t sides_here(const SharedComm* shared) {
  return shared->inter && comm::lookup(shared->id, 0) && comm::lookup(shared->id, 1) ? 2 : 1;
}

void send_words(uint32_t process, uint64_t ctx, const Words& words, const std::string& text) {
  uint8_t message[sizeof words + kMostText];
  size_t length = std::min(text.size(), kMostText);
  std::memcpy(message, &words, sizeof words);
  std::memcpy(message + sizeof words, text.data(), length);
  pt2pt::notify(process, pt2pt::kNoticeCollective, ctx, message, sizeof words + length);
}

}  // namespace

// ---- Open collectives ----------------------------------------------------------------------------

OpenTeam::OpenTeam(SharedComm* own, uint64_t context, int32_t its_tag, uint64_t agreed,
                   const char* name)
    : shared(own && (own->processes > 1 || own->inter) ? own : nullptr),
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
  const Failed* failed = g_failures.find_failed(ctx, number_of(tag));
  return failed ? comm::copy_status(failed->status) : Status();
}

void Failures::open(OpenTeam* team) {
  OpenTeam*& chain = chain_of(team->ctx, number_of(team->tag));
  team->next = chain;
  if (chain) chain->previous = team;
  chain = team;
  ++open_count_;
  if (__builtin_expect(!failed_.empty(), 0))
    if (find_failed(team->ctx, number_of(team->tag))) {
      fail(team->shared, team->ctx, number_of(team->tag), Status(),
           over_tree(team->shared, team->tag));
      return;
    }
  // What came before it. Many messages are left to look().
  constexpr uint32_t kFew = 16;
  if (pt2pt::count_unmatched(kFew + 1) - 1u >= kFew) return;
  for (const Unmatched& m : pt2pt::list_unmatched())
    if (m.ctx == team->ctx && m.tag == team->tag && compare(m.ctx, m.tag, m.signature, m.process))
      return;
}

void Failures::close(OpenTeam* team) {
  if (team->next) team->next->previous = team->previous;
  (team->previous ? team->previous->next : chain_of(team->ctx, number_of(team->tag))) = team->next;
  --open_count_;
  if (!team->failed_ && !team->shared->inter)
    comm::remember_completed(team->shared, round_of(team->ctx), team->tag, team->signature);
}

/// A message or a question of another process: true when its collective has failed or fails now.
bool Failures::compare(uint64_t ctx, int32_t tag, pt2pt::Signature signature, uint32_t process) {
  for (OpenTeam* t = chain_of(ctx, number_of(tag)); t; t = t->next) {
    if (t->ctx != ctx || t->tag != tag) continue;
    if (t->signature == signature) return false;
    fail(t->shared, ctx, number_of(tag), disagreement(t->call, process), over_tree(t->shared, tag));
    return true;
  }
  if ((ctx & comm::kPlaneMask) != comm::kPlaneColl) return false;
  SharedComm* shared = comm::lookup(id_of(ctx));
  const comm::CompletedCollective* completed =
      shared ? comm::find_completed(shared, round_of(ctx), tag) : nullptr;
  if (!completed || completed->signature == signature) return false;
  fail(shared, ctx, number_of(tag), disagreement("a collective", process), over_tree(shared, tag));
  return true;
}

// ---- Those that failed ---------------------------------------------------------------------------

bool Failures::is_past(uint64_t ctx, int32_t number) const {
  for (const Past& p : past_)
    if (p.ctx == ctx && p.number == number) return true;
  return false;
}

const Failed* Failures::find_failed(uint64_t ctx, int32_t number) const {
  for (const Failed& f : failed_)
    if (f.ctx == ctx && f.number == number) return &f;
  return nullptr;
}

Failed* Failures::entry(uint64_t ctx, int32_t number, const Status& status, bool neighbours) {
  if (const Failed* f = find_failed(ctx, number)) return const_cast<Failed*>(f);
  if (failed_.size() == kMostFailed) failed_.pop_front();
  Failed& f = failed_.emplace_back();
  f.ctx = ctx;
  f.number = number;
  f.status = comm::copy_status(status);
  f.neighbours = neighbours;
  return &f;
}

/// Ends the collective here, and tells the others if they have not been told. `shared`: nullptr if
/// this process does not know the communicator (yet, or any more).
Failed* Failures::fail(SharedComm* shared, uint64_t ctx, int32_t number, const Status& status,
                       bool neighbours) {
  Failed* failed = entry(ctx, number, status, neighbours);
  for (OpenTeam* t = chain_of(ctx, number); t; t = t->next)
    if (t->ctx == ctx && number_of(t->tag) == number) t->failed_ = true;
  pt2pt::give_up_traffic(ctx, number << kNumberBit, kNotNumber, failed->status);
  comm::system_ranked::fail_construction({id_of(ctx).bits, static_cast<uint32_t>(number)},
                                         failed->status);
  // A group's processes are not worked out here, inside poll, for a communicator that has not been
  // used; then they are told when the collective begins.
  if (shared && !failed->told &&
      (failed->neighbours ? shared->tree != nullptr : shared->hierarchy != nullptr) &&
      (!shared->inter || shared->remote_hierarchy)) {
    if (!shared->inter &&
        comm::find_completed(shared, round_of(ctx), number << kNumberBit, kNotNumber))
      failed->done = 1;
    tell(shared, failed);
  }
  return failed;
}

void Failures::tell(SharedComm* shared, Failed* failed) {
  failed->told = true;
  failed->sides = sides_here(shared);
  Words words{kFailedWord, failed->number << kNumberBit | (failed->neighbours ? kOverTree : 0), 0,
              failed->status.error_class()};
  for_each_other_process(shared, failed->neighbours, [&](uint32_t process) {
    ++failed->others;
    send_words(process, failed->ctx, words, failed->status.what());
  });
}

void Failures::drop_if_over(const Failed* failed) {
  if (!failed->is_over()) return;
  past_[next_past_++ % std::size(past_)] = {failed->ctx, failed->number};
  failed_.erase(
      std::find_if(failed_.begin(), failed_.end(), [&](const Failed& f) { return &f == failed; }));
}

void Failures::conclude(SharedComm* shared, uint64_t ctx, int32_t number, const Status& status) {
  const Failed* known = find_failed(ctx, number);
  if (status.ok() && !known) return;
  if (!shared->tree) comm::hierarchy(shared);  // may not have been needed yet
  if (shared->inter) comm::remote_hierarchy(shared);
  Failed* failed = fail(shared, ctx, number, status, shared->tree && !shared->hierarchy);
  ++failed->done;
  drop_if_over(failed);
}

// ---- What comes from others ----------------------------------------------------------------------

void Failures::on_unmatched(const Unmatched& m) {
  if ((m.ctx & comm::kPlaneMask) != comm::kPlaneColl) return;
  if (__builtin_expect(!failed_.empty(), 0))
    if (const Failed* failed = find_failed(m.ctx, number_of(m.tag))) {
      pt2pt::give_up_traffic(m.ctx, m.tag, kNotNumber, failed->status);
      return;
    }
  compare(m.ctx, m.tag, m.signature, m.process);
}

void Failures::on_notice(uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
  Words words{};
  if (bytes >= sizeof words) std::memcpy(&words, data, sizeof words);
  const bool known = words.word == kFailedWord || words.word == kCompareWord;
  if (!known || (ctx & comm::kPlaneMask) != comm::kPlaneColl) return pt2pt::refuse_notice();
  if (words.word == kCompareWord) {
    if (!find_failed(ctx, number_of(words.tag))) compare(ctx, words.tag, words.signature, from);
    return;
  }
  std::string text(static_cast<const char*>(data) + sizeof words, bytes - sizeof words);
  int error_class = words.error_class > 0 && words.error_class < MPI_ERR_LASTCODE
                        ? words.error_class
                        : MPI_ERR_OTHER;
  if (is_past(ctx, number_of(words.tag))) return;
  SharedComm* shared = find(ctx);
  Failed* failed = fail(shared, ctx, number_of(words.tag), error(error_class, "%s", text.c_str()),
                        (words.tag & kOverTree) != 0 && (!shared || shared->tree));
  ++failed->told_by;
  drop_if_over(failed);
}

// ---- When nothing moves --------------------------------------------------------------------------

namespace {
constexpr int64_t kFirstLook =
    50'000'000;            ///< ns of stillness; longer than messages are on their way
constexpr int kLooks = 3;  ///< each after four times as long
}  // namespace

void Failures::compare_with_others() {
  for (const Unmatched& m : pt2pt::list_unmatched())
    if (!find_failed(m.ctx, number_of(m.tag))) compare(m.ctx, m.tag, m.signature, m.process);
  for_each_open([](const OpenTeam* t) {
    if (t->failed_) return;
    Words words{kCompareWord, t->tag, t->signature, 0};
    for_each_other_process(t->shared, over_tree(t->shared, t->tag),
                           [&](uint32_t process) { send_words(process, t->ctx, words, ""); });
  });
}

int64_t Failures::look() {
  if (open_count_ == 0) return -1;
  const int64_t now = now_ns();
  if (switches_ != sched::switch_count()) {
    switches_ = sched::switch_count();
    still_since_ = now;
    looks_ = 0;
  }
  if (looks_ == kLooks) return -1;
  const int64_t due = still_since_ + (kFirstLook << 2 * looks_);
  if (now < due) return due - now;
  ++looks_;
  compare_with_others();
  return looks_ == kLooks ? -1 : (kFirstLook << 2 * looks_) - (now - still_since_);
}

int64_t look_for_disagreement() { return g_failures.look(); }

void init_failures() {
  pt2pt::set_unmatched_handler([](const Unmatched& u) { g_failures.on_unmatched(u); });
  pt2pt::set_notice_handler(pt2pt::kNoticeCollective,
                            [](uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
                              g_failures.on_notice(from, ctx, data, bytes);
                            });
  comm::set_mismatch_handler(
      [](SharedComm* shared, comm::Meeting* m) { conclude(shared, m, m->status); });
  comm::system_ranked::set_failure_source([](const comm::system_ranked::ConstructionKey& key) {
    uint64_t ctx = comm::ContextId{key.parent}.plane(comm::kPlaneColl);
    const Failed* failed = g_failures.find_failed(ctx, static_cast<int32_t>(key.number));
    return failed ? comm::copy_status(failed->status) : Status();
  });
  comm::set_dropped_handler([](comm::ContextId id) { g_failures.forget(id); });
}

void conclude_between(SharedComm* shared, const comm::Meeting* m, const Status& status) {
  g_failures.conclude(shared, context_of(shared, m), static_cast<int32_t>(m->sequence & 0xffffff),
                      status);
}

}  // namespace fgmpi::coll
