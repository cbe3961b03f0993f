// The two ends of active messages: pieces sent by the origin, executed by the target.

#include "rma/message.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "base/count_words.h"
#include "base/strings.h"
#include "pt2pt/engine.h"
#include "pt2pt/lost.h"
#include "rma/check_message.h"
#include "rma/internal.h"

namespace fgmpi::rma {
namespace {

/// The most unanswered pieces to a process, and the most bytes of them: so many small pieces that a
/// message carries hundreds, as many long ones as keep the process busy. They bound the memory of
/// waiting pieces there, and of their answers here.
constexpr uint32_t kMostPieces = 1024;
constexpr int64_t kMostBytes = 4 << 20;

/// The operations to one process, in the order of their calls, as accumulates must be (MPI-4.0
/// section 12.7.2).
struct Channel {
  Remote* first = nullptr;
  Remote* last = nullptr;
  uint32_t in_flight = 0;
  int64_t bytes_in_flight = 0;
};
/// Returns the channel, which the first call makes: processes of other jobs may come at any time.
Channel* channel_to(uint32_t process) {
  static auto* all = new std::deque<Channel>;
  if (process >= all->size()) all->resize(process + 1);
  return &(*all)[process];
}

pt2pt::Cookies<Remote>& cookies() {
  static auto* all = new pt2pt::Cookies<Remote>;
  return *all;
}

/// Layouts of other processes' datatypes, by process and number.
struct Foreign {
  std::vector<uint8_t> bytes;  ///< until all of it is here
  Layout layout;
  bool whole = false;
};
std::map<std::pair<uint32_t, uint32_t>, Foreign>& foreign() {
  static auto* all = new std::map<std::pair<uint32_t, uint32_t>, Foreign>;
  return *all;
}

/// Memory for one message to be sent: the transport copies a piece, or queues a copy behind
/// deferred frames.
std::vector<uint8_t>& frame() {
  static auto* bytes = new std::vector<uint8_t>;
  return *bytes;
}

uint64_t context_of(const SharedWin* shared) { return shared->id.plane(comm::kPlaneRma); }

}  // namespace

void send_ask(const SharedWin* shared, uint32_t process, const Ask& ask, const void* data,
              size_t bytes) {
  std::vector<uint8_t>& out = frame();
  out.resize(sizeof ask + bytes);
  std::memcpy(out.data(), &ask, sizeof ask);
  if (bytes) std::memcpy(out.data() + sizeof ask, data, bytes);
  pt2pt::notify(process, pt2pt::kNoticeRma, shared ? context_of(shared) : 0, out.data(),
                out.size());
}

int64_t most_data(uint32_t process) {
  return static_cast<int64_t>(pt2pt::most_notice_bytes(process) - sizeof(Ask));
}

namespace {

// ---- Layouts ------------------------------------------------------------------------------------

void send_layout(const Layout& layout, uint32_t process) {
  static uint32_t g_next = 0;
  if (layout.id == 0) layout.id = ++g_next;
  if (std::find(layout.sent_to.begin(), layout.sent_to.end(), process) != layout.sent_to.end())
    return;
  layout.sent_to.push_back(process);
  std::vector<uint8_t> bytes;
  write_layout(layout, &bytes);
  Ask ask{};
  ask.kind = static_cast<uint64_t>(AskKind::kLayout);
  ask.layout = layout.id;
  ask.count = static_cast<int64_t>(bytes.size());
  for (ask.position = 0; ask.position < ask.count; ask.position += ask.bytes) {
    ask.bytes = std::min(most_data(process), ask.count - ask.position);
    send_ask(nullptr, process, ask, bytes.data() + ask.position, static_cast<size_t>(ask.bytes));
  }
}

void forget_layout(const Layout& layout) {
  Ask ask{};
  ask.kind = static_cast<uint64_t>(AskKind::kForget);
  ask.layout = layout.id;
  for (uint32_t process : layout.sent_to) send_ask(nullptr, process, ask, nullptr, 0);
}

void on_layout(uint32_t from, const Ask& ask, const uint8_t* data, size_t bytes) {
  Foreign& f = foreign()[{from, ask.layout}];
  if (f.whole || ask.position != static_cast<int64_t>(f.bytes.size()) ||
      ask.count < ask.position + static_cast<int64_t>(bytes))
    return pt2pt::refuse_notice();
  f.bytes.insert(f.bytes.end(), data, data + bytes);
  if (static_cast<int64_t>(f.bytes.size()) < ask.count) return;
  FieldReader in(f.bytes.data(), f.bytes.size());
  f.whole = read_layout(&in, &f.layout);
  std::vector<uint8_t>().swap(f.bytes);
  if (!f.whole) pt2pt::refuse_notice();
}

// ---- At the origin ------------------------------------------------------------------------------

/// Called when all of the origin's memory has been read.
void is_sent(Remote* op) {
  if (!op->unsent) return;
  op->unsent = false;
  Access& access = *op->win->access;
  Target& target = access.targets[op->target];
  --target.unsent;
  if (--access.unsent == 0 || target.unsent == 0) wake(&access);
}

void send_piece(Remote* op, Channel* channel) {
  Ask& ask = op->ask;
  int64_t most = most_data(op->process);
  most -= most % op->unit;
  ask.position = op->sent;
  ask.bytes = std::min(most, op->total - op->sent);
  std::vector<uint8_t>& out = frame();
  out.resize(sizeof ask);
  if (ask.kind == static_cast<uint64_t>(AskKind::kCompareAndSwap)) {
    out.insert(out.end(), op->inline_data, op->inline_data + 2 * op->unit);
  } else if (op->origin_cursor) {
    out.resize(sizeof ask + static_cast<size_t>(ask.bytes));
    gather(&*op->origin_cursor, op->origin, out.data() + sizeof ask, ask.bytes);
  }
  std::memcpy(out.data(), &ask, sizeof ask);
  op->sent += ask.bytes;
  ++channel->in_flight;
  channel->bytes_in_flight += ask.bytes;
  pt2pt::notify(op->process, pt2pt::kNoticeRma, context_of(op->shared), out.data(), out.size());
}

void pump(uint32_t process) {
  Channel* channel = channel_to(process);
  while (Remote* op = channel->first) {
    if (channel->in_flight >= kMostPieces || channel->bytes_in_flight >= kMostBytes) return;
    send_piece(op, channel);
    if (op->sent < op->total) continue;
    channel->first = op->next;
    if (!op->result_layout && !op->result) is_sent(op);
  }
}

Status refused(const Remote& op, int error_class) {
  return error(error_class,
               "target_disp of %s is 0x%llx at target_rank %d, for %s; allowed is memory that "
               "is attached there (%s)",
               op.call, static_cast<unsigned long long>(op.ask.offset), op.target,
               count_words(static_cast<uint64_t>(op.total), "byte").c_str(),
               name_of(op.win).c_str());
}

void on_reply(uint32_t from, const Ask& ask, const uint8_t* data, size_t bytes) {
  Remote* op = cookies().get(ask.cookie);
  if (!op && pt2pt::is_lost(from)) return;  // it has ended
  if (!op || op->process != from || ask.position < 0 || ask.bytes < 0 ||
      ask.bytes > op->total - ask.position || (bytes && static_cast<int64_t>(bytes) != ask.bytes))
    return pt2pt::refuse_notice();
  Channel* channel = channel_to(from);
  --channel->in_flight;
  channel->bytes_in_flight -= ask.bytes;
  Access& access = *op->win->access;
  if (ask.op) {
    if (access.failure.ok()) access.failure = refused(*op, static_cast<int>(ask.op));
  } else if (bytes && op->result_layout) {
    Cursor at(*op->result_layout, op->result_count);
    at.seek(ask.position);
    scatter(&at, op->result, data, ask.bytes);
  } else if (bytes && op->result) {
    std::memcpy(op->result, data, bytes);
  }
  op->done += ask.bytes;
  if (op->done == op->total) {
    cookies().take(op->cookie);
    finish_remote(op);
  }
  pump(from);
}

// ---- At the target ------------------------------------------------------------------------------

/// The memory of this process to which a piece applies.
struct Piece {
  SharedWin* shared;
  char* base;  ///< the member's displacement 0
  const Layout* layout;
  int64_t count;
  uint64_t owner_base;  ///< the address of `base`, as the owner numbers addresses
};

bool find_layout(uint32_t from, uint32_t id, const Layout** out) {
  static const Layout* row = [] {
    auto* made = new Layout;
    made->runs = {{0, 1}};
    made->extent = made->high = 1;
    made->sum_up();
    return made;
  }();
  *out = row;
  if (id == 0) return true;
  auto found = foreign().find({from, id});
  if (found == foreign().end() || !found->second.whole) return false;
  *out = &found->second.layout;
  return true;
}

/// Finds the memory of a piece. Returns false where the message cannot be valid; *error_class: an
/// error that the origin can have caused.
bool locate(SharedWin* shared, uint32_t from, const Ask& ask, Piece* out, int* error_class) {
  Part& own = shared->own();
  if (ask.member >= own.locals.size() || !find_layout(from, ask.layout, &out->layout)) return false;
  int64_t total;
  if (ask.count < 0 || __builtin_mul_overflow(ask.count, out->layout->size, &total) ||
      ask.position < 0 || ask.bytes < 0 || ask.position > total || ask.bytes > total - ask.position)
    return false;
  const bool dynamic = shared->flavor == MPI_WIN_FLAVOR_DYNAMIC;
  out->shared = shared;
  out->count = ask.count;
  out->owner_base = dynamic ? 0 : static_cast<uint64_t>(own.bases[ask.member]);
  out->base = shared->common.base() ? shared->common.base() + out->owner_base
                                    : reinterpret_cast<char*>(out->owner_base);
  const int64_t low = ask.offset + out->layout->reach_low(ask.count);
  const int64_t high = ask.offset + out->layout->reach_high(ask.count);
  *error_class = MPI_SUCCESS;
  if (ask.count == 0) return true;
  if (dynamic) {
    if (low != high && !is_attached(*shared, ask.member, static_cast<uint64_t>(low),
                                    static_cast<uint64_t>(high - low)))
      *error_class = MPI_ERR_RMA_RANGE;
  } else if (low < 0 || high > own.sizes[ask.member]) {
    *error_class = MPI_ERR_RMA_RANGE;
  }
  return true;
}

void execute_fold(const Piece& piece, const Ask& ask, const uint8_t* data, uint8_t* old) {
  Folding folding;
  const auto op = static_cast<MPI_Op>(ask.op);
  if (!make_folding(op, ask.type, true, &folding).ok() || ask.bytes % folding.size ||
      (!data && op != MPI_NO_OP))
    return pt2pt::refuse_notice();
  Part& own = piece.shared->own();
  Cursor at(*piece.layout, piece.count);
  at.seek(ask.position);
  if (own.locked) own.control->all().lock();
  bool good = true;
  for (int64_t done = 0; done < ask.bytes;) {
    Run run;
    good = next_elements(folding, &at, ask.bytes - done, &run);
    if (!good) break;
    const int64_t offset = ask.offset + run.offset;
    fold(folding, piece.base + offset, data ? data + done : nullptr, old ? old + done : nullptr,
         run.bytes, own.control.get(), piece.owner_base + static_cast<uint64_t>(offset),
         own.locked || own.alone);
    done += run.bytes;
  }
  if (own.locked) own.control->all().unlock();
  if (!good) pt2pt::refuse_notice();
}

void execute_swap(const Piece& piece, const Ask& ask, const uint8_t* data, uint8_t* old) {
  Part& own = piece.shared->own();
  if (own.locked) own.control->all().lock();
  swap_if_equal(piece.base + ask.offset, data + ask.bytes, data, old, ask.bytes, own.control.get(),
                piece.owner_base + static_cast<uint64_t>(ask.offset), own.locked || own.alone);
  if (own.locked) own.control->all().unlock();
}

void on_operation(SharedWin* shared, uint32_t from, const Ask& ask, const uint8_t* data,
                  size_t bytes) {
  Piece piece;
  int error_class;
  const auto kind = static_cast<AskKind>(ask.kind);
  const auto expected = static_cast<size_t>(kind == AskKind::kCompareAndSwap ? 2 * ask.bytes
                                            : kind == AskKind::kGet          ? 0
                                                                             : ask.bytes);
  const bool without = kind == AskKind::kGetAccumulate && bytes == 0;
  if (!locate(shared, from, ask, &piece, &error_class) || ask.bytes > most_data(from) ||
      (bytes != expected && !without) || (kind == AskKind::kCompareAndSwap && ask.bytes > 8))
    return pt2pt::refuse_notice();
  Ask reply{};
  reply.kind = static_cast<uint64_t>(AskKind::kReply);
  reply.cookie = ask.cookie;
  reply.position = ask.position;
  reply.bytes = ask.bytes;
  reply.op = static_cast<uint32_t>(error_class);
  static auto* result = new std::vector<uint8_t>;
  result->resize(static_cast<size_t>(ask.bytes));
  size_t answer = 0;
  if (error_class == MPI_SUCCESS && ask.bytes > 0) {
    Cursor at(*piece.layout, piece.count);
    at.seek(ask.position);
    answer = kind == AskKind::kPut || kind == AskKind::kAccumulate ? 0 : result->size();
    switch (kind) {
      case AskKind::kPut:
        scatter(&at, piece.base + ask.offset, data, ask.bytes);
        break;
      case AskKind::kGet:
        gather(&at, piece.base + ask.offset, result->data(), ask.bytes);
        break;
      case AskKind::kAccumulate:
        execute_fold(piece, ask, data, nullptr);
        break;
      case AskKind::kGetAccumulate:
        execute_fold(piece, ask, without ? nullptr : data, result->data());
        break;
      default:
        execute_swap(piece, ask, data, result->data());
        break;
    }
  }
  send_ask(shared, from, reply, result->data(), answer);
}

void on_lock(SharedWin* shared, uint32_t from, const Ask& ask) {
  const auto kind = static_cast<LockKind>(ask.op);
  Part& own = shared->own();
  if (ask.member >= own.locals.size() || ask.rank < 0 ||
      (kind != LockKind::kShared && kind != LockKind::kExclusive))
    return pt2pt::refuse_notice();
  const auto target = static_cast<int32_t>(own.ranks[ask.member]);
  switch (static_cast<AskKind>(ask.kind)) {
    case AskKind::kLock:
      if (own.control->acquire(ask.member, ask.rank, kind))
        tell_ranks(shared, from, AskKind::kGranted, target, {ask.rank});
      return;
    case AskKind::kTryLock:
      return tell_ranks(
          shared, from,
          own.control->try_acquire(ask.member, kind) ? AskKind::kGranted : AskKind::kRefused,
          target, {ask.rank});
    default:
      break;
  }
  std::vector<int32_t> granted;
  own.control->release(ask.member, kind, &granted);
  if (static_cast<AskKind>(ask.kind) == AskKind::kGiveBack)
    return tell_granted(shared, target, std::move(granted));
  Ask reply{};
  reply.kind = static_cast<uint64_t>(AskKind::kReply);
  reply.cookie = ask.cookie;
  send_ask(shared, from, reply, nullptr, 0);
  // The waiting ranks may live anywhere: any member's communicator leads to their processes.
  tell_granted(shared, target, std::move(granted));
}

void on_ranks(SharedWin* shared, const Ask& ask, const uint8_t* data, size_t bytes) {
  if (bytes % sizeof(int32_t)) return pt2pt::refuse_notice();
  std::vector<int32_t> ranks(bytes / sizeof(int32_t));
  std::memcpy(ranks.data(), data, bytes);
  switch (static_cast<AskKind>(ask.kind)) {
    case AskKind::kGranted:
      for (int32_t rank : ranks) lock_granted(shared, ask.rank, rank);
      return;
    case AskKind::kRefused:
      for (int32_t rank : ranks) lock_refused(shared, ask.rank, rank);
      return;
    case AskKind::kPosted:
      return on_posted(shared, ask.rank, ranks.data(), ranks.size());
    default:
      return on_completed(shared, ranks.data(), ranks.size());
  }
}

void on_notice(uint32_t from, uint64_t ctx, const void* bytes, size_t size) {
  if (size < sizeof(Ask)) return pt2pt::refuse_notice();
  Ask ask;
  std::memcpy(&ask, bytes, sizeof ask);
  const uint8_t* data = static_cast<const uint8_t*>(bytes) + sizeof ask;
  size -= sizeof ask;
  const auto kind = static_cast<AskKind>(ask.kind);
  if (kind == AskKind::kReply) return on_reply(from, ask, data, size);
  if (kind == AskKind::kChecked) return on_checked(from, ask, data, size);
  if (kind == AskKind::kLayout) return on_layout(from, ask, data, size);
  if (kind == AskKind::kForget) {
    foreign().erase({from, ask.layout});
    return;
  }
  SharedWin* shared = find_shared(ctx);
  if (!shared) return pt2pt::refuse_notice();
  switch (kind) {
    case AskKind::kPut:
    case AskKind::kGet:
    case AskKind::kAccumulate:
    case AskKind::kGetAccumulate:
    case AskKind::kCompareAndSwap:
      return on_operation(shared, from, ask, data, size);
    case AskKind::kLock:
    case AskKind::kTryLock:
    case AskKind::kUnlock:
    case AskKind::kGiveBack:
      return on_lock(shared, from, ask);
    case AskKind::kGranted:
    case AskKind::kRefused:
    case AskKind::kPosted:
    case AskKind::kCompleted:
      return on_ranks(shared, ask, data, size);
    case AskKind::kCheck:
    case AskKind::kCheckEnd:
      return on_check(shared, from, ask, data, size);
    default:
      return pt2pt::refuse_notice();
  }
}

class RmaRequest final : public pt2pt::Request {
 public:
  void describe(std::string* out) const override { *out += "one-sided operation"; }
};

}  // namespace

void start_messages() {
  pt2pt::set_notice_handler(pt2pt::kNoticeRma, on_notice);
  set_layout_dropped_handler(forget_layout);
}

pt2pt::Request* make_request(const char* call) {
  auto* request = new RmaRequest;
  request->call = call;
  return request;
}

void begin_remote(Remote* op) {
  Access& access = access_of(op->win);
  Target& target = access.targets[op->target];
  ++access.outstanding;
  ++access.unsent;
  ++target.outstanding;
  ++target.unsent;
  target.folds += op->folds;
  target.atomics += op->atomics;
}

void finish_remote(Remote* op) {
  is_sent(op);
  Access& access = *op->win->access;
  Target& target = access.targets[op->target];
  --target.outstanding;
  --access.outstanding;
  target.folds -= op->folds;
  target.atomics -= op->atomics;
  if (access.outstanding == 0 || target.outstanding == 0 ||
      (target.folds == 0 && target.atomics == 0))
    wake(&access);
  if (op->request) op->request->set_complete();
  delete op;
}

namespace {
/// Ends an operation whose target's process is lost. REQUIRES: the operation is in no channel.
void give_up(Remote* op) {
  Access& access = *op->win->access;
  if (access.failure.ok()) access.failure = pt2pt::process_failed(op->process);
  cookies().take(op->cookie);
  finish_remote(op);
}
}  // namespace

void end_operations_of_lost(const SharedWin* shared) {
  std::vector<Remote*> ended;
  cookies().for_each([&](uint64_t, Remote* op) {
    if (op->shared == shared && pt2pt::is_lost(op->process)) ended.push_back(op);
  });
  for (Remote* op : ended) {
    Channel* channel = channel_to(op->process);
    channel->first = channel->last = nullptr;  // all that is there ends, here or with its window
    give_up(op);
  }
}

void launch(Remote* op) {
  op->cookie = cookies().put(op);
  op->ask.cookie = op->cookie;
  op->ask.rank = op->win->comm->rank;
  if (op->target_layout) {
    send_layout(*op->target_layout, op->process);
    op->ask.layout = op->target_layout->id;
  }
  begin_remote(op);
  if (__builtin_expect(pt2pt::is_lost(op->process), 0)) return give_up(op);
  Channel* channel = channel_to(op->process);
  op->next = nullptr;
  if (channel->first)
    channel->last->next = op;
  else
    channel->first = op;
  channel->last = op;
  pump(op->process);
}

void ask_lock(Win* win, const Reach& reach, LockKind kind, AskKind how) {
  Ask ask{};
  ask.kind = static_cast<uint64_t>(how);
  ask.op = static_cast<uint32_t>(kind);
  ask.rank = win->comm->rank;
  ask.member = reach.member;
  send_ask(win->shared, reach.part->process, ask, nullptr, 0);
}

void ask_unlock(Win* win, int32_t rank, const Reach& reach, LockKind kind) {
  auto* op = new Remote;
  op->shared = win->shared;
  op->win = win;
  op->target = rank;
  op->process = reach.part->process;
  op->ask = {};
  op->ask.kind = static_cast<uint64_t>(AskKind::kUnlock);
  op->ask.op = static_cast<uint32_t>(kind);
  op->ask.member = reach.member;
  op->call = "MPI_Win_unlock";
  launch(op);
}

void ask_give_back(const SharedWin* shared, const Part& part, uint32_t member, LockKind kind) {
  Ask ask{};
  ask.kind = static_cast<uint64_t>(AskKind::kGiveBack);
  ask.op = static_cast<uint32_t>(kind);
  ask.member = member;
  send_ask(shared, part.process, ask, nullptr, 0);
}

void tell_ranks(SharedWin* shared, uint32_t process, AskKind kind, int32_t from,
                const std::vector<int32_t>& ranks) {
  Ask ask{};
  ask.kind = static_cast<uint64_t>(kind);
  ask.rank = from;
  if (process == g_av.me())
    return on_ranks(shared, ask, reinterpret_cast<const uint8_t*>(ranks.data()),
                    ranks.size() * sizeof(int32_t));
  const auto most = static_cast<size_t>(most_data(process)) / sizeof(int32_t);
  for (size_t first = 0; first < ranks.size(); first += most)
    send_ask(shared, process, ask, ranks.data() + first,
             std::min(most, ranks.size() - first) * sizeof(int32_t));
}

}  // namespace fgmpi::rma
