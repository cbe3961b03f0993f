// Functions of the C library that give their caller memory, or objects with memory of their own,
// which parts of the library allocate whose callers cannot be known: these are called such that
// what the C library allocates meanwhile is the rank's.
#include <dirent.h>
#include <glob.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>

#include <dlfcn.h>

#include "heap/running.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fgmpi::heap {
namespace {

/// The C library's own function, looked up at its first call.
template <class F>
class NextFunction {
 public:
  constexpr explicit NextFunction(const char* name) : name_(name) {}
  F* get() {
    F* found = found_.load(std::memory_order_relaxed);
    if (!found) found_.store(found = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name_)));
    return found;
  }

 private:
  const char* name_;
  std::atomic<F*> found_{nullptr};
};

/// Calls f() such that what the C library allocates is the rank's, if code at this place allocates
/// for one. REQUIRES: nothing in f() switches.
template <class F>
auto call_for(const void* place, F&& f) {
  struct ForRank {
    explicit ForRank(bool on) : on_(on) { t_for_rank += on_; }
    ~ForRank() { t_for_rank -= on_; }
    int on_;
  };
  uint32_t index;
  const ForRank counted(finds_rank(&index, place));
  return f();
}

}  // namespace
}  // namespace fgmpi::heap

using namespace fgmpi::heap;

#define FGMPI_GIVES(result, name, condition, parameters, types, ...)                       \
  EXPORT result name parameters {                                                          \
    static constinit NextFunction<result types> next(#name);                               \
    if (!(condition)) return next.get()(__VA_ARGS__);                                      \
    return call_for(__builtin_return_address(0), [&] { return next.get()(__VA_ARGS__); }); \
  }

FGMPI_GIVES(int, vasprintf, true, (char** text, const char* format, va_list list) noexcept,
            (char**, const char*, va_list), text, format, list)
FGMPI_GIVES(int, __vasprintf_chk, true,
            (char** text, int flag, const char* format, va_list list) noexcept,
            (char**, int, const char*, va_list), text, flag, format, list)
FGMPI_GIVES(DIR*, opendir, true, (const char* path), (const char*), path)
FGMPI_GIVES(DIR*, fdopendir, true, (int fd), (int), fd)
FGMPI_GIVES(int, regcomp, true, (regex_t * regex, const char* pattern, int flags),
            (regex_t*, const char*, int), regex, pattern, flags)
FGMPI_GIVES(int, regexec, true,
            (const regex_t* regex, const char* text, size_t most, regmatch_t* matches, int flags),
            (const regex_t*, const char*, size_t, regmatch_t*, int), regex, text, most, matches,
            flags)
// Functions of the program may switch.
FGMPI_GIVES(int, glob, !failed && !(flags & GLOB_ALTDIRFUNC),
            (const char* pattern, int flags, int (*failed)(const char*, int),
             glob_t* found) noexcept,
            (const char*, int, int (*)(const char*, int), glob_t*), pattern, flags, failed, found)
FGMPI_GIVES(int, glob64, !failed && !(flags & GLOB_ALTDIRFUNC),
            (const char* pattern, int flags, int (*failed)(const char*, int),
             glob64_t* found) noexcept,
            (const char*, int, int (*)(const char*, int), glob64_t*), pattern, flags, failed, found)

EXPORT int asprintf(char** text, const char* format, ...) noexcept {
  static constinit NextFunction<int(char**, const char*, va_list)> next("vasprintf");
  va_list list;
  va_start(list, format);
  const int length =
      call_for(__builtin_return_address(0), [&] { return next.get()(text, format, list); });
  va_end(list);
  return length;
}

EXPORT int __asprintf_chk(char** text, int flag, const char* format, ...) noexcept {
  static constinit NextFunction<int(char**, int, const char*, va_list)> next("__vasprintf_chk");
  va_list list;
  va_start(list, format);
  const int length =
      call_for(__builtin_return_address(0), [&] { return next.get()(text, flag, format, list); });
  va_end(list);
  return length;
}
