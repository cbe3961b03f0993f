// The two random words of a process by which the compiler and the C library guard addresses:
//
//   stack     frames of functions that are compiled with -fstack-protector hold it
//   pointers  jmp_buf, and the functions of fopencookie(), are stored combined with it
//
// A rank's slot has such bytes, and is to work in another process. So where addresses are not
// random either (ADDR_NO_RANDOMIZE), as ranks that go to other processes need it, both words are
// the same in all processes. They are changed before anything has used them: this library asks to
// be initialised first of all (-z initfirst), and the dynamic linker's own frames have no guards.
#include <sys/personality.h>

#include "base/processor.h"

namespace fgmpi::heap {
namespace {

// Arbitrary; the lowest byte of the stack's is zero, which ends texts that overrun a buffer.
constexpr uint64_t kStackGuard = 0x5bd1e995c4a3d700, kPointerGuard = 0x2545f4914f6cdd1d;

[[gnu::constructor, gnu::no_stack_protector]] void fix_guards() {
  const int now = personality(0xffffffff);
  if (now >= 0 && (now & ADDR_NO_RANDOMIZE))
    processor::set_thread_guards(kStackGuard, kPointerGuard);
}

}  // namespace
}  // namespace fgmpi::heap
