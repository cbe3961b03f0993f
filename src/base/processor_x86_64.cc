// x86-64: which instructions this processor has.

#include <cpuid.h>

#include "base/processor.h"

namespace fgmpi::processor {

bool counter_is_steady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

}  // namespace fgmpi::processor
