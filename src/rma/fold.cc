// Folds elements atomically: by locked instructions, by blocks, or under a lock.

#include "rma/fold.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/processor.h"
#include "datatype/basic_type.h"
#include "datatype/op.h"
#include "datatype/value_index.h"

namespace fgmpi::rma {
namespace {

/// Unsigned words of an element's size.
template <size_t kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = uint8_t;
};
template <>
struct WordOf<2> {
  using type = uint16_t;
};
template <>
struct WordOf<4> {
  using type = uint32_t;
};
template <>
struct WordOf<8> {
  using type = uint64_t;
};

/// True where the processor can change an element at this address atomically.
bool is_atomic(const void* at, int64_t element) {
  return element <= 8 && !(element & (element - 1)) &&
         reinterpret_cast<uintptr_t>(at) % static_cast<uintptr_t>(element) == 0;
}

/// Combines one element. REQUIRES: the element has no gap.
void combine(const Folding& f, const void* source, void* target) {
  if (f.reduce)
    f.reduce(source, target, 1);
  else if (f.op == MPI_REPLACE)
    std::memcpy(target, source, static_cast<size_t>(f.size));
}

/// Copies a pair whose value and index lie apart to one without a gap.
void close_gap(const Folding& f, const char* pair, char* packed) {
  std::memcpy(packed, pair, static_cast<size_t>(f.head));
  std::memcpy(packed + f.head, pair + f.index_at, static_cast<size_t>(f.index_bytes()));
}
void open_gap(const Folding& f, const char* packed, char* pair) {
  std::memcpy(pair, packed, static_cast<size_t>(f.head));
  std::memcpy(pair + f.index_at, packed + f.head, static_cast<size_t>(f.index_bytes()));
}

/// Folds one pair with a gap. `old` may be nullptr, `source` too for MPI_NO_OP.
void fold_pair(const Folding& f, char* target, const char* source, char* old) {
  if (old) close_gap(f, target, old);
  if (f.op == MPI_NO_OP) return;
  if (!f.reduce) return open_gap(f, source, target);
  alignas(16) char operand[32];
  open_gap(f, source, operand);
  f.reduce(operand, target, 1);
}

/// Folds pairs with a gap in a row, not atomically. `bytes`: bytes of data.
void fold_pairs(const Folding& f, char* target, const char* source, char* old, int64_t bytes) {
  for (int64_t i = 0, place = 0; i < bytes; i += f.size, place += f.stride)
    fold_pair(f, target + place, source ? source + i : nullptr, old ? old + i : nullptr);
}

/// Applies the processor's own operation, where it has one.
template <class W>
bool by_processor(MPI_Op op, bool integer, W* at, W value, W* old) {
  switch (op) {
    case MPI_REPLACE:
      *old = __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
      return true;
    case MPI_NO_OP:
      *old = __atomic_load_n(at, __ATOMIC_ACQUIRE);
      return true;
    case MPI_SUM:
      if (!integer) return false;
      *old = __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
      return true;
    case MPI_BAND:
      *old = __atomic_fetch_and(at, value, __ATOMIC_ACQ_REL);
      return true;
    case MPI_BOR:
      *old = __atomic_fetch_or(at, value, __ATOMIC_ACQ_REL);
      return true;
    case MPI_BXOR:
      *old = __atomic_fetch_xor(at, value, __ATOMIC_ACQ_REL);
      return true;
    default:
      return false;
  }
}

/// True where sums of the type are those of integers.
bool is_integer(const datatype::Type& type) {
  const datatype::BasicType* basic = datatype::basic_type(type.handle());
  return basic && basic->kind != datatype::BasicKind::kFloat &&
         basic->kind != datatype::BasicKind::kComplex && basic->kind != datatype::BasicKind::kPair;
}

/// Sums floating-point words of a type of the same width: the processor has no atomic operation for
/// them.
template <class W, class Float>
void add_each(char* target, const char* source, char* old, int64_t bytes) {
  static_assert(sizeof(W) == sizeof(Float));
  for (int64_t i = 0; i < bytes; i += static_cast<int64_t>(sizeof(W))) {
    W* at = reinterpret_cast<W*>(target + i);
    Float value, sum;
    std::memcpy(&value, source + i, sizeof value);
    W before = __atomic_load_n(at, __ATOMIC_RELAXED), after;
    do {
      std::memcpy(&sum, &before, sizeof sum);
      sum += value;
      std::memcpy(&after, &sum, sizeof after);
    } while (
        !__atomic_compare_exchange_n(at, &before, after, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    if (old) std::memcpy(old + i, &before, sizeof before);
  }
}

template <class W>
void fold_each(const Folding& f, char* target, const char* source, char* old, int64_t bytes) {
  if constexpr (sizeof(W) == 8)
    if (f.op == MPI_SUM && f.type.handle() == MPI_DOUBLE)
      return add_each<W, double>(target, source, old, bytes);
  if constexpr (sizeof(W) == 4)
    if (f.op == MPI_SUM && f.type.handle() == MPI_FLOAT)
      return add_each<W, float>(target, source, old, bytes);
  const bool integer = is_integer(f.type);
  for (int64_t i = 0; i < bytes; i += static_cast<int64_t>(sizeof(W))) {
    W* at = reinterpret_cast<W*>(target + i);
    W value = 0, before;
    if (source) std::memcpy(&value, source + i, sizeof value);
    if (!by_processor(f.op, integer, at, value, &before)) {
      before = __atomic_load_n(at, __ATOMIC_RELAXED);
      W after;
      do {
        after = before;
        combine(f, &value, &after);
      } while (!__atomic_compare_exchange_n(at, &before, after, true, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED));
    }
    if (old) std::memcpy(old + i, &before, sizeof before);
  }
}

// ---- Many elements ------------------------------------------------------------------------------
// An atomic change costs the same for 16 bytes as for one element, so elements in a row are folded
// a block at once. Every element of a block is changed at the same moment, which is more
// than is promised; an instruction on a single element and one on its block exclude each other, as
// the processor owns the line meanwhile.

using processor::AtomicBlock;
constexpr int64_t kBlock = sizeof(AtomicBlock);
/// Bytes that are computed before they are exchanged: enough for vector instructions, and few to
/// compute again.
constexpr int64_t kChunk = 1024;

/// Stores each word at once. REQUIRES: `to` and `bytes` are multiples of 16.
void store_blocks(char* to, const char* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kBlock) processor::store_block(to + i, from + i);
}

void load_blocks(char* to, const char* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kBlock) processor::load_block(to + i, from + i);
}

/// Computes a chunk from the present elements and exchanges its blocks; a block that has changed
/// meanwhile is computed again.
void fold_chunk(const Folding& f, char* target, const char* source, char* old, int64_t bytes) {
  alignas(64) char operand[kChunk], before[kChunk], after[kChunk];
  std::memcpy(operand, source, static_cast<size_t>(bytes));
  load_blocks(before, target, bytes);
  std::memcpy(after, before, static_cast<size_t>(bytes));
  fold_alone(f, after, operand, bytes);
  for (int64_t i = 0; i < bytes; i += kBlock) {
    AtomicBlock* seen = reinterpret_cast<AtomicBlock*>(before + i);
    AtomicBlock* made = reinterpret_cast<AtomicBlock*>(after + i);
    // A block that stays unchanged has been read: its elements were folded at that moment.
    if (!std::memcmp(seen, made, sizeof *seen)) continue;
    while (!processor::exchange_block(reinterpret_cast<AtomicBlock*>(target + i), seen, *made)) {
      *made = *seen;
      fold_alone(f, made, operand + i, kBlock);
    }
  }
  if (old) std::memcpy(old, before, static_cast<size_t>(bytes));
}

/// Folds blocks. REQUIRES: `target` and `bytes` are multiples of 16.
void fold_blocks(const Folding& f, char* target, const char* source, char* old, int64_t bytes) {
  if (f.op == MPI_NO_OP) {
    if (old) load_blocks(old, target, bytes);
    return;
  }
  if (f.op == MPI_REPLACE && !old) return store_blocks(target, source, bytes);
  for (int64_t i = 0; i < bytes; i += kChunk)
    fold_chunk(f, target + i, source + i, old ? old + i : nullptr, std::min(kChunk, bytes - i));
}

template <class W>
void fold_words(const Folding& f, char* target, const char* source, char* old, int64_t bytes) {
  constexpr int64_t kLeast = 4 * kBlock;  // below, a chunk's preparation costs more than it saves
  if (bytes < kLeast || !processor::has_block_exchange())
    return fold_each<W>(f, target, source, old, bytes);
  const auto head =
      static_cast<int64_t>(-reinterpret_cast<uintptr_t>(target) % static_cast<uintptr_t>(kBlock));
  const int64_t body = (bytes - head) / kBlock * kBlock, tail = bytes - head - body;
  auto part = [](auto* at, int64_t offset) { return at ? at + offset : nullptr; };
  fold_each<W>(f, target, source, old, head);
  fold_blocks(f, target + head, part(source, head), part(old, head), body);
  fold_each<W>(f, target + head + body, part(source, head + body), part(old, head + body), tail);
}

}  // namespace

Status check_operation_of_accumulate(MPI_Op op, bool fetching) {
  if (op == MPI_NO_OP && !fetching)
    return error(MPI_ERR_OP, "op is MPI_NO_OP; allowed is that where the target's data is fetched");
  if (datatype::is_predefined(op)) return {};
  return error(MPI_ERR_OP, "op 0x%08x is not predefined; allowed are predefined operations",
               static_cast<unsigned>(op));
}

Status make_folding(MPI_Op op, MPI_Datatype element, bool fetching, Folding* out) {
  if (element == MPI_DATATYPE_NULL)
    return error(
        MPI_ERR_TYPE,
        "the target datatype is made of several predefined types; allowed are those made of "
        "one");
  FGMPI_TRY(datatype::Type::of(element, &out->type));
  FGMPI_TRY(check_operation_of_accumulate(op, fetching));
  out->reduce = nullptr;
  if (op != MPI_REPLACE && op != MPI_NO_OP)
    FGMPI_TRY(datatype::find_accumulate(op, out->type, &out->reduce));
  out->op = op;
  out->size = out->head = out->type.size();
  out->stride = out->type.extent();
  if (out->has_gap()) {
    const int64_t index = datatype::is_value_index(element)
                              ? datatype::basic_size(datatype::index_of_pair(element))
                              : static_cast<int64_t>(sizeof(int));
    out->head = out->size - index;
    out->index_at = out->type.true_extent() - index;
  }
  return {};
}

bool next_elements(const Folding& f, TypeCursor* at, int64_t most, TypeRun* out) {
  if (!f.has_gap()) {
    *out = at->next(most);
    return out->bytes % f.size == 0;
  }
  const auto next_pair = [&](int64_t* offset) {
    const TypeRun value = at->next(f.head), index = at->next(f.index_bytes());
    *offset = value.offset;
    return value.bytes == f.head && index.bytes == f.index_bytes() &&
           index.offset - value.offset == f.index_at;
  };
  if (most < f.size || !next_pair(&out->offset)) return false;
  for (out->bytes = f.size; out->bytes < most; out->bytes += f.size) {
    const int64_t follows = out->offset + out->bytes / f.size * f.stride;
    if (at->peek(1).offset != follows) break;
    int64_t offset;
    if (!next_pair(&offset)) return false;
  }
  return true;
}

void fold_alone(const Folding& f, void* target, const void* source, int64_t bytes) {
  if (f.op == MPI_NO_OP) return;
  if (f.has_gap())
    return fold_pairs(f, static_cast<char*>(target), static_cast<const char*>(source), nullptr,
                      bytes);
  const auto word = static_cast<uintptr_t>(std::min<int64_t>(f.size, 8));
  const bool aligned =
      (reinterpret_cast<uintptr_t>(target) | reinterpret_cast<uintptr_t>(source)) % word == 0;
  if (!f.reduce)
    std::memmove(target, source, static_cast<size_t>(bytes));
  else if (aligned)
    f.reduce(source, target, bytes / f.size);
  else
    for (int64_t i = 0; i < bytes; i += f.size)
      combine(f, static_cast<const char*>(source) + i, static_cast<char*>(target) + i);
}

void fold(const Folding& f, void* target, const void* source, void* old, int64_t bytes,
          Control* control, uint64_t address, bool one_lock) {
  auto* to = static_cast<char*>(target);
  auto* from = static_cast<const char*>(source);
  auto* before = static_cast<char*>(old);
  if (one_lock) {
    if (f.has_gap()) return fold_pairs(f, to, from, before, bytes);
    if (old) std::memcpy(old, target, static_cast<size_t>(bytes));
    return fold_alone(f, target, source, bytes);
  }
  if (!f.has_gap() && is_atomic(target, f.size)) {
    switch (f.size) {
      case 1:
        return fold_words<uint8_t>(f, to, from, before, bytes);
      case 2:
        return fold_words<uint16_t>(f, to, from, before, bytes);
      case 4:
        return fold_words<uint32_t>(f, to, from, before, bytes);
      default:
        return fold_words<uint64_t>(f, to, from, before, bytes);
    }
  }
  for (int64_t i = 0, place = 0; i < bytes; i += f.size, place += f.stride) {
    std::lock_guard<SpinLock> guard(control->stripe(address + static_cast<uint64_t>(place)));
    if (f.has_gap()) {
      fold_pair(f, to + place, from ? from + i : nullptr, before ? before + i : nullptr);
      continue;
    }
    if (old) std::memcpy(before + i, to + i, static_cast<size_t>(f.size));
    if (f.op != MPI_NO_OP) combine(f, from + i, to + i);
  }
}

namespace {

template <class W>
void swap_word(void* target, const void* expected, const void* desired, void* old) {
  W e, d;
  std::memcpy(&e, expected, sizeof e);
  std::memcpy(&d, desired, sizeof d);
  __atomic_compare_exchange_n(static_cast<W*>(target), &e, d, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  std::memcpy(old, &e, sizeof e);  // what was there, in either case
}

void swap_plain(void* target, const void* expected, const void* desired, void* old, size_t bytes) {
  char before[16];
  std::memcpy(before, target, bytes);
  if (std::memcmp(before, expected, bytes) == 0) std::memcpy(target, desired, bytes);
  std::memcpy(old, before, bytes);
}

}  // namespace

void swap_if_equal(void* target, const void* expected, const void* desired, void* old,
                   int64_t bytes, Control* control, uint64_t address, bool one_lock) {
  if (one_lock) return swap_plain(target, expected, desired, old, static_cast<size_t>(bytes));
  if (!is_atomic(target, bytes)) {
    std::lock_guard<SpinLock> guard(control->stripe(address));
    return swap_plain(target, expected, desired, old, static_cast<size_t>(bytes));
  }
  switch (bytes) {
    case 1:
      return swap_word<uint8_t>(target, expected, desired, old);
    case 2:
      return swap_word<uint16_t>(target, expected, desired, old);
    case 4:
      return swap_word<uint32_t>(target, expected, desired, old);
    default:
      return swap_word<uint64_t>(target, expected, desired, old);
  }
}

Status check_swappable(const datatype::Type& type) {
  const datatype::BasicType* basic = datatype::basic_type(datatype::values_of(type));
  const bool good =
      basic && type.size() <= 8 &&
      (basic->kind == datatype::BasicKind::kInteger ||
       basic->kind == datatype::BasicKind::kLogical || basic->kind == datatype::BasicKind::kBytes);
  if (good) return {};
  return error(MPI_ERR_TYPE,
               "datatype is %s; allowed are integers and logicals of at most 8 bytes, and MPI_BYTE",
               basic ? basic->name : "a derived datatype");
}

}  // namespace fgmpi::rma
