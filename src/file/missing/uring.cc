// In a build without liburing, engine.cc takes threads.

#include "file/engine.h"

namespace fgmpi::file::uring {

bool available() { return false; }
size_t make_calls(SystemCall* calls, size_t count) { return make_calls_here(calls, count); }

}  // namespace fgmpi::file::uring
