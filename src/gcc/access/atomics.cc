// Atomic operations. Under -fsanitize=thread GCC replaces them by calls of these functions, which
// check the access and then perform the operation, with the order that the program asks for.
//
// A store, exchange or change counts as a write. A compare that fails counts as a read, since it
// leaves the memory as it is.
#include "gcc/access/look.h"
#include "gcc/access/order.h"

using fgmpi::access::announce_poll;
using fgmpi::access::look;
using fgmpi::access::Sync;
using fgmpi::access::tell_atomic;

namespace {

/// Every operation is at least as strong as the program asks for. On x86 every atomic change of
/// memory is sequentially consistent, and only a store has a weaker form that is cheaper.
template <class T>
T load(const volatile T* at) {
  return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
template <class T>
void store(volatile T* at, T value, int order) {
  if ((order & 0xffff) == __ATOMIC_SEQ_CST)
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
  else
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
template <class T>
bool compare_exchange(volatile T* at, T* expected, T value) {
  return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

// Operations of 16 bytes compare and swap, as those of libatomic do (cmpxchg16b on x86-64). For
// __atomic_* of that size GCC would call libatomic, with which the program may not be linked.
using Wide = unsigned __int128;
template <>
bool compare_exchange(volatile Wide* at, Wide* expected, Wide value) {
  const Wide seen = __sync_val_compare_and_swap(at, *expected, value);
  if (seen == *expected) return true;
  *expected = seen;
  return false;
}
template <>
Wide load(const volatile Wide* at) {
  return __sync_val_compare_and_swap(const_cast<volatile Wide*>(at), Wide{0}, Wide{0});
}
/// Changes *at and returns its old value. `builtin` does so in one instruction, for up to 8 bytes;
/// `combine` computes the new value from the old one and `value`.
template <class T, class Builtin, class Combine>
T changed(volatile T* at, T value, Builtin builtin, Combine combine) {
  if constexpr (sizeof(T) <= 8) {
    return builtin(at, value);
  } else {
    T old = load(at);
    while (!compare_exchange(at, &old, static_cast<T>(combine(old, value)))) {
    }
    return old;
  }
}
template <>
void store(volatile Wide* at, Wide value, int) {
  Wide old = load(at);
  while (!compare_exchange(at, &old, value)) {
  }
}

}  // namespace

#define CHANGE(bits, T, name, builtin, expression)                                  \
  FGMPI_ENTRY T __tsan_atomic##bits##_##name(volatile T* at, T value, int order) {  \
    look(at, sizeof(T), true, FGMPI_PLACE, true);                                   \
    tell_atomic(Sync::kAtomicChange, at, order);                                    \
    const T was = changed<T>(                                                       \
        at, value, [](auto* x, auto y) { return builtin(x, y, __ATOMIC_SEQ_CST); }, \
        [](T old, T value) { return expression; });                                 \
    tell_atomic(Sync::kAtomicChanged, at, order);                                   \
    return was;                                                                     \
  }
#define COMPARE(bits, T, name)                                                                \
  FGMPI_ENTRY bool __tsan_atomic##bits##_compare_exchange_##name(volatile T* at, T* expected, \
                                                                 T value, int order, int) {   \
    tell_atomic(Sync::kAtomicChange, at, order);                                              \
    const bool same = compare_exchange(at, expected, value);                                  \
    tell_atomic(Sync::kAtomicChanged, at, order);                                             \
    look(at, sizeof(T), same, FGMPI_PLACE, true);                                             \
    return same;                                                                              \
  }
#define ATOMICS(bits, T)                                                             \
  FGMPI_ENTRY T __tsan_atomic##bits##_load(const volatile T* at, int order) {        \
    announce_poll(reinterpret_cast<uintptr_t>(at), sizeof(T), FGMPI_PLACE);          \
    look(at, sizeof(T), false, FGMPI_PLACE);                                         \
    const T value = load(at);                                                        \
    tell_atomic(Sync::kAtomicLoad, at, order);                                       \
    return value;                                                                    \
  }                                                                                  \
  FGMPI_ENTRY void __tsan_atomic##bits##_store(volatile T* at, T value, int order) { \
    look(at, sizeof(T), true, FGMPI_PLACE);                                          \
    tell_atomic(Sync::kAtomicStore, at, order);                                      \
    store(at, value, order);                                                         \
  }                                                                                  \
  CHANGE(bits, T, exchange, __atomic_exchange_n, (static_cast<void>(old), value))    \
  CHANGE(bits, T, fetch_add, __atomic_fetch_add, old + value)                        \
  CHANGE(bits, T, fetch_sub, __atomic_fetch_sub, old - value)                        \
  CHANGE(bits, T, fetch_and, __atomic_fetch_and, old& value)                         \
  CHANGE(bits, T, fetch_or, __atomic_fetch_or, old | value)                          \
  CHANGE(bits, T, fetch_xor, __atomic_fetch_xor, old ^ value)                        \
  CHANGE(bits, T, fetch_nand, __atomic_fetch_nand, ~(old & value))                   \
  COMPARE(bits, T, strong)                                                           \
  COMPARE(bits, T, weak)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
ATOMICS(128, Wide)

FGMPI_ENTRY void __tsan_atomic_thread_fence(int order) {
  tell_atomic(Sync::kFence, nullptr, order);
  if ((order & 0xffff) == __ATOMIC_SEQ_CST)
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  else
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
FGMPI_ENTRY void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
