// The entry points that GCC's -fsanitize=thread calls before each load and store of a program. The
// program itself makes the accesses.
#include "gcc/access/look.h"
#include "gcc/access/order.h"

using fgmpi::access::check_access;
using fgmpi::access::look;
using fgmpi::access::Sync;
using fgmpi::access::tell_atomic;

#define ACCESSES(bytes)                                                                            \
  FGMPI_ENTRY void __tsan_read##bytes(void* at) { look(at, bytes, false, FGMPI_PLACE); }           \
  FGMPI_ENTRY void __tsan_write##bytes(void* at) { look(at, bytes, true, FGMPI_PLACE); }           \
  FGMPI_ENTRY void __tsan_volatile_read##bytes(void* at) {                                         \
    look(at, bytes, false, FGMPI_PLACE);                                                           \
    tell_atomic(Sync::kAtomicLoad, at, __ATOMIC_ACQUIRE);                                          \
  }                                                                                                \
  FGMPI_ENTRY void __tsan_volatile_write##bytes(void* at) {                                        \
    look(at, bytes, true, FGMPI_PLACE);                                                            \
    tell_atomic(Sync::kAtomicStore, at, __ATOMIC_RELEASE);                                         \
  }                                                                                                \
  FGMPI_ENTRY void __tsan_unaligned_read##bytes(void* at) { look(at, bytes, false, FGMPI_PLACE); } \
  FGMPI_ENTRY void __tsan_unaligned_write##bytes(void* at) { look(at, bytes, true, FGMPI_PLACE); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

FGMPI_ENTRY void __tsan_read_range(void* at, size_t bytes) {
  check_access(at, bytes, false, FGMPI_PLACE, nullptr);
}
FGMPI_ENTRY void __tsan_write_range(void* at, size_t bytes) {
  check_access(at, bytes, true, FGMPI_PLACE, nullptr);
}

// Accesses to an object's pointer to its virtual functions.
FGMPI_ENTRY void __tsan_vptr_read(void** at) { look(at, sizeof *at, false, FGMPI_PLACE); }
FGMPI_ENTRY void __tsan_vptr_update(void** at, void*) { look(at, sizeof *at, true, FGMPI_PLACE); }

// The checker records no call stacks and needs no set-up, so these do nothing.
FGMPI_ENTRY void __tsan_func_entry(void*) {}
FGMPI_ENTRY void __tsan_func_exit() {}
FGMPI_ENTRY void __tsan_init() {}
