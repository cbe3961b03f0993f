// The processor: what the code of all layers needs of it, under the same names for each kind of
// processor. Only processor_*.h and processor_*.cc, here and in src/privatize/processor/, ask which
// processor it is; a port to another one adds such files.
//
//   processor_x86_64.h    x86-64
//   processor_aarch64.h   64-bit Arm (Armv8.0 and later, little-endian)
//
// Thread rule: any thread. Nothing here switches.
#pragma once

#if defined(__x86_64__)
#include "base/processor_x86_64.h"
#elif defined(__aarch64__)
#include "base/processor_aarch64.h"
#else
#error "src/base/processor.h: allowed are x86-64 and 64-bit Arm"
#endif
