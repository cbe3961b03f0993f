// Assertions. FGMPI_CHECK stays on in every build and ends the process with one line; it is for
// invariants whose loss would corrupt data. FGMPI_ASSERT is for hot paths and is on in debug and
// sanitizer builds only. Neither is for users' errors: those are a Status (status.h).
#pragma once

namespace fgmpi {

/// Prints to stderr that `expected`, a condition, did not hold at this line, which rank ran, and
/// its last call. Then aborts. Never returns.
[[noreturn]] void check_failed(const char* file, int line, const char* expected);

/// For memory that no call has asked for, so that no call could return the error: prints "fgmpi:
/// process id N: no memory for BYTES bytes of WHAT" and ends the process. Never returns.
[[noreturn]] void out_of_memory(const char* what, unsigned long long bytes);

/// Ends the process at once, whatever its ranks do. Inside the library, exit, _exit and _Exit are
/// interposed by src/privatize and would end only the calling rank.
[[noreturn]] void end_process(int status);

}  // namespace fgmpi

#define FGMPI_CHECK(cond)                                                               \
  do {                                                                                  \
    if (__builtin_expect(!(cond), 0)) ::fgmpi::check_failed(__FILE__, __LINE__, #cond); \
  } while (0)

#if defined(FGMPI_SANITIZE) || defined(FGMPI_FORCE_SWITCH) || !defined(__OPTIMIZE__)
#define FGMPI_ASSERT(cond) FGMPI_CHECK(cond)
#else
#define FGMPI_ASSERT(cond) ((void)0)
#endif
