// Wrappers of the C library's heap, to which mpicc -check links the program's calls (ld --wrap):
// the checker learns which blocks there are. Those of C++ are in heap_cxx.cc.
#include "gcc/access/heap.h"

#include <dlfcn.h>

#include <cstdlib>

namespace fgmpi::access {
namespace {

Allocated g_allocated = nullptr;
Freed g_freed = nullptr;
bool g_heap_searched = false;

void find_heap() {
  g_heap_searched = true;  // first, because the search may use the heap
  g_freed = reinterpret_cast<Freed>(dlsym(RTLD_DEFAULT, kFreed));
  g_allocated = reinterpret_cast<Allocated>(dlsym(RTLD_DEFAULT, kAllocated));
}

}  // namespace

void record_block(void* block, size_t bytes, bool fresh) {
  if (!g_heap_searched) find_heap();
  if (g_allocated && block) g_allocated(block, bytes, fresh);
}

void record_free(void* block, const char* function, const void* place) {
  if (!g_heap_searched) find_heap();
  if (g_freed && block) g_freed(block, function, place);
}

}  // namespace fgmpi::access

using fgmpi::access::record_block;
using fgmpi::access::record_free;

/// The head of __wrap_NAME, after declaring __real_NAME.
#define WRAP_HEAP(result, name, parameters)   \
  extern "C" result __real_##name parameters; \
  FGMPI_ENTRY result __wrap_##name parameters

WRAP_HEAP(void*, malloc, (size_t bytes)) {
  void* block = __real_malloc(bytes);
  record_block(block, bytes, true);
  return block;
}
WRAP_HEAP(void*, calloc, (size_t count, size_t bytes)) {
  void* block = __real_calloc(count, bytes);
  record_block(block, count * bytes, false);
  return block;
}
WRAP_HEAP(void*, realloc, (void* old, size_t bytes)) {
  record_free(old, "realloc", FGMPI_PLACE);
  void* block = __real_realloc(old, bytes);
  record_block(block, bytes, false);
  return block;
}
WRAP_HEAP(void*, aligned_alloc, (size_t alignment, size_t bytes)) {
  void* block = __real_aligned_alloc(alignment, bytes);
  record_block(block, bytes, true);
  return block;
}
WRAP_HEAP(int, posix_memalign, (void** block, size_t alignment, size_t bytes)) {
  const int error = __real_posix_memalign(block, alignment, bytes);
  if (error == 0) record_block(*block, bytes, true);
  return error;
}
WRAP_HEAP(void, free, (void* block)) {
  record_free(block, "free", FGMPI_PLACE);
  __real_free(block);
}
