// Reading from the C library's streams that are pipes, sockets or terminals. The C library reads by
// functions of its own, which cannot be interposed. So a call for which the stream's buffer does
// not suffice first waits for the descriptor. Where the call may have to read more than once,
// another thread makes it.
//
//   the buffer has all that is asked; a file --> the C library's function
//   the buffer is empty                      --> wait until the descriptor is ready
//   one character                            --> the C library's function: a single read
//   else                                     --> another thread calls the C library's function
//
// The other thread holds the stream's lock while it reads. After the first wait the rank itself
// makes the call in two cases. A stream that the scheduler's thread has locked (flockfile) could
// not be read by another thread. Reading from a line-buffered or unbuffered stream first writes
// standard output, which only the scheduler's thread does.
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <algorithm>

#include "base/repeatable.h"
#include "privatize/libc/descriptor_kinds.h"
#include "privatize/libc/outside_calls.h"

namespace fgmpi::privatize {
namespace {

// Flags of a stream that <stdio.h> does not name; they are part of the C library's ABI.
constexpr int kUnbuffered = 0x2, kLineBuffered = 0x200;

size_t in_buffer(const FILE* s) {
  return s->_IO_read_end > s->_IO_read_ptr ? static_cast<size_t>(s->_IO_read_end - s->_IO_read_ptr)
                                           : 0;
}

bool has_in_buffer(const FILE* s, int character) {
  return in_buffer(s) > 0 && memchr(s->_IO_read_ptr, character, in_buffer(s));
}

/// True where a read of the stream's descriptor may wait.
bool may_wait(FILE* s) {
  if (s->_flags & 0x10) return false;  // the stream is at its end: no read follows
  const int fd = s->_fileno;
  return fd >= 0 && kind_of_descriptor(fd) != DescriptorKind::kNeverWaits;
}

/// Waits until the descriptor is ready, or a read of it would not wait. Returns false where a
/// signal handler has ended the wait; errno is EINTR. May switch.
bool wait_for_stream(const char* call, FILE* s) {
  if (in_buffer(s) > 0) return true;
  const int fd = s->_fileno;
  OutsideWait wait(call, OutsideWait::kRestarted);
  while (!is_ready(fd, POLLIN) && waits_when_not_ready(fd, O_RDONLY))
    if (!may_try_again(wait.until_ready(fd, POLLIN), EAGAIN)) {
      s->_flags |= 0x20;  // the stream's error indicator
      return false;
    }
  return true;
}

/// Layout of the lock behind a stream; it is part of the C library's ABI.
struct StreamLock {
  int word, count;
  void* owner;
};
bool is_locked_here(const FILE* s) {
  const auto* lock = reinterpret_cast<const StreamLock*>(s->_lock);
  return lock &&
         __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == reinterpret_cast<void*>(pthread_self());
}

/// Waits for the stream, then has another thread call `f`, which may read several times.
/// `unlocked`: the other thread does not lock the stream. Returns `failed` where a handler ended
/// the wait. May switch.
template <class R, class F>
R call_for_stream(const char* call, FILE* s, bool unlocked, R failed, F f) {
  if (!wait_for_stream(call, s)) return failed;
  // In a run that repeats no other thread may read, so other ranks wait for the rest of the data.
  if (s->_flags & (kUnbuffered | kLineBuffered) || is_locked_here(s) || is_repeatable()) return f();
  const locale_t locale = uselocale(nullptr);
  R result = failed;
  int error = errno;
  for (int64_t pause = kFirstPause;; let_others_run(&pause)) {
    const bool done = wait_on_other_thread(call, [&] {
      if (!unlocked && ftrylockfile(s) != 0) return false;
      const locale_t before = uselocale(locale);
      errno = error;
      result = f();
      error = errno;
      uselocale(before);
      if (!unlocked) funlockfile(s);
      return true;
    });
    if (done) break;
  }
  errno = error;
  return result;
}

/// Calls `f` for code at `caller`: directly where the read cannot wait, or `enough()` finds all of
/// it in the buffer; else by call_for_stream().
template <class R, class Enough, class F>
[[gnu::noinline]] R read_stream(const void* caller, const char* call, FILE* s, bool unlocked,
                                R failed, Enough enough, F f) {
  if (!lets_others_run(caller) || !may_wait(s) || enough()) return f();
  return call_for_stream(call, s, unlocked, failed, f);
}

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

#define FGMPI_STREAM_LETS_RUN(stream)                                                    \
  (!can_never_wait((stream)->_fileno) && lets_others_run(__builtin_return_address(0)) && \
   may_wait(stream))

// Begins the definition of the function with this symbol. <stdio.h> defines some of them in line,
// so that clang takes no other definition under the name in C++.
#define FGMPI_INTERPOSE_SYMBOL(result, symbol, parameters)           \
  FGMPI_INTERPOSE result fgmpi_##symbol parameters __asm__(#symbol); \
  result fgmpi_##symbol parameters

// ---- One character: a single read ---------------------------------------------------------------

#define FGMPI_ONE_CHARACTER(name, stream, parameters, types, ...)                       \
  FGMPI_INTERPOSE_SYMBOL(int, name, parameters) {                                       \
    static constinit Real<int types> real(#name);                                       \
    if (__builtin_expect(in_buffer(stream) == 0, 0) && FGMPI_STREAM_LETS_RUN(stream) && \
        !wait_for_stream(#name, stream))                                                \
      return EOF;                                                                       \
    return real(__VA_ARGS__);                                                           \
  }
FGMPI_ONE_CHARACTER(fgetc, s, (FILE * s), (FILE*), s)
FGMPI_ONE_CHARACTER(getc, s, (FILE * s), (FILE*), s)
FGMPI_ONE_CHARACTER(fgetc_unlocked, s, (FILE * s), (FILE*), s)
FGMPI_ONE_CHARACTER(getc_unlocked, s, (FILE * s), (FILE*), s)
FGMPI_ONE_CHARACTER(getchar, stdin, (void), ())
FGMPI_ONE_CHARACTER(getchar_unlocked, stdin, (void), ())
FGMPI_ONE_CHARACTER(_IO_getc, s, (FILE * s), (FILE*), s)
// getc_unlocked(), in line, calls these when the buffer is empty.
FGMPI_ONE_CHARACTER(__uflow, s, (FILE * s), (FILE*), s)
FGMPI_ONE_CHARACTER(__underflow, s, (FILE * s), (FILE*), s)

// ---- Lines and blocks ---------------------------------------------------------------------------

namespace {
/// True where a line, or `size` - 1 characters, lies in the buffer; also where no other thread
/// could write to `to`.
bool has_line(const FILE* s, int size, const char* to) {
  return size <= 1 || in_buffer(s) >= static_cast<size_t>(size) - 1 || has_in_buffer(s, '\n') ||
         is_thread_local(to);
}
bool has_bytes(const FILE* s, size_t size, size_t count, const void* to) {
  size_t bytes;
  return __builtin_mul_overflow(size, count, &bytes) || bytes <= in_buffer(s) ||
         is_thread_local(to);
}
}  // namespace

#define FGMPI_LINE(name, unlocked, parameters, types, ...)                            \
  FGMPI_INTERPOSE_SYMBOL(char*, name, parameters) {                                   \
    static constinit Real<char * types> real(#name);                                  \
    if (can_never_wait(s->_fileno)) return real(__VA_ARGS__);                         \
    return read_stream(                                                               \
        __builtin_return_address(0), #name, s, unlocked, static_cast<char*>(nullptr), \
        [=] { return has_line(s, size, to); }, [=] { return real(__VA_ARGS__); });    \
  }
FGMPI_LINE(fgets, false, (char* to, int size, FILE* s), (char*, int, FILE*), to, size, s)
FGMPI_LINE(fgets_unlocked, true, (char* to, int size, FILE* s), (char*, int, FILE*), to, size, s)
FGMPI_LINE(__fgets_chk, false, (char* to, size_t room, int size, FILE* s),
           (char*, size_t, int, FILE*), to, room, size, s)
FGMPI_LINE(__fgets_unlocked_chk, true, (char* to, size_t room, int size, FILE* s),
           (char*, size_t, int, FILE*), to, room, size, s)

#define FGMPI_BLOCK(name, unlocked, parameters, types, ...)                                \
  FGMPI_INTERPOSE_SYMBOL(size_t, name, parameters) {                                       \
    static constinit Real<size_t types> real(#name);                                       \
    if (can_never_wait(s->_fileno)) return real(__VA_ARGS__);                              \
    return read_stream(                                                                    \
        __builtin_return_address(0), #name, s, unlocked, size_t{0},                        \
        [=] { return has_bytes(s, size, count, to); }, [=] { return real(__VA_ARGS__); }); \
  }
FGMPI_BLOCK(fread, false, (void* to, size_t size, size_t count, FILE* s),
            (void*, size_t, size_t, FILE*), to, size, count, s)
FGMPI_BLOCK(fread_unlocked, true, (void* to, size_t size, size_t count, FILE* s),
            (void*, size_t, size_t, FILE*), to, size, count, s)
FGMPI_BLOCK(__fread_chk, false, (void* to, size_t room, size_t size, size_t count, FILE* s),
            (void*, size_t, size_t, size_t, FILE*), to, room, size, count, s)
FGMPI_BLOCK(__fread_unlocked_chk, true, (void* to, size_t room, size_t size, size_t count, FILE* s),
            (void*, size_t, size_t, size_t, FILE*), to, room, size, count, s)

#define FGMPI_DELIMITED(name, delimiter, parameters, types, ...)            \
  FGMPI_INTERPOSE_SYMBOL(ssize_t, name, parameters) {                       \
    static constinit Real<ssize_t types> real(#name);                       \
    if (can_never_wait(s->_fileno)) return real(__VA_ARGS__);               \
    return read_stream(                                                     \
        __builtin_return_address(0), #name, s, false, ssize_t{-1},          \
        [=] { return has_in_buffer(s, delimiter) || is_thread_local(to); }, \
        [=] { return real(__VA_ARGS__); });                                 \
  }
FGMPI_DELIMITED(getline, '\n', (char** to, size_t* room, FILE* s), (char**, size_t*, FILE*), to,
                room, s)
FGMPI_DELIMITED(getdelim, delimiter, (char** to, size_t* room, int delimiter, FILE* s),
                (char**, size_t*, int, FILE*), to, room, delimiter, s)
FGMPI_DELIMITED(__getdelim, delimiter, (char** to, size_t* room, int delimiter, FILE* s),
                (char**, size_t*, int, FILE*), to, room, delimiter, s)

// ---- Formats ------------------------------------------------------------------------------------
// How much a format reads cannot be found out beforehand: another thread makes the call, whatever
// lies in the buffer.

namespace {
using Scan = int(FILE*, const char*, va_list);
int scan_of(const void* caller, Real<Scan>& real, FILE* s, const char* format, va_list list) {
  if (!lets_others_run(caller) || !may_wait(s)) return real(s, format, list);
  va_list copy;
  va_copy(copy, list);
  const int result =
      call_for_stream("fscanf", s, false, EOF, [&] { return real(s, format, copy); });
  va_end(copy);
  return result;
}
}  // namespace

#define FGMPI_SCAN_AS(symbol, real_symbol, parameters, stream, ...)             \
  FGMPI_INTERPOSE_SYMBOL(int, symbol, parameters) {                             \
    static constinit Real<int(FILE*, const char*, va_list)> real(#real_symbol); \
    FILE* s = stream;                                                           \
    __VA_ARGS__                                                                 \
  }
#define FGMPI_SCAN_LIST return scan_of(__builtin_return_address(0), real, s, format, list);
#define FGMPI_SCAN_ARGUMENTS                                                      \
  va_list list;                                                                   \
  va_start(list, format);                                                         \
  const int result = scan_of(__builtin_return_address(0), real, s, format, list); \
  va_end(list);                                                                   \
  return result;
#define FGMPI_SCAN(name, vname, stdin_name, stdin_vname)                                   \
  FGMPI_SCAN_AS(name, vname, (FILE * stream, const char* format, ...), stream,             \
                FGMPI_SCAN_ARGUMENTS)                                                      \
  FGMPI_SCAN_AS(vname, vname, (FILE * stream, const char* format, va_list list), stream,   \
                FGMPI_SCAN_LIST)                                                           \
  FGMPI_SCAN_AS(stdin_name, vname, (const char* format, ...), stdin, FGMPI_SCAN_ARGUMENTS) \
  FGMPI_SCAN_AS(stdin_vname, vname, (const char* format, va_list list), stdin, FGMPI_SCAN_LIST)
// The names of these functions under <stdio.h> for C99 and later, then those for other dialects.
FGMPI_SCAN(__isoc99_fscanf, __isoc99_vfscanf, __isoc99_scanf, __isoc99_vscanf)
FGMPI_SCAN(__isoc23_fscanf, __isoc23_vfscanf, __isoc23_scanf, __isoc23_vscanf)
FGMPI_SCAN(fscanf, vfscanf, scanf, vscanf)
