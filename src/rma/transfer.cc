// Put, get, accumulates and compare-and-swap, in tiers: each runs what it can, and leaves every
// other operation to the next one. Operations that are not by messages are complete when the call
// returns.
//
//   tier       runs                                                 functions
//   direct     elements of a basic type in a row, at the target     find_direct(), fetch_direct(),
//              reached last, whose memory is in this address space  in line (win_inl.h)
//     |
//     | another target, type or operation; accesses are checked or decided; any argument is wrong
//     v
//   checked    nothing: checks the arguments (make_side()), then    put(), get(), accumulate(),
//              the epoch and the range (reach_target())             compare_and_swap()
//     |
//     v        then, by the target's way (run_by_way()):
//   in place   kHere, kMapped                                       run_in_place()
//   attached   kAttached                                            run_attached()
//     | the kernel refuses: from now on as if the target were reached by messages
//   provider   kProvider                                            run_by_provider()
//     | the provider has no such operation, or it does not pay
//   messages   everything else                                      run_by_messages()

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/count_words.h"
#include "base/hash.h"
#include "base/strings.h"
#include "datatype/basic_type.h"
#include "datatype/copy.h"
#include "rma/access_decider.h"
#include "rma/attached.h"
#include "rma/fold.h"
#include "rma/internal.h"
#include "rma/layout.h"
#include "rma/message.h"
#include "rma/provider.h"

namespace fgmpi::rma {
namespace {

/// One side of an operation: elements of a type that has been found.
struct TransferSide {
  void* address = nullptr;
  int64_t count = 0;
  datatype::Type type;
  int64_t bytes = 0;
  /// True where all bytes are one run, from address + type.true_lb() on.
  bool plain() const { return type.contiguous(); }
  char* data() const { return static_cast<char*>(address) + type.true_lb(); }
  /// The only predefined type in its datatype; MPI_DATATYPE_NULL where there are several.
  MPI_Datatype element() const { return type.tree().element; }
};

Status make_side(const Elements& elements, bool at_origin, const char* name, TransferSide* out) {
  const MPI_Datatype type =
      elements.count == 0 && elements.type == MPI_DATATYPE_NULL ? MPI_BYTE : elements.type;
  FGMPI_TRY(datatype::Type::of(type, &out->type));
  out->address = const_cast<void*>(elements.address);
  out->count = elements.count;
  int64_t reach;
  if (__builtin_mul_overflow(elements.count, out->type.size(), &out->bytes) ||
      __builtin_mul_overflow(elements.count, out->type.extent(), &reach))
    return error(MPI_ERR_COUNT,
                 "%s_count is %lld, of a datatype of %s; allowed is what needs at most 63 "
                 "bits",
                 name, static_cast<long long>(elements.count),
                 count_words(static_cast<uint64_t>(out->type.size()), "byte").c_str());
  if (at_origin && !out->address && out->bytes > 0 && out->type.basic())
    return error(MPI_ERR_BUFFER,
                 "%s_addr is a null pointer with count %lld; allowed is null with count 0 only",
                 name, static_cast<long long>(elements.count));
  return {};
}

/// Checks that both sides have equally many bytes.
Status check_equal(const TransferSide& a, const char* name, const TransferSide& target) {
  if (__builtin_expect(a.bytes == target.bytes, 1)) return {};
  return error(MPI_ERR_TYPE,
               "%s data has %s, target data %lld; allowed are datatypes of the same signature",
               name, count_words(static_cast<uint64_t>(a.bytes), "byte").c_str(),
               static_cast<long long>(target.bytes));
}

/// Computes the offset of displacement `disp`. Checks that the target's memory has all bytes of
/// `side`.
Status locate(const Win* win, const Reach& reach, const RmaOperation& what,
              const TransferSide& side, int64_t* offset) {
  int64_t low = side.type.true_lb();
  int64_t high = low + side.type.true_extent();
  const int64_t rest = side.type.extent() * (side.count - 1);
  (rest < 0 ? low : high) += rest;
  if (side.bytes == 0) low = high = 0;
  FGMPI_TRY(check_range(win, reach, what.rank, what.disp, low, high));
  *offset = what.disp * reach.unit;
  return {};
}

/// Combines `deed` with the bytes of an operand, gaps included. The bytes of long operands
/// are left out.
uint64_t with_operand(uint64_t deed, const void* address, const TransferSide& side) {
  constexpr int64_t kMostCompared = 4096;
  const int64_t rest = side.type.extent() * (side.count - 1);
  const int64_t bytes = side.type.true_extent() + std::abs(rest);
  if (!address || side.bytes == 0 || bytes > kMostCompared) return deed;
  const char* first =
      static_cast<const char*>(address) + side.type.true_lb() + std::min<int64_t>(rest, 0);
  return hash_text({first, static_cast<size_t>(bytes)}, deed);
}

/// How an operation's order to others can be seen, for the decider: fields of MemoryAccess.
struct Deed {
  MemoryAccess::Use use;
  uint64_t operands;  ///< a number for the operation and its operands
  uint32_t detail = 0;
  bool fetches = false;  ///< a result comes back of an operation that changes memory
};

/// Parks until the decider gives this operation its turn. `side`: the target's. May switch.
[[gnu::cold, gnu::noinline]] void await_turn(const Win* win, const Reach& reach,
                                             const RmaOperation& what, const TransferSide& side,
                                             int64_t offset, const Deed& deed) {
  if (side.bytes == 0) return;
  const int64_t rest = side.type.extent() * (side.count - 1);
  MemoryAccess access;
  access.use = deed.use;
  access.detail = deed.detail;
  access.deed = hash_text(what.call, deed.operands);
  access.window = win->shared->id.bits;
  access.target = what.rank;
  access.local = win->comm->peer(what.rank).local;
  access.moved = side.bytes;
  access.fetches = deed.fetches;
  access.offset = offset + side.type.true_lb() + std::min<int64_t>(rest, 0);
  access.bytes = side.type.true_extent() + std::abs(rest);
  if (reach.here && reach.size >= 0) access.memory = reach.here + access.offset;
  const sched::WaitSite site{what.call, nullptr, true};
  g_access_decider->await_access(access, &site);
}

/// The preamble of every operation, after its arguments: opens the target, checks the range, and
/// sets *offset to where the operation begins in the target's memory. FGMPI_RMA_CHECK and the
/// decider learn of the operation here. `side`: the target's; deed(): for the decider. May switch.
template <class F>
Status reach_target(Win* win, const RmaOperation& what, const TransferSide& side, MemoryUse use,
                    F&& deed, Reach** reach, int64_t* offset) {
  FGMPI_TRY(open_target(win, what.rank, what.call, reach));
  FGMPI_TRY(locate(win, **reach, what, side, offset));
  // After a switch another target may be the one in reach.
  if (checking()) {
    FGMPI_TRY(check_operation(win, **reach, what, use, *offset, side.type));
    FGMPI_TRY(open_target(win, what.rank, what.call, reach));
  }
  if (__builtin_expect(g_access_decider != nullptr, 0)) {
    await_turn(win, **reach, what, side, *offset, deed());
    FGMPI_TRY(open_target(win, what.rank, what.call, reach));
  }
  return {};
}

Status finish_at_once(const RmaOperation& what) {
  if (__builtin_expect(what.request != nullptr, 0)) {
    yield_on_repeated_call();
    *what.request = pt2pt::sent_request();
  }
  return {};
}

Status check_request(const Win* win, const RmaOperation& what) {
  if (__builtin_expect(!what.request, 1)) return {};
  const Epoch epoch = win->access ? win->access->epoch : Epoch::kNone;
  if (epoch == Epoch::kLock || epoch == Epoch::kLockAll) return {};
  return error(MPI_ERR_RMA_SYNC,
               "%s is not locked; allowed are request forms after MPI_Win_lock or MPI_Win_lock_all",
               name_of(win).c_str());
}

void count(AccessWay way) { ++g_counters.operations[static_cast<int>(way)]; }

Remote* make_remote(Win* win, const RmaOperation& what, const Reach& reach, RmaMessageKind kind,
                    int64_t offset) {
  auto* op = new Remote;
  op->shared = win->shared;
  op->win = win;
  op->target = what.rank;
  op->process = reach.part->process;
  op->access_key = reach.part->access_key;
  op->header = {};
  op->header.kind = static_cast<uint64_t>(kind);
  op->header.op = static_cast<uint32_t>(what.op);
  op->header.member = reach.member;
  op->header.offset = offset;
  op->call = what.call;
  return op;
}

/// Sets the target's side of a message: bytes in a row, or a layout.
void set_target(Remote* op, const TransferSide& target) {
  if (target.plain()) {
    op->header.count = target.bytes;
    op->header.offset += target.type.true_lb();
    return;
  }
  op->header.count = target.count;
  op->target_layout = layout_of(target.type);
}

/// How many rows of bytes the elements of a side are.
int64_t count_rows(const TransferSide& side) {
  if (side.plain()) return 1;
  TypeCursor at(side.type.tree());
  int64_t count = 0;
  for (int64_t left = side.type.size(); left > 0;) {
    const datatype::TypeRows rows = at.next_rows(left);
    left -= rows.bytes * rows.count;
    count += rows.count;
  }
  return count * side.count;
}

Status launch_with_request(Remote* op, const RmaOperation& what) {
  if (what.request) *what.request = op->request = make_request(what.call);
  launch(op);
  return {};
}

// ---- Put and get --------------------------------------------------------------------------------

void copy(void* to, const void* from, int64_t bytes) {
  if (__builtin_expect(bytes == 8, 1))
    std::memcpy(to, from, 8);
  else
    std::memmove(to, from, static_cast<size_t>(bytes));
}

struct RmaTransfer {
  Win* win;
  const RmaOperation* what;
  Reach* reach;
  TransferSide mine, theirs;
  int64_t offset = 0;
  bool putting;

  /// Moves bytes within this process's address space.
  Status run_in_place() {
    char* there = reach->here + offset;
    if (mine.plain() && theirs.plain()) {
      char* target = there + theirs.type.true_lb();
      putting ? copy(target, mine.data(), mine.bytes) : copy(mine.data(), target, mine.bytes);
      return {};
    }
    if (putting)
      datatype::copy_part(mine.address, mine.type, there, theirs.type, 0, mine.bytes);
    else
      datatype::copy_part(there, theirs.type, mine.address, mine.type, 0, mine.bytes);
    return {};
  }
  Status run_attached() {
    Attached moves(reach->part->object.pid, putting ? Direction::kWrite : Direction::kRead);
    const uint64_t there = static_cast<uint64_t>(reach->base + offset);
    if (mine.plain() && theirs.plain()) {
      moves.add(mine.data(), there + static_cast<uint64_t>(theirs.type.true_lb()), mine.bytes);
      return moves.finish();
    }
    TypeCursor a(mine.type.tree()), b(theirs.type.tree());
    walk(&a, &b, mine.bytes, [&](int64_t x, int64_t y, int64_t n) {
      moves.add(static_cast<char*>(mine.address) + x, there + static_cast<uint64_t>(y), n);
    });
    return moves.finish();
  }
  Status run_by_messages() {
    Remote* op = make_remote(win, *what, *reach,
                             putting ? RmaMessageKind::kPut : RmaMessageKind::kGet, offset);
    op->total = mine.bytes;
    set_target(op, theirs);
    set_mine(op);
    return launch_with_request(op, *what);
  }
  void set_mine(Remote* op) {
    if (putting) {
      op->origin = mine.address;
      op->origin_type = mine.type;
    } else {
      op->result = mine.address;
      op->result_type = mine.type;
    }
  }
  Status run_by_provider(bool* done) {
    *done = worth_accesses(mine.bytes, std::max(count_rows(mine), count_rows(theirs)));
    if (!*done) return {};
    Remote* op = make_remote(win, *what, *reach,
                             putting ? RmaMessageKind::kPut : RmaMessageKind::kGet, offset);
    op->total = mine.bytes;
    set_mine(op);
    if (what->request) *what->request = op->request = make_request(what->call);
    launch_moves(op, static_cast<uint64_t>(reach->base + offset), theirs.type);
    return {};
  }
};

/// Runs an RmaTransfer, Accumulation or SwapIfEqual, which has been checked, by the target's way.
/// `attaches`: by process_vm_*, unless the kernel refuses them.
template <class Kind>
Status run_by_way(Kind* op, bool attaches) {
  if (attaches) {
    Status status = op->run_attached();
    if (status.ok()) {
      count(AccessWay::kAttached);
      return finish_at_once(*op->what);
    }
    if (status.error_class() != MPI_ERR_UNSUPPORTED_OPERATION) return status;
    op->reach->part->no_attach = true;
    *op->reach = reach_of(op->win, op->what->rank);
  }
  const AccessWay way = op->reach->way;
  if (way == AccessWay::kHere || way == AccessWay::kMapped) {
    count(way);
    if (way == AccessWay::kMapped) op->win->access->stores = true;
    FGMPI_TRY(op->run_in_place());
    return finish_at_once(*op->what);
  }
  if (way == AccessWay::kProvider) {
    bool done = false;
    FGMPI_TRY(op->run_by_provider(&done));
    if (done) {
      count(AccessWay::kProvider);
      return {};
    }
  }
  count(AccessWay::kMessages);
  return op->run_by_messages();
}

Status transfer(Win* win, const RmaOperation& what, bool putting) {
  if (what.rank == MPI_PROC_NULL) return finish_at_once(what);
  RmaTransfer t;
  t.win = win;
  t.what = &what;
  t.putting = putting;
  FGMPI_TRY(check_request(win, what));
  FGMPI_TRY(make_side(what.origin, true, "origin", &t.mine));
  FGMPI_TRY(make_side(what.target, false, "target", &t.theirs));
  FGMPI_TRY(check_equal(t.mine, "origin", t.theirs));
  const auto deed = [&]() -> Deed {
    if (!putting) return {MemoryAccess::kRead, 0};
    return {MemoryAccess::kWrite, with_operand(0, what.origin.address, t.mine)};
  };
  FGMPI_TRY(reach_target(win, what, t.theirs, putting ? MemoryUse::kWrite : MemoryUse::kRead, deed,
                         &t.reach, &t.offset));
  if (t.mine.bytes == 0) return finish_at_once(what);
  return run_by_way(&t, t.reach->way == AccessWay::kAttached);
}

}  // namespace

Status check_range(const Win* win, const Reach& reach, int32_t rank, MPI_Aint disp, int64_t low,
                   int64_t high) {
  int64_t offset = 0, first = 0, end = 0;
  const bool dynamic = reach.size < 0;
  const bool fits = !__builtin_mul_overflow(disp, reach.unit, &offset) &&
                    !__builtin_add_overflow(offset, low, &first) &&
                    !__builtin_add_overflow(offset, high, &end);
  if (dynamic) {
    if (reach.way != AccessWay::kHere || low == high ||
        is_attached(*win->shared, reach.member, static_cast<uint64_t>(first),
                    static_cast<uint64_t>(high - low)))
      return {};
    return error(MPI_ERR_RMA_RANGE,
                 "target_disp is 0x%llx at target_rank %d, for %s from 0x%llx on; allowed is "
                 "memory that is attached there (%s)",
                 static_cast<unsigned long long>(disp), rank,
                 count_words(static_cast<uint64_t>(high - low), "byte").c_str(),
                 static_cast<unsigned long long>(first), name_of(win).c_str());
  }
  if (__builtin_expect(fits && disp >= 0 && first >= 0 && end <= reach.size, 1)) return {};
  const auto bytes = [](int64_t n) { return count_words(static_cast<uint64_t>(n), "byte"); };
  const std::string length = bytes(high - low), size = bytes(reach.size);
  if (disp < 0)
    return error(MPI_ERR_DISP,
                 "target_disp is %lld at target_rank %d, for %s; allowed is 0 or more, in a "
                 "window of %s there (%s)",
                 static_cast<long long>(disp), rank, length.c_str(), size.c_str(),
                 name_of(win).c_str());
  return error(MPI_ERR_RMA_RANGE,
               "target_disp is %lld (unit %s) at target_rank %d, for %s: bytes %lld "
               "to %lld; allowed are those of a window of %s there (%s)",
               static_cast<long long>(disp), bytes(reach.unit).c_str(), rank, length.c_str(),
               static_cast<long long>(first), static_cast<long long>(end) - 1, size.c_str(),
               name_of(win).c_str());
}

Status put(Win* win, const RmaOperation& what) { return transfer(win, what, true); }
Status get(Win* win, const RmaOperation& what) { return transfer(win, what, false); }

// ---- Accumulates --------------------------------------------------------------------------------

namespace {

struct Accumulation {
  Win* win;
  const RmaOperation* what;
  Reach* reach;
  TransferSide origin, result, theirs;
  Folding folding;
  int64_t offset = 0;
  int64_t bytes = 0;  ///< bytes of data
  bool fetch = false, sends = true;

  Status prepare() {
    sends = what->op != MPI_NO_OP;
    FGMPI_TRY(make_side(what->target, false, "target", &theirs));
    bytes = theirs.bytes;
    // No element is accessed, so any type is right.
    FGMPI_TRY(bytes == 0 ? check_operation_of_accumulate(what->op, fetch)
                         : make_folding(what->op, theirs.element(), fetch, &folding));
    if (sends) FGMPI_TRY(prepare_mine(what->origin, "origin", &origin));
    if (fetch) FGMPI_TRY(prepare_mine(what->result, "result", &result));
    return {};
  }
  Status prepare_mine(const Elements& elements, const char* name, TransferSide* side) {
    FGMPI_TRY(make_side(elements, true, name, side));
    FGMPI_TRY(check_equal(*side, name, theirs));
    if (bytes == 0 || !folding.has_gap() || side->element() == theirs.element()) return {};
    return error(MPI_ERR_TYPE,
                 "%s datatype is not made of the predefined type that the target's is made of",
                 name);
  }

  /// Calls f(address at the target less its base, bytes of data, operand or nullptr, where the
  /// elements from before go or nullptr) for pieces of elements in a row at the target, with at
  /// most `most` bytes of data each.
  template <class F>
  Status for_pieces(int64_t most, F&& f) {
    alignas(32) char operands[kStaged], before[kStaged];
    const bool packs = sends && !origin.plain(), unpacks = fetch && !result.plain();
    most -= most % folding.size;
    const int64_t longest = packs || unpacks ? kStaged - kStaged % folding.size : bytes;
    TypeCursor at(theirs.type.tree());
    for (int64_t first = 0; first < bytes; first += longest) {
      const int64_t length = std::min(longest, bytes - first);
      if (packs) datatype::pack_part(origin.address, origin.type, first, length, operands);
      const char* in = packs ? operands : sends ? origin.data() + first : nullptr;
      char* out = unpacks ? before : fetch ? result.data() + first : nullptr;
      for (int64_t done = 0; done < length;) {
        TypeRun run;
        FGMPI_CHECK(next_elements(folding, &at, std::min(most, length - done), &run));
        FGMPI_TRY(f(offset + run.offset, run.bytes, in ? in + done : nullptr,
                    out ? out + done : nullptr));
        done += run.bytes;
      }
      if (unpacks) datatype::unpack_part(before, length, result.address, result.type, first);
    }
    return {};
  }

  /// True where no other rank may access the target meanwhile.
  bool excludes_others() const {
    const MemberEpochs& a = *win->access;
    if (a.epoch != Epoch::kLock) return false;
    auto found = a.targets.find(what->rank);
    return found != a.targets.end() && found->second.lock == LockKind::kExclusive;
  }
  Status run_in_place() {
    WindowPart& part = *reach->part;
    const bool one_lock = part.locked;
    const bool alone = part.alone || (bytes > kAtOnce && excludes_others());
    return for_pieces(kMostUnderLock, [&](int64_t at, int64_t n, const char* in, char* out) {
      std::unique_lock<SpinLock> guard;
      if (one_lock) guard = std::unique_lock<SpinLock>(part.control->all());
      fold(folding, reach->here + at, in, out, n, part.control.get(),
           static_cast<uint64_t>(reach->base + at), one_lock || alone);
      return Status();
    });
  }

  /// Folds under the lock that all ranks use for this memory. The target does nothing.
  Status run_attached() {
    WindowPart& part = *reach->part;
    static char* copy = static_cast<char*>(aligned_alloc(64, kMostUnderLock));
    const int64_t most = kMostUnderLock / folding.stride * folding.size;
    return for_pieces(most, [&](int64_t at, int64_t n, const char* in, char* out) {
      const auto there = static_cast<uint64_t>(reach->base + at);
      std::lock_guard<SpinLock> guard(part.control->all());
      Attached reading(part.object.pid, Direction::kRead);
      reading.add(copy, there, folding.span(n));
      FGMPI_TRY(reading.finish());
      fold(folding, copy, in, out, n, nullptr, 0, true);
      return in ? write_back(copy, there, n) : Status();
    });
  }
  /// Writes back elements in a row at `there`, but not the bytes in their gaps.
  Status write_back(char* copy, uint64_t there, int64_t n) {
    Attached writing(reach->part->object.pid, Direction::kWrite);
    if (!folding.has_gap()) writing.add(copy, there, n);
    for (int64_t i = 0, end = folding.has_gap() ? n / folding.size : 0; i < end; ++i) {
      const int64_t value = i * folding.stride, index = value + folding.index_at;
      writing.add(copy + value, there + static_cast<uint64_t>(value), folding.head);
      writing.add(copy + index, there + static_cast<uint64_t>(index), folding.index_bytes());
    }
    return writing.finish();
  }

  /// Folds by the provider, where each side is a row of elements.
  Status run_by_provider(bool* done) {
    transport::Access access;
    *done = theirs.plain() && (!sends || origin.plain()) && (!fetch || result.plain()) &&
            find_atomic(*reach, folding, fetch, &access);
    if (!*done) return {};
    Remote* op = make_remote(win, *what, *reach, RmaMessageKind::kAccumulate, offset);
    op->total = bytes;
    access.remote = static_cast<uint64_t>(reach->base + offset + theirs.type.true_lb());
    if (sends) access.source = origin.data();
    if (fetch) access.result = result.data();
    if (what->request) *what->request = op->request = make_request(what->call);
    in_turn(win, what->rank, true, what->call);
    launch_atomic(op, access);
    return {};
  }

  Status run_by_messages() {
    const bool mixed = reach->way == AccessWay::kProvider;
    Remote* op =
        make_remote(win, *what, *reach,
                    fetch ? RmaMessageKind::kGetAccumulate : RmaMessageKind::kAccumulate, offset);
    op->folds = true;
    op->header.type = folding.type.handle();
    op->total = bytes;
    op->unit = folding.size;
    set_target(op, theirs);
    if (sends) {
      op->origin = origin.address;
      op->origin_type = origin.type;
    }
    if (fetch) {
      op->result = result.address;
      op->result_type = result.type;
    }
    if (mixed) in_turn(win, what->rank, false, what->call);
    return launch_with_request(op, *what);
  }

  static constexpr int64_t kStaged = 4096;
  /// For so many bytes a fold costs less than finding out whether the target's lock is exclusive.
  static constexpr int64_t kAtOnce = 64;
};

/// Operations of one kind on integers can be exchanged, unless they fetch.
Deed deed_of(const Accumulation& a) {
  const auto number = static_cast<uint64_t>(a.folding.op);
  if (!a.sends) return {MemoryAccess::kRead, number};
  const uint64_t operands = with_operand(number, a.what->origin.address, a.origin);
  const datatype::BasicType* element = datatype::basic_type(a.folding.type.handle());
  const MPI_Op op = a.folding.op;
  const bool rounds = (op == MPI_SUM || op == MPI_PROD) &&
                      !(element && element->kind != datatype::BasicKind::kFloat &&
                        element->kind != datatype::BasicKind::kComplex);
  if (a.fetch || op == MPI_REPLACE || rounds) return {MemoryAccess::kWrite, operands, 0, a.fetch};
  return {MemoryAccess::kFold, operands,
          static_cast<uint32_t>(op) << 8 ^ static_cast<uint32_t>(a.folding.type.handle())};
}

bool attaches(const Reach& reach) {
  return reach.way == AccessWay::kAttached && reach.part->locked && reach.part->control;
}

}  // namespace

Status accumulate(Win* win, const RmaOperation& what, bool fetch) {
  if (what.rank == MPI_PROC_NULL) return finish_at_once(what);
  Accumulation a;
  a.win = win;
  a.what = &what;
  a.fetch = fetch;
  FGMPI_TRY(check_request(win, what));
  FGMPI_TRY(a.prepare());
  FGMPI_TRY(reach_target(
      win, what, a.theirs, MemoryUse::kAccumulate, [&] { return deed_of(a); }, &a.reach,
      &a.offset));
  if (a.bytes == 0) return finish_at_once(what);
  return run_by_way(&a, attaches(*a.reach));
}

// ---- Compare-and-swap ---------------------------------------------------------------------------

namespace {

struct SwapIfEqual {
  Win* win;
  const RmaOperation* what;
  Reach* reach;
  const void *origin, *compare;
  void* result;
  const TransferSide* theirs;
  int64_t offset;

  uint64_t remote() const { return static_cast<uint64_t>(reach->base + offset); }

  Status run_in_place() {
    WindowPart& part = *reach->part;
    std::unique_lock<SpinLock> guard;
    if (part.locked) guard = std::unique_lock<SpinLock>(part.control->all());
    swap_if_equal(reach->here + offset, compare, origin, result, theirs->bytes, part.control.get(),
                  remote(), part.locked || part.alone);
    return {};
  }
  Status run_attached() {
    WindowPart& part = *reach->part;
    alignas(8) char copy[8];
    std::lock_guard<SpinLock> guard(part.control->all());
    Attached reading(part.object.pid, Direction::kRead);
    reading.add(copy, remote(), theirs->bytes);
    FGMPI_TRY(reading.finish());
    swap_if_equal(copy, compare, origin, result, theirs->bytes, nullptr, remote(), true);
    Attached writing(part.object.pid, Direction::kWrite);
    writing.add(copy, remote(), theirs->bytes);
    return writing.finish();
  }
  Status run_by_provider(bool* done) {
    transport::Access access;
    *done = find_swap(*reach, theirs->type, &access);
    if (!*done) return {};
    access.remote = remote();
    access.source = origin;
    access.compare = compare;
    access.result = result;
    Remote* op = make_swap();
    in_turn(win, what->rank, true, what->call);
    launch_atomic(op, access);
    return {};
  }
  Status run_by_messages() {
    Remote* op = make_swap();
    op->folds = true;
    op->result = result;
    std::memcpy(op->inline_data, origin, static_cast<size_t>(theirs->bytes));
    std::memcpy(op->inline_data + theirs->bytes, compare, static_cast<size_t>(theirs->bytes));
    if (reach->way == AccessWay::kProvider) in_turn(win, what->rank, false, what->call);
    launch(op);
    return {};
  }
  Remote* make_swap() const {
    Remote* op = make_remote(win, *what, *reach, RmaMessageKind::kCompareAndSwap, offset);
    op->total = op->header.count = op->unit = theirs->bytes;
    return op;
  }
};

}  // namespace

Status compare_and_swap(Win* win, const void* origin, const void* compare, void* result,
                        MPI_Datatype type, int32_t rank, MPI_Aint disp) {
  if (rank == MPI_PROC_NULL) return {};
  RmaOperation what;
  what.target = {nullptr, 1, type};
  what.rank = rank;
  what.disp = disp;
  what.call = "MPI_Compare_and_swap";
  if (checking()) {
    what.origin = {origin, 1, type};
    what.result = {result, 1, type};
  }
  TransferSide theirs;
  FGMPI_TRY(make_side(what.target, false, "target", &theirs));
  FGMPI_TRY(check_swappable(theirs.type));
  if (!origin || !compare || !result)
    return error(MPI_ERR_BUFFER,
                 "origin_addr, compare_addr or result_addr is a null pointer; allowed is the "
                 "address of an element");
  const auto deed = [&]() -> Deed {
    const uint64_t operand = with_operand(0, origin, theirs);
    return {MemoryAccess::kWrite, with_operand(operand, compare, theirs), 0, true};
  };
  Reach* reach;
  int64_t offset;
  FGMPI_TRY(reach_target(win, what, theirs, MemoryUse::kSwap, deed, &reach, &offset));
  SwapIfEqual swap{win, &what, reach, origin, compare, result, &theirs, offset};
  return run_by_way(&swap, attaches(*reach));
}

}  // namespace fgmpi::rma
