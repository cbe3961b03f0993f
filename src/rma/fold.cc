#include "rma/fold.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "host/basic_type.h"
#include "host/op.h"

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

/// May an element at this address be changed by the processor at once?
bool is_atomic(const void* at, int64_t element) {
  return element <= 8 && !(element & (element - 1)) &&
         reinterpret_cast<uintptr_t>(at) % static_cast<uintptr_t>(element) == 0;
}

void combine(const Folding& f, const void* source, void* target) {
  if (f.op == MPI_NO_OP) return;
  if (f.op == MPI_REPLACE)
    std::memcpy(target, source, static_cast<size_t>(f.type.size()));
  else
    (void)host::reduce_local(source, target, 1, f.type, f.op);  // checked by make_folding()
}

/// The processor's own operation, where it has one.
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

bool is_integer(const host::Type& type) {
  const host::BasicType* basic = host::basic_type(type.handle());
  return basic && basic->kind == host::Kind::kInteger;
}

/// Sums of floating-point words, of a type that is as wide: the processor has no operation for them.
template <class W, class Float>
void add_words(char* target, const char* source, char* old, int64_t bytes) {
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
void fold_words(const Folding& f, char* target, const char* source, char* old, int64_t bytes) {
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

}  // namespace

Status make_folding(MPI_Op op, MPI_Datatype element, bool fetching, Folding* out) {
  if (element == MPI_DATATYPE_NULL)
    return error(
        MPI_ERR_TYPE,
        "the target datatype is made of several predefined types; allowed are those made of "
        "one");
  FGMPI_TRY(host::Type::of(element, &out->type));
  if (op == MPI_NO_OP && !fetching)
    return error(MPI_ERR_OP, "op is MPI_NO_OP; allowed is that where the target's data is fetched");
  if (op != MPI_REPLACE && op != MPI_NO_OP) {
    if (!host::is_predefined(op))
      return error(MPI_ERR_OP, "op 0x%08x is not predefined; allowed are predefined operations",
                   static_cast<unsigned>(op));
    FGMPI_TRY(host::check_op(op, out->type));
  }
  out->op = op;
  out->element = out->type.extent();
  return {};
}

void fold_alone(const Folding& f, void* target, const void* source, int64_t bytes) {
  if (f.op == MPI_NO_OP) return;
  const auto word = static_cast<uintptr_t>(std::min<int64_t>(f.element, 8));
  const bool aligned =
      (reinterpret_cast<uintptr_t>(target) | reinterpret_cast<uintptr_t>(source)) % word == 0;
  if (f.type.size() != f.element || !aligned) {  // padding stays as it is
    for (int64_t i = 0; i < bytes; i += f.element)
      combine(f, static_cast<const char*>(source) + i, static_cast<char*>(target) + i);
  } else if (f.op == MPI_REPLACE) {
    std::memmove(target, source, static_cast<size_t>(bytes));
  } else {
    (void)host::reduce_local(source, target, bytes / f.element, f.type, f.op);
  }
}

void fold(const Folding& f, void* target, const void* source, void* old, int64_t bytes,
          Control* control, uint64_t address, bool one_lock) {
  auto* to = static_cast<char*>(target);
  auto* from = static_cast<const char*>(source);
  auto* before = static_cast<char*>(old);
  if (one_lock) {
    if (old) std::memcpy(old, target, static_cast<size_t>(bytes));
    return fold_alone(f, target, source, bytes);
  }
  if (is_atomic(target, f.element) && f.type.size() == f.element) {
    if (f.op == MPI_SUM && f.type.handle() == MPI_DOUBLE)
      return add_words<uint64_t, double>(to, from, before, bytes);
    if (f.op == MPI_SUM && f.type.handle() == MPI_FLOAT)
      return add_words<uint32_t, float>(to, from, before, bytes);
    switch (f.element) {
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
  for (int64_t i = 0; i < bytes; i += f.element) {
    std::lock_guard<SpinLock> guard(control->stripe(address + static_cast<uint64_t>(i)));
    if (old) std::memcpy(before + i, to + i, static_cast<size_t>(f.element));
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

Status check_swappable(const host::Type& type) {
  const host::BasicType* basic = host::basic_type(type.handle());
  const bool good = basic && type.size() <= 8 &&
                    (basic->kind == host::Kind::kInteger || basic->kind == host::Kind::kLogical ||
                     basic->kind == host::Kind::kBytes);
  if (good) return {};
  return error(
      MPI_ERR_TYPE,
      "datatype is %s; allowed are integers, logicals and MPI_BYTE (of C, Fortran or both)",
      basic ? basic->name : "a derived datatype");
}

}  // namespace fgmpi::rma
