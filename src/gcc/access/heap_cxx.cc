// Wrappers of C++'s operators new and delete, as heap.cc. They are a file of their own, which only
// programs that use them link.
#include "gcc/access/heap.h"

using fgmpi::access::record_block;
using fgmpi::access::record_free;

#define WRAP_NEW(name)                        \
  extern "C" void* __real_##name(size_t);     \
  FGMPI_ENTRY void* __wrap_##name(size_t n) { \
    void* block = __real_##name(n);           \
    record_block(block, n, true);             \
    return block;                             \
  }
#define WRAP_DELETE(name, parameters, arguments) \
  extern "C" void __real_##name parameters;      \
  FGMPI_ENTRY void __wrap_##name parameters {    \
    record_free(block, "delete", FGMPI_PLACE);   \
    __real_##name arguments;                     \
  }

WRAP_NEW(_Znwm)
WRAP_NEW(_Znam)
WRAP_DELETE(_ZdlPv, (void* block), (block))
WRAP_DELETE(_ZdaPv, (void* block), (block))
WRAP_DELETE(_ZdlPvm, (void* block, size_t n), (block, n))
WRAP_DELETE(_ZdaPvm, (void* block, size_t n), (block, n))
