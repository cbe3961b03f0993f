// Stands in front of src/base/raw_call.h for the code that a model runs: its system calls go to the
// model's kernel (test/model/model.h).
#pragma once

#include <sys/syscall.h>

extern "C" long fgmpi_model_system_call(long number, long a, long b, long c);

namespace fgmpi {

inline long raw_call(long number, long a = 0, long b = 0, long c = 0, long = 0, long = 0,
                     long = 0) {
  return fgmpi_model_system_call(number, a, b, c);
}

}  // namespace fgmpi
