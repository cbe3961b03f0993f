// Announces stacks and switches to AddressSanitizer and valgrind. Costs nothing in builds without
// them, except valgrind's few no-op instructions once for each stack.
#pragma once

#include "proclet-sched/sched.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define FGMPI_VALGRIND 1
#endif
#ifdef FGMPI_SANITIZE
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace fgmpi::sched::annotate {

inline bool under_valgrind() {
#ifdef FGMPI_VALGRIND
  return RUNNING_ON_VALGRIND != 0;
#else
  return false;
#endif
}

/// Memory that pointers in this mapped memory point to is not a leak.
inline void holds_pointers(const void* memory, size_t size) {
#ifdef FGMPI_SANITIZE
  __lsan_register_root_region(memory, size);
#else
  (void)memory, (void)size;
#endif
}
inline void unmapped(const void* memory, size_t size) {
#ifdef FGMPI_SANITIZE
  __lsan_unregister_root_region(memory, size);
#else
  (void)memory, (void)size;
#endif
}

/// The object at this address is forgotten on purpose, and is not a leak.
inline void forgotten(const void* memory) {
#ifdef FGMPI_SANITIZE
  __lsan_ignore_object(memory);
#else
  (void)memory;
#endif
}

inline void stack_created(Proclet* p) {
#ifdef FGMPI_VALGRIND
  p->stack_id = VALGRIND_STACK_REGISTER(p->stack_low, p->stack_low + p->stack_size);
#else
  (void)p;
#endif
}

/// Removes the poison of red zones whose frames will never be returned to.
inline void stack_emptied(Proclet* p) {
#ifdef FGMPI_SANITIZE
  __asan_unpoison_memory_region(p->stack_low, p->stack_size);
#endif
  (void)p;
}

inline void stack_gone(Proclet* p) {
#ifdef FGMPI_VALGRIND
  VALGRIND_STACK_DEREGISTER(p->stack_id);
#endif
  stack_emptied(p);
}

/// Called before a jump. `save` receives the leaver's handle; nullptr when it will never run again.
inline void leave(void** save, const void* to_low, size_t to_size) {
#ifdef FGMPI_SANITIZE
  __sanitizer_start_switch_fiber(save, to_low, to_size);
#else
  (void)save, (void)to_low, (void)to_size;
#endif
}

/// Called after a jump, on the arriver's stack. Sets where the leaver's stack was.
inline void arrive(void* saved, const void** from_low, size_t* from_size) {
#ifdef FGMPI_SANITIZE
  __sanitizer_finish_switch_fiber(saved, from_low, from_size);
#else
  (void)saved, (void)from_low, (void)from_size;
#endif
}

}  // namespace fgmpi::sched::annotate
