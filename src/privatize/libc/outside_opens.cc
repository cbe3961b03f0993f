// Calls that another thread makes for a rank: opening a named pipe, which waits for its other end,
// and looking up names of hosts.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privatize/libc/outside_calls.h"
#include "privatize/libc/rank_descriptors.h"
#include "privatize/libc/rank_streams.h"

namespace fgmpi::privatize {
namespace {

/// A copy of a path that another thread may read: the path itself may lie in memory that holds the
/// rank's data only while the rank runs.
struct Path {
  char text[PATH_MAX];
  explicit Path(const char* path) { memcpy(text, path, strlen(path) + 1); }
};

/// True where opening the path may wait for the other end of a pipe. Leaves errno unchanged.
bool waits_to_open(const void* caller, int folder, const char* path, int flags) {
  constexpr int kNotWaiting = O_NONBLOCK | O_PATH | O_DIRECTORY;
  if (flags & kNotWaiting || (flags & O_ACCMODE) == O_RDWR || !lets_others_run(caller))
    return false;
  const int kept = errno;
  struct stat file;
  const bool waits =
      fstatat(folder, path, &file, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
      S_ISFIFO(file.st_mode);
  errno = kept;
  return waits;  // where true, fstatat() has shown that the path fits PATH_MAX
}

/// Has another thread call `real`, which opens the path that it is called with. May switch.
template <class F>
int open_elsewhere(const char* call, const char* path, F real) {
  const Path copy(path);
  return wait_on_other_thread(
      call, [&] { return real(copy.text); }, kWithErrno);
}

FILE* fopen_elsewhere(Real<FILE*(const char*, const char*)>& real, const char* path,
                      const char* mode) {
  const Path copy(path);
  char how[16] = {};
  strncpy(how, mode, sizeof how - 1);
  FILE* stream = nullptr;
  const int failed = wait_on_other_thread("fopen", [&] {
    stream = real(copy.text, how);
    return stream ? 0 : errno;
  });
  if (!stream) errno = failed;
  return stream;
}

int flags_of(const char* mode) {
  if (strchr(mode, '+')) return O_RDWR;
  return *mode == 'r' ? O_RDONLY : O_WRONLY;
}

constinit Real<int(const char*, const char*, const addrinfo*, addrinfo**)> g_getaddrinfo(
    "getaddrinfo");

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

#define FGMPI_CALLER __builtin_return_address(0)

// Without O_CREAT or O_TMPFILE callers pass no `mode`; the value read here is then ignored.
#define FGMPI_OPEN(name)                                                                  \
  FGMPI_INTERPOSE int name(const char* path, int flags, ...) {                            \
    static constinit Real<int(const char*, int, mode_t)> real(#name);                     \
    va_list list;                                                                         \
    va_start(list, flags);                                                                \
    const mode_t mode = va_arg(list, mode_t);                                             \
    va_end(list);                                                                         \
    if (!waits_to_open(FGMPI_CALLER, AT_FDCWD, path, flags))                              \
      return give_descriptor(real(path, flags, mode), FGMPI_CALLER);                      \
    return give_descriptor(                                                               \
        open_elsewhere(#name, path, [&](const char* p) { return real(p, flags, mode); }), \
        FGMPI_CALLER);                                                                    \
  }
#define FGMPI_OPENAT(name)                                                                        \
  FGMPI_INTERPOSE int name(int folder, const char* path, int flags, ...) {                        \
    static constinit Real<int(int, const char*, int, mode_t)> real(#name);                        \
    va_list list;                                                                                 \
    va_start(list, flags);                                                                        \
    const mode_t mode = va_arg(list, mode_t);                                                     \
    va_end(list);                                                                                 \
    if (!waits_to_open(FGMPI_CALLER, folder, path, flags))                                        \
      return give_descriptor(real(folder, path, flags, mode), FGMPI_CALLER);                      \
    return give_descriptor(                                                                       \
        open_elsewhere(#name, path, [&](const char* p) { return real(folder, p, flags, mode); }), \
        FGMPI_CALLER);                                                                            \
  }
// Programs that are compiled with _FORTIFY_SOURCE call open() and openat() by these names.
#define FGMPI_OPEN_2(name)                                                           \
  FGMPI_INTERPOSE int name(const char* path, int flags) {                            \
    static constinit Real<int(const char*, int)> real(#name);                        \
    if (!waits_to_open(FGMPI_CALLER, AT_FDCWD, path, flags))                         \
      return give_descriptor(real(path, flags), FGMPI_CALLER);                       \
    return give_descriptor(                                                          \
        open_elsewhere("open", path, [&](const char* p) { return real(p, flags); }), \
        FGMPI_CALLER);                                                               \
  }
#define FGMPI_OPENAT_2(name)                                                                   \
  FGMPI_INTERPOSE int name(int folder, const char* path, int flags) {                          \
    static constinit Real<int(int, const char*, int)> real(#name);                             \
    if (!waits_to_open(FGMPI_CALLER, folder, path, flags))                                     \
      return give_descriptor(real(folder, path, flags), FGMPI_CALLER);                         \
    return give_descriptor(                                                                    \
        open_elsewhere("openat", path, [&](const char* p) { return real(folder, p, flags); }), \
        FGMPI_CALLER);                                                                         \
  }
#define FGMPI_FOPEN(name)                                                                     \
  FGMPI_INTERPOSE FILE* name(const char* path, const char* mode) {                            \
    static constinit Real<FILE*(const char*, const char*)> real(#name);                       \
    if (waits_to_open(FGMPI_CALLER, AT_FDCWD, path, flags_of(mode)))                          \
      return give_stream(fopen_elsewhere(real, path, mode), FGMPI_CALLER);                    \
    return give_stream(                                                                       \
        open_stream(FGMPI_CALLER, StreamKind::kDescriptor, [&] { return real(path, mode); }), \
        FGMPI_CALLER);                                                                        \
  }
FGMPI_OPEN(open)
FGMPI_OPEN(open64)
FGMPI_OPENAT(openat)
FGMPI_OPENAT(openat64)
FGMPI_OPEN_2(__open_2)
FGMPI_OPEN_2(__open64_2)
FGMPI_OPENAT_2(__openat_2)
FGMPI_OPENAT_2(__openat64_2)
FGMPI_FOPEN(fopen)
FGMPI_FOPEN(fopen64)

FGMPI_INTERPOSE int creat(const char* path, mode_t mode) {
  static constinit Real<int(const char*, mode_t)> real("creat");
  if (!waits_to_open(FGMPI_CALLER, AT_FDCWD, path, O_WRONLY))
    return give_descriptor(real(path, mode), FGMPI_CALLER);
  return give_descriptor(
      open_elsewhere("creat", path, [&](const char* p) { return real(p, mode); }), FGMPI_CALLER);
}

FGMPI_INTERPOSE int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                                addrinfo** found) {
  const bool asks = node && !(hints && hints->ai_flags & AI_NUMERICHOST) &&
                    lets_others_run(FGMPI_CALLER) && !is_thread_local(node) &&
                    !is_thread_local(service);
  if (!asks) return g_getaddrinfo(node, service, hints, found);
  const addrinfo wanted = hints ? *hints : addrinfo{};
  addrinfo* list = nullptr;
  int error = errno;
  const int result = wait_on_other_thread("getaddrinfo", [&] {
    const int r = g_getaddrinfo(node, service, hints ? &wanted : nullptr, &list);
    error = errno;
    return r;
  });
  if (result == 0) *found = list;
  if (result == EAI_SYSTEM) errno = error;
  return result;
}
