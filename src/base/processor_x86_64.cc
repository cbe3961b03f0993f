// x86-64: which instructions this processor has.

#include <cpuid.h>

#include "base/processor.h"

namespace fgmpi::processor {
namespace {

BitInstructions find_bit_instructions() {
  __builtin_cpu_init();
  return {__builtin_cpu_supports("popcnt") != 0, __builtin_cpu_supports("bmi2") != 0};
}

}  // namespace

const BitInstructions g_bit_instructions = find_bit_instructions();

bool counter_is_steady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

}  // namespace fgmpi::processor
