// Machine code: what this folder's files need of the processor beside base/processor.h. Each
// processor_*.cc of this directory defines all of it for one kind of processor.
//
// Thread rule: any thread, except where a function says otherwise.
#pragma once

#include <link.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "base/processor.h"

/// Calls entry(name, number) for each function of the dynamic linker that this library interposes.
/// Its entry point saves the arguments, calls fgmpi_choose_loader_function(number, return address)
/// of dynamic_loading.cc, restores the arguments and jumps to the function that was returned.
#define FGMPI_LOADER_FUNCTIONS(entry)                                                  \
  entry(dlopen, 0) entry(dlclose, 1) entry(dlsym, 2) entry(dlvsym, 3) entry(dladdr, 4) \
      entry(dladdr1, 5) entry(dlinfo, 6) entry(dl_iterate_phdr, 7)

namespace fgmpi::privatize::machine {

// ---- Registers of code that a signal has interrupted --------------------------------------------

uintptr_t program_counter(const ucontext_t& context);
uintptr_t stack_pointer(const ucontext_t& context);
/// Changes the context as if a function that was just called had returned.
void return_from_call(ucontext_t* context);

/// A handler of a signal returns to this code where it was set without the C library; nullptr where
/// the kernel has such code of its own. The flag says to the kernel that there is such code.
extern void (*const kEndOfHandler)();
extern const unsigned long kEndOfHandlerFlag;

// ---- Thread-local variables ---------------------------------------------------------------------

/// Where the code of an executable with this segment finds the calling thread's variables, by the
/// rule of the linker.
char* thread_locals_of_executable(const ElfW(Phdr) & tls);

// ---- Changes of code ----------------------------------------------------------------------------

/// Writes a jump of processor::kJumpBytes bytes.
void write_jump(char* at, uintptr_t target);
/// Makes the dynamic linker call `hook` where it calls its function that does nothing
/// (_r_debug.r_brk), at which debuggers set a breakpoint; on x86-64 also where one is set already.
/// Returns false where it is not of the known form, or the system does not allow it. Called once.
bool replace_empty_function(void* empty, void (*hook)());

// ---- Calls --------------------------------------------------------------------------------------

/// Code that returns to an address that the caller of call_returning_at() has put on the stack.
struct ReturnCode {
  const void* at = nullptr;
  uint32_t frame_bytes = 0;  ///< on the stack, that the code removes
  bool checks = false;       ///< the code checks the signature of the address
};

/// The first such code in this memory; {} where there is none.
ReturnCode find_return_code(const char* begin, const char* end);
/// Calls function(a, b, c) with code.at as its return address.
void* call_returning_at(const ReturnCode& code, void* function, void* a, void* b, void* c);

/// Jumps to a program's first instruction as the kernel would; `stack` is aligned to 16 bytes and
/// begins with the number of arguments.
[[noreturn]] void begin_program(uintptr_t entry, const uintptr_t* stack);

}  // namespace fgmpi::privatize::machine
