// Queues of the provider's reads, writes and atomics, and their completion.

#include "rma/provider.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/settings.h"
#include "datatype/basic_type.h"
#include "pt2pt/engine.h"
#include "rma/internal.h"

namespace fgmpi::rma {
namespace {

using transport::AtomicOp;
using transport::AtomicType;
using Kind = transport::Access::Kind;

enum class NetworkSetting { kAuto, kProvider, kMessages };
static_assert(settings::has_choices(settings::kRmaNetwork, "auto|provider|messages"));

/// The most accesses to a process that are under way at once: as many as keep the network busy.
constexpr uint32_t kMostAccesses = 64;
/// For pieces of fewer bytes, one frame for all of them is less work than an access each.
constexpr int64_t kLeastPiece = 512;
/// The least bytes of a piece where the peer's processor serves accesses. Many small accesses at
/// once cost 5 us each over sockets, messages 2 us. For 512 KiB, messages copy 2.1 GB/s, accesses
/// 5 GB/s, because arriving data is read directly into its memory.
constexpr int64_t kLeastServed = 256 << 10;
int64_t g_least_piece = kLeastPiece;

/// The transport that reaches granted memory, and what it reaches it by; or nullptr.
transport::FrameCarrier* g_transport = nullptr;
transport::GrantedMemory* g_memory = nullptr;

/// An operation, and how far it has come.
struct Moves {
  Remote* op;
  transport::Access next;  ///< for an atomic: its remaining access
  datatype::Type target_type;
  std::optional<TypeCursor> target, local;  ///< for a put or get
  char* memory = nullptr;                   ///< the local side's
  uint64_t remote = 0;
  uint32_t in_flight = 0;
  bool atomic = false;
  size_t most = 0;         ///< bytes of an atomic access
  Moves* after = nullptr;  ///< in the queue
  /// For an atomic: the member's next one at the target, which begins when this one is complete.
  Moves* later = nullptr;
};

/// Operations to one process, of which accesses are still to be begun.
struct Queue {
  Moves *first = nullptr, *last = nullptr;
  uint32_t in_flight = 0;
};
Queue& queue_to(uint32_t process) {
  static auto* all = new std::deque<Queue>;
  if (process >= all->size()) all->resize(process + 1);
  return (*all)[process];
}
/// The last atomic of a member at a target, while it is not complete: atomics of one member must
/// not pass each other.
std::map<std::pair<const Win*, int32_t>, Moves*>& last_atomics() {
  static auto* all = new std::map<std::pair<const Win*, int32_t>, Moves*>;
  return *all;
}
pt2pt::Cookies<Moves>& moves() {
  static auto* all = new pt2pt::Cookies<Moves>;
  return *all;
}

/// The next access of an operation that has bytes left.
transport::Access next_access(Moves* m) {
  Remote* op = m->op;
  transport::Access access = m->next;
  if (m->atomic) {
    access.length = std::min(m->most, static_cast<size_t>(op->total - op->sent));
    m->next.remote += access.length;
    if (m->next.source) m->next.source = static_cast<const char*>(m->next.source) + access.length;
    if (m->next.result) m->next.result = static_cast<char*>(m->next.result) + access.length;
  } else {
    // The access has the length of the shorter of the two runs; both cursors move behind it.
    const int64_t left = op->total - op->sent;
    const int64_t n = std::min(m->target->peek(left).bytes, m->local->peek(left).bytes);
    access.remote = m->remote + static_cast<uint64_t>(m->target->next(n).offset);
    char* at = m->memory + m->local->next(n).offset;
    if (access.kind == Kind::kWrite)
      access.source = at;
    else
      access.result = at;
    access.length = static_cast<size_t>(n);
  }
  op->sent += static_cast<int64_t>(access.length);
  return access;
}

void pump_provider(uint32_t process) {
  Queue& queue = queue_to(process);
  while (Moves* m = queue.first) {
    if (queue.in_flight >= kMostAccesses) return;
    const transport::Access access = next_access(m);
    ++queue.in_flight;
    ++m->in_flight;
    if (m->op->sent == m->op->total) queue.first = m->after;
    pt2pt::g_engine.begin_access(g_memory, process, access);
  }
}

void enqueue(Moves* m) {
  Queue& queue = queue_to(m->op->process);
  (queue.first ? queue.last->after : queue.first) = m;
  queue.last = m;
}

void begin_later(Moves* m) {
  if (m->later)
    enqueue(m->later);
  else
    last_atomics().erase({m->op->win, m->op->target});
}

void on_accessed(uint64_t cookie, Status status) {
  Moves* m = moves().get(cookie);
  FGMPI_CHECK(m != nullptr);
  Remote* op = m->op;
  const uint32_t process = op->process;
  Queue& queue = queue_to(process);
  --queue.in_flight;
  --m->in_flight;
  MemberEpochs& access = *op->win->access;
  if (!status.ok() && access.failure.ok()) access.failure = std::move(status);
  if (m->in_flight == 0 && op->sent == op->total) {
    moves().take(cookie);
    if (m->atomic) begin_later(m);
    delete m;
    finish_remote(op);
  }
  pump_provider(process);
}

void launch(Moves* m) {
  const uint32_t process = m->op->process;
  m->next.cookie = moves().put(m);
  begin_remote(m->op);
  if (m->atomic) {
    Moves*& last = last_atomics()[{m->op->win, m->op->target}];
    Moves* before = std::exchange(last, m);
    if (before) {
      before->later = m;
      return;
    }
  }
  enqueue(m);
  pump_provider(process);
}

/// Types that providers support (no reals of 2 bytes), by the low byte of their handles.
constexpr auto kTypes = [] {
  using datatype::PairOf;
  std::array<int8_t, 256> types{};
  types.fill(-1);
  auto of = [](bool floats, bool with_sign, size_t bytes) -> int8_t {
    if (floats) return static_cast<int8_t>(bytes == 4 ? AtomicType::kFloat : AtomicType::kDouble);
    const int exponent = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
    return static_cast<int8_t>(2 * exponent + !with_sign);
  };
#define FGMPI_BASIC_TYPE(name, kind, ctype)                                           \
  if ((datatype::BasicKind::kind == datatype::BasicKind::kInteger ||                  \
       datatype::BasicKind::kind == datatype::BasicKind::kBytes ||                    \
       datatype::BasicKind::kind == datatype::BasicKind::kFloat) &&                   \
      sizeof(ctype) <= 8 && !std::is_class_v<ctype>)                                  \
    types[name & 0xff] = of(datatype::BasicKind::kind == datatype::BasicKind::kFloat, \
                            std::is_signed_v<ctype>, sizeof(ctype));
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
  return types;
}();

std::optional<AtomicType> type_of(const datatype::Type& type) {
  if (!datatype::is_basic(datatype::values_of(type))) return {};
  const int8_t found = kTypes[static_cast<uint32_t>(datatype::values_of(type)) & 0xff];
  if (found < 0) return {};
  return static_cast<AtomicType>(found);
}

std::optional<AtomicOp> op_of(MPI_Op op) {
  constexpr std::pair<MPI_Op, AtomicOp> kOps[] = {
      {MPI_SUM, AtomicOp::kSum},         {MPI_PROD, AtomicOp::kProduct},
      {MPI_MIN, AtomicOp::kMin},         {MPI_MAX, AtomicOp::kMax},
      {MPI_LAND, AtomicOp::kLogicalAnd}, {MPI_LOR, AtomicOp::kLogicalOr},
      {MPI_LXOR, AtomicOp::kLogicalXor}, {MPI_BAND, AtomicOp::kBitAnd},
      {MPI_BOR, AtomicOp::kBitOr},       {MPI_BXOR, AtomicOp::kBitXor},
      {MPI_REPLACE, AtomicOp::kReplace}, {MPI_NO_OP, AtomicOp::kNothing}};
  for (const auto& [mine, theirs] : kOps)
    if (mine == op) return theirs;
  return {};
}

bool has_atomic(const Reach& reach, transport::Access* out) {
  if (reach.way != AccessWay::kProvider || !reach.part->alone) return false;
  out->key = reach.part->access_key;
  return g_memory->most_atomic(out->kind, out->op, out->type) > 0;
}

}  // namespace

uint64_t grant_access() {
  const auto wanted = settings::choice<NetworkSetting>(settings::kRmaNetwork);
  if (wanted == NetworkSetting::kMessages) return 0;
  pt2pt::g_engine.set_access_handler(on_accessed);
  for (int bit : {0, 1}) {
    transport::FrameCarrier* t = pt2pt::g_engine.transports.with_bit(bit);
    transport::GrantedMemory* memory = t ? t->granted_memory() : nullptr;
    if (!memory) continue;
    if (const uint64_t key = memory->grant_access()) {
      g_transport = t;
      g_memory = memory;
      if (wanted == NetworkSetting::kAuto && !memory->access_pays()) g_least_piece = kLeastServed;
      return key;
    }
  }
  return 0;
}

void withdraw_access() { g_memory->withdraw_access(); }

bool can_access(uint32_t process) {
  return g_transport && pt2pt::g_engine.transports.to(process) == g_transport;
}

bool worth_accesses(int64_t bytes, int64_t pieces) {
  if (pieces <= 1 && g_least_piece == kLeastPiece) return true;
  return bytes / pieces >= g_least_piece;
}

void launch_moves(Remote* op, uint64_t remote, const datatype::Type& target) {
  auto* m = new Moves;
  m->op = op;
  const bool putting = op->origin_type.has_value();
  m->next.kind = putting ? Kind::kWrite : Kind::kRead;
  m->next.key = op->access_key;
  m->target_type = target;
  m->target.emplace(m->target_type.tree());
  m->local.emplace((putting ? op->origin_type : op->result_type)->tree());
  m->memory =
      putting ? static_cast<char*>(const_cast<void*>(op->origin)) : static_cast<char*>(op->result);
  m->remote = remote;
  launch(m);
}

bool find_atomic(const Reach& reach, const Folding& folding, bool fetch, transport::Access* out) {
  const auto type = type_of(folding.type);
  const auto op = op_of(folding.op);
  if (!type || !op) return false;
  out->kind = fetch ? Kind::kFetch : Kind::kAtomic;
  out->op = *op;
  out->type = *type;
  return has_atomic(reach, out);
}

bool find_swap(const Reach& reach, const datatype::Type& type, transport::Access* out) {
  const auto found = type_of(type);
  if (!found) return false;
  out->kind = Kind::kSwap;
  out->op = AtomicOp::kSwapIfEqual;
  out->type = *found;
  return has_atomic(reach, out);
}

void launch_atomic(Remote* op, const transport::Access& what) {
  auto* m = new Moves;
  m->op = op;
  m->next = what;
  m->atomic = op->atomics = true;
  m->most = g_memory->most_atomic(what.kind, what.op, what.type);
  launch(m);
}

void in_turn(Win* win, int32_t rank, bool by_provider, const char* call) {
  MemberEpochs& access = access_of(win);
  auto found = access.targets.find(rank);
  if (found == access.targets.end()) return;
  const Target& target = found->second;
  wait_for_accumulates(win, rank, by_provider ? &target.folds : &target.atomics, call);
}

}  // namespace fgmpi::rma
