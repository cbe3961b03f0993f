// The two ends of active messages: pieces sent by the origin, executed by the target.

#include "rma/message.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "base/count_words.h"
#include "base/strings.h"
#include "datatype/copy.h"
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
struct PeerChannel {
  Remote* first = nullptr;
  Remote* last = nullptr;
  uint32_t in_flight = 0;
  int64_t bytes_in_flight = 0;
};
/// Returns the channel, which the first call makes: processes of other jobs may come at any time.
PeerChannel* channel_to(uint32_t process) {
  static auto* all = new std::deque<PeerChannel>;
  if (process >= all->size()) all->resize(process + 1);
  return &(*all)[process];
}

pt2pt::Cookies<Remote>& cookies() {
  static auto* all = new pt2pt::Cookies<Remote>;
  return *all;
}

/// Other processes' datatypes, by process and number of their layouts.
struct Foreign {
  std::vector<uint8_t> bytes;  ///< until all of it is here
  TypeTree tree;
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

void send_rma_message(const SharedWin* shared, uint32_t process, const RmaHeader& header,
                      const void* data, size_t bytes) {
  std::vector<uint8_t>& out = frame();
  out.resize(sizeof header + bytes);
  std::memcpy(out.data(), &header, sizeof header);
  if (bytes) std::memcpy(out.data() + sizeof header, data, bytes);
  pt2pt::notify(process, pt2pt::kNoticeRma, shared ? context_of(shared) : 0, out.data(),
                out.size());
}

int64_t most_data(uint32_t process) {
  return static_cast<int64_t>(pt2pt::most_notice_bytes(process) - sizeof(RmaHeader));
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
  write_layout(layout.type.tree(), &bytes);
  RmaHeader header{};
  header.kind = static_cast<uint64_t>(RmaMessageKind::kLayout);
  header.layout = layout.id;
  header.count = static_cast<int64_t>(bytes.size());
  for (header.position = 0; header.position < header.count; header.position += header.bytes) {
    header.bytes = std::min(most_data(process), header.count - header.position);
    send_rma_message(nullptr, process, header, bytes.data() + header.position,
                     static_cast<size_t>(header.bytes));
  }
}

void forget_layout(const Layout& layout) {
  RmaHeader header{};
  header.kind = static_cast<uint64_t>(RmaMessageKind::kForget);
  header.layout = layout.id;
  for (uint32_t process : layout.sent_to) send_rma_message(nullptr, process, header, nullptr, 0);
}

void on_layout(uint32_t from, const RmaHeader& header, const uint8_t* data, size_t bytes) {
  Foreign& f = foreign()[{from, header.layout}];
  if (f.whole || header.position != static_cast<int64_t>(f.bytes.size()) ||
      header.count < header.position + static_cast<int64_t>(bytes))
    return pt2pt::refuse_notice();
  f.bytes.insert(f.bytes.end(), data, data + bytes);
  if (static_cast<int64_t>(f.bytes.size()) < header.count) return;
  FieldReader in(f.bytes.data(), f.bytes.size());
  f.whole = read_layout(&in, &f.tree);
  std::vector<uint8_t>().swap(f.bytes);
  if (!f.whole) pt2pt::refuse_notice();
}

// ---- At the origin ------------------------------------------------------------------------------

/// Called when all of the origin's memory has been read.
void is_sent(Remote* op) {
  if (!op->unsent) return;
  op->unsent = false;
  MemberEpochs& access = *op->win->access;
  Target& target = access.targets[op->target];
  --target.unsent;
  if (--access.unsent == 0 || target.unsent == 0) wake(&access);
}

void send_piece(Remote* op, PeerChannel* channel) {
  RmaHeader& header = op->header;
  int64_t most = most_data(op->process);
  most -= most % op->unit;
  header.position = op->sent;
  header.bytes = std::min(most, op->total - op->sent);
  std::vector<uint8_t>& out = frame();
  out.resize(sizeof header);
  if (header.kind == static_cast<uint64_t>(RmaMessageKind::kCompareAndSwap)) {
    out.insert(out.end(), op->inline_data, op->inline_data + 2 * op->unit);
  } else if (op->origin_type) {
    out.resize(sizeof header + static_cast<size_t>(header.bytes));
    datatype::pack_part(op->origin, *op->origin_type, header.position, header.bytes,
                        out.data() + sizeof header);
  }
  std::memcpy(out.data(), &header, sizeof header);
  op->sent += header.bytes;
  ++channel->in_flight;
  channel->bytes_in_flight += header.bytes;
  pt2pt::notify(op->process, pt2pt::kNoticeRma, context_of(op->shared), out.data(), out.size());
}

void pump(uint32_t process) {
  PeerChannel* channel = channel_to(process);
  while (Remote* op = channel->first) {
    if (channel->in_flight >= kMostPieces || channel->bytes_in_flight >= kMostBytes) return;
    send_piece(op, channel);
    if (op->sent < op->total) continue;
    channel->first = op->next;
    if (!op->result_type && !op->result) is_sent(op);
  }
}

Status refused(const Remote& op, int error_class) {
  return error(error_class,
               "target_disp of %s is 0x%llx at target_rank %d, for %s; allowed is memory that "
               "is attached there (%s)",
               op.call, static_cast<unsigned long long>(op.header.offset), op.target,
               count_words(static_cast<uint64_t>(op.total), "byte").c_str(),
               name_of(op.win).c_str());
}

void on_reply(uint32_t from, const RmaHeader& header, const uint8_t* data, size_t bytes) {
  Remote* op = cookies().get(header.cookie);
  if (!op && pt2pt::is_lost(from)) return;  // it has ended
  if (!op || op->process != from || header.position < 0 || header.bytes < 0 ||
      header.bytes > op->total - header.position ||
      (bytes && static_cast<int64_t>(bytes) != header.bytes))
    return pt2pt::refuse_notice();
  PeerChannel* channel = channel_to(from);
  --channel->in_flight;
  channel->bytes_in_flight -= header.bytes;
  MemberEpochs& access = *op->win->access;
  if (header.op) {
    if (access.failure.ok()) access.failure = refused(*op, static_cast<int>(header.op));
  } else if (bytes && op->result_type) {
    datatype::unpack_part(data, header.bytes, op->result, *op->result_type, header.position);
  } else if (bytes && op->result) {
    std::memcpy(op->result, data, bytes);
  }
  op->done += header.bytes;
  if (op->done == op->total) {
    cookies().take(op->cookie);
    finish_remote(op);
  }
  pump(from);
}

// ---- At the target ------------------------------------------------------------------------------

/// The memory of this process to which a piece applies.
struct TargetPiece {
  SharedWin* shared;
  char* base;  ///< the member's displacement 0
  const TypeTree* tree;
  uint64_t owner_base;  ///< the address of `base`, as the owner numbers addresses
};

const TypeTree* find_tree(uint32_t from, uint32_t id) {
  static const auto* byte = new datatype::Type;
  if (id == 0) return &byte->tree();
  auto found = foreign().find({from, id});
  return found == foreign().end() || !found->second.whole ? nullptr : &found->second.tree;
}

/// Finds the memory of a piece. Returns false where the message cannot be valid; *error_class: an
/// error that the origin can have caused.
bool locate(SharedWin* shared, uint32_t from, const RmaHeader& header, TargetPiece* out,
            int* error_class) {
  WindowPart& own = shared->own();
  out->tree = find_tree(from, header.layout);
  int64_t low, high;
  if (header.member >= own.locals.size() || !out->tree ||
      !find_reach(*out->tree, header.count, header.offset, &low, &high))
    return false;
  const int64_t total = header.count * out->tree->size;
  if (header.position < 0 || header.bytes < 0 || header.position > total ||
      header.bytes > total - header.position)
    return false;
  const bool dynamic = shared->flavor == MPI_WIN_FLAVOR_DYNAMIC;
  out->shared = shared;
  out->owner_base = dynamic ? 0 : static_cast<uint64_t>(own.bases[header.member]);
  out->base = shared->common.base() ? shared->common.base() + out->owner_base
                                    : reinterpret_cast<char*>(out->owner_base);
  *error_class = MPI_SUCCESS;
  if (header.count == 0) return true;
  if (dynamic) {
    if (low != high && !is_attached(*shared, header.member, static_cast<uint64_t>(low),
                                    static_cast<uint64_t>(high - low)))
      *error_class = MPI_ERR_RMA_RANGE;
  } else if (low < 0 || high > own.sizes[header.member]) {
    *error_class = MPI_ERR_RMA_RANGE;
  }
  return true;
}

void execute_fold(const TargetPiece& piece, const RmaHeader& header, const uint8_t* data,
                  uint8_t* old) {
  Folding folding;
  const auto op = static_cast<MPI_Op>(header.op);
  if (!make_folding(op, header.type, true, &folding).ok() || header.bytes % folding.size ||
      (!data && op != MPI_NO_OP))
    return pt2pt::refuse_notice();
  WindowPart& own = piece.shared->own();
  TypeCursor at(*piece.tree);
  at.seek(header.position);
  if (own.locked) own.control->all().lock();
  bool good = true;
  for (int64_t done = 0; done < header.bytes;) {
    TypeRun run;
    good = next_elements(folding, &at, header.bytes - done, &run);
    if (!good) break;
    const int64_t offset = header.offset + run.offset;
    fold(folding, piece.base + offset, data ? data + done : nullptr, old ? old + done : nullptr,
         run.bytes, own.control.get(), piece.owner_base + static_cast<uint64_t>(offset),
         own.locked || own.alone);
    done += run.bytes;
  }
  if (own.locked) own.control->all().unlock();
  if (!good) pt2pt::refuse_notice();
}

void execute_swap(const TargetPiece& piece, const RmaHeader& header, const uint8_t* data,
                  uint8_t* old) {
  WindowPart& own = piece.shared->own();
  if (own.locked) own.control->all().lock();
  swap_if_equal(piece.base + header.offset, data + header.bytes, data, old, header.bytes,
                own.control.get(), piece.owner_base + static_cast<uint64_t>(header.offset),
                own.locked || own.alone);
  if (own.locked) own.control->all().unlock();
}

void on_operation(SharedWin* shared, uint32_t from, const RmaHeader& header, const uint8_t* data,
                  size_t bytes) {
  TargetPiece piece;
  int error_class;
  const auto kind = static_cast<RmaMessageKind>(header.kind);
  const auto expected =
      static_cast<size_t>(kind == RmaMessageKind::kCompareAndSwap ? 2 * header.bytes
                          : kind == RmaMessageKind::kGet          ? 0
                                                                  : header.bytes);
  const bool without = kind == RmaMessageKind::kGetAccumulate && bytes == 0;
  if (!locate(shared, from, header, &piece, &error_class) || header.bytes > most_data(from) ||
      (bytes != expected && !without) ||
      (kind == RmaMessageKind::kCompareAndSwap && header.bytes > 8))
    return pt2pt::refuse_notice();
  RmaHeader reply{};
  reply.kind = static_cast<uint64_t>(RmaMessageKind::kReply);
  reply.cookie = header.cookie;
  reply.position = header.position;
  reply.bytes = header.bytes;
  reply.op = static_cast<uint32_t>(error_class);
  static auto* result = new std::vector<uint8_t>;
  result->resize(static_cast<size_t>(header.bytes));
  size_t answer = 0;
  if (error_class == MPI_SUCCESS && header.bytes > 0) {
    char* const memory = piece.base + header.offset;
    answer =
        kind == RmaMessageKind::kPut || kind == RmaMessageKind::kAccumulate ? 0 : result->size();
    switch (kind) {
      case RmaMessageKind::kPut:
        datatype::unpack_by_tree(data, header.bytes, memory, *piece.tree, header.position);
        break;
      case RmaMessageKind::kGet:
        datatype::pack_by_tree(memory, *piece.tree, header.position, header.bytes, result->data());
        break;
      case RmaMessageKind::kAccumulate:
        execute_fold(piece, header, data, nullptr);
        break;
      case RmaMessageKind::kGetAccumulate:
        execute_fold(piece, header, without ? nullptr : data, result->data());
        break;
      default:
        execute_swap(piece, header, data, result->data());
        break;
    }
  }
  send_rma_message(shared, from, reply, result->data(), answer);
}

void on_lock(SharedWin* shared, uint32_t from, const RmaHeader& header) {
  const auto kind = static_cast<LockKind>(header.op);
  WindowPart& own = shared->own();
  if (header.member >= own.locals.size() || header.rank < 0 ||
      (kind != LockKind::kShared && kind != LockKind::kExclusive))
    return pt2pt::refuse_notice();
  const auto target = static_cast<int32_t>(own.ranks[header.member]);
  switch (static_cast<RmaMessageKind>(header.kind)) {
    case RmaMessageKind::kLock:
      if (own.control->acquire(header.member, header.rank, kind))
        notify_ranks(shared, from, RmaMessageKind::kGranted, target, {header.rank});
      return;
    case RmaMessageKind::kTryLock:
      return notify_ranks(shared, from,
                          own.control->try_acquire(header.member, kind) ? RmaMessageKind::kGranted
                                                                        : RmaMessageKind::kRefused,
                          target, {header.rank});
    default:
      break;
  }
  std::vector<int32_t> granted;
  own.control->release(header.member, kind, &granted);
  if (static_cast<RmaMessageKind>(header.kind) == RmaMessageKind::kGiveBack)
    return notify_granted_ranks(shared, target, std::move(granted));
  RmaHeader reply{};
  reply.kind = static_cast<uint64_t>(RmaMessageKind::kReply);
  reply.cookie = header.cookie;
  send_rma_message(shared, from, reply, nullptr, 0);
  // The waiting ranks may live anywhere: any member's communicator leads to their processes.
  notify_granted_ranks(shared, target, std::move(granted));
}

void on_ranks(SharedWin* shared, const RmaHeader& header, const uint8_t* data, size_t bytes) {
  if (bytes % sizeof(int32_t)) return pt2pt::refuse_notice();
  std::vector<int32_t> ranks(bytes / sizeof(int32_t));
  std::memcpy(ranks.data(), data, bytes);
  switch (static_cast<RmaMessageKind>(header.kind)) {
    case RmaMessageKind::kGranted:
      for (int32_t rank : ranks) lock_granted(shared, header.rank, rank);
      return;
    case RmaMessageKind::kRefused:
      for (int32_t rank : ranks) lock_refused(shared, header.rank, rank);
      return;
    case RmaMessageKind::kPosted:
      return on_posted(shared, header.rank, ranks.data(), ranks.size());
    default:
      return on_completed(shared, ranks.data(), ranks.size());
  }
}

void on_notice(uint32_t from, uint64_t ctx, const void* bytes, size_t size) {
  if (size < sizeof(RmaHeader)) return pt2pt::refuse_notice();
  RmaHeader header;
  std::memcpy(&header, bytes, sizeof header);
  const uint8_t* data = static_cast<const uint8_t*>(bytes) + sizeof header;
  size -= sizeof header;
  const auto kind = static_cast<RmaMessageKind>(header.kind);
  if (kind == RmaMessageKind::kReply) return on_reply(from, header, data, size);
  if (kind == RmaMessageKind::kChecked) return on_checked(from, header, data, size);
  if (kind == RmaMessageKind::kLayout) return on_layout(from, header, data, size);
  if (kind == RmaMessageKind::kForget) {
    foreign().erase({from, header.layout});
    return;
  }
  SharedWin* shared = find_shared(ctx);
  if (!shared) return pt2pt::refuse_notice();
  switch (kind) {
    case RmaMessageKind::kPut:
    case RmaMessageKind::kGet:
    case RmaMessageKind::kAccumulate:
    case RmaMessageKind::kGetAccumulate:
    case RmaMessageKind::kCompareAndSwap:
      return on_operation(shared, from, header, data, size);
    case RmaMessageKind::kLock:
    case RmaMessageKind::kTryLock:
    case RmaMessageKind::kUnlock:
    case RmaMessageKind::kGiveBack:
      return on_lock(shared, from, header);
    case RmaMessageKind::kGranted:
    case RmaMessageKind::kRefused:
    case RmaMessageKind::kPosted:
    case RmaMessageKind::kCompleted:
      return on_ranks(shared, header, data, size);
    case RmaMessageKind::kCheck:
    case RmaMessageKind::kCheckEnd:
      return on_check(shared, from, header, data, size);
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
  MemberEpochs& access = access_of(op->win);
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
  MemberEpochs& access = *op->win->access;
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
void fail_operation(Remote* op) {
  MemberEpochs& access = *op->win->access;
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
    PeerChannel* channel = channel_to(op->process);
    channel->first = channel->last = nullptr;  // all that is there ends, here or with its window
    fail_operation(op);
  }
}

void launch(Remote* op) {
  op->cookie = cookies().put(op);
  op->header.cookie = op->cookie;
  op->header.rank = op->win->comm->rank;
  if (op->target_layout) {
    send_layout(*op->target_layout, op->process);
    op->header.layout = op->target_layout->id;
  }
  begin_remote(op);
  if (__builtin_expect(pt2pt::is_lost(op->process), 0)) return fail_operation(op);
  PeerChannel* channel = channel_to(op->process);
  op->next = nullptr;
  if (channel->first)
    channel->last->next = op;
  else
    channel->first = op;
  channel->last = op;
  pump(op->process);
}

void request_lock(Win* win, const Reach& reach, LockKind kind, RmaMessageKind how) {
  RmaHeader header{};
  header.kind = static_cast<uint64_t>(how);
  header.op = static_cast<uint32_t>(kind);
  header.rank = win->comm->rank;
  header.member = reach.member;
  send_rma_message(win->shared, reach.part->process, header, nullptr, 0);
}

void request_unlock(Win* win, int32_t rank, const Reach& reach, LockKind kind) {
  auto* op = new Remote;
  op->shared = win->shared;
  op->win = win;
  op->target = rank;
  op->process = reach.part->process;
  op->header = {};
  op->header.kind = static_cast<uint64_t>(RmaMessageKind::kUnlock);
  op->header.op = static_cast<uint32_t>(kind);
  op->header.member = reach.member;
  op->call = "MPI_Win_unlock";
  launch(op);
}

void request_lock_return(const SharedWin* shared, const WindowPart& part, uint32_t member,
                         LockKind kind) {
  RmaHeader header{};
  header.kind = static_cast<uint64_t>(RmaMessageKind::kGiveBack);
  header.op = static_cast<uint32_t>(kind);
  header.member = member;
  send_rma_message(shared, part.process, header, nullptr, 0);
}

void notify_ranks(SharedWin* shared, uint32_t process, RmaMessageKind kind, int32_t from,
                  const std::vector<int32_t>& ranks) {
  RmaHeader header{};
  header.kind = static_cast<uint64_t>(kind);
  header.rank = from;
  if (process == g_av.me())
    return on_ranks(shared, header, reinterpret_cast<const uint8_t*>(ranks.data()),
                    ranks.size() * sizeof(int32_t));
  const auto most = static_cast<size_t>(most_data(process)) / sizeof(int32_t);
  for (size_t first = 0; first < ranks.size(); first += most)
    send_rma_message(shared, process, header, ranks.data() + first,
                     std::min(most, ranks.size() - first) * sizeof(int32_t));
}

}  // namespace fgmpi::rma
