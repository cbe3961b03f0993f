// Wrappers of functions of the C library that read or write the program's memory. mpicc -check
// links the program's calls of NAME to __wrap_NAME (ld --wrap); __real_NAME is the C library's
// function. The list is also in src/launcher/wrappers/wrapper.sh.in.
//
// This file is compiled with -fno-builtin: so GCC does not replace a call here by a call of another
// function.
#include <sys/types.h>

#include <cstdint>
#include <cstdio>

#include "gcc/access/look.h"

using fgmpi::access::check_access;

namespace {

/// Bytes of a text, with its terminating 0.
size_t text_bytes(const char* text) {
  size_t n = 0;
  while (text[n]) ++n;
  return n + 1;
}
/// Bytes of a text of at most `most` bytes, with its terminating 0 if it has one.
size_t text_bytes(const char* text, size_t most) {
  size_t n = 0;
  while (n < most && text[n]) ++n;
  return n < most ? n + 1 : n;
}

}  // namespace

#define READS(at, bytes) \
  check_access(at, bytes, false, FGMPI_PLACE, __func__ + sizeof("__wrap_") - 1)
#define WRITES(at, bytes) \
  check_access(at, bytes, true, FGMPI_PLACE, __func__ + sizeof("__wrap_") - 1)
/// The head of __wrap_NAME, after declaring __real_NAME.
#define WRAP(result, name, parameters)        \
  extern "C" result __real_##name parameters; \
  FGMPI_ENTRY result __wrap_##name parameters

// ---- Bytes --------------------------------------------------------------------------------------
#define COPIES(name)                                          \
  WRAP(void*, name, (void* to, const void* from, size_t n)) { \
    READS(from, n);                                           \
    WRITES(to, n);                                            \
    return __real_##name(to, from, n);                        \
  }
COPIES(memcpy)
COPIES(mempcpy)
COPIES(memmove)

#define CHECKED_COPIES(name)                                               \
  WRAP(void*, name, (void* to, const void* from, size_t n, size_t room)) { \
    READS(from, n);                                                        \
    WRITES(to, n);                                                         \
    return __real_##name(to, from, n, room);                               \
  }
CHECKED_COPIES(__memcpy_chk)
CHECKED_COPIES(__mempcpy_chk)
CHECKED_COPIES(__memmove_chk)

WRAP(void, bcopy, (const void* from, void* to, size_t n)) {
  READS(from, n);
  WRITES(to, n);
  __real_bcopy(from, to, n);
}
WRAP(void*, memset, (void* to, int value, size_t n)) {
  WRITES(to, n);
  return __real_memset(to, value, n);
}
WRAP(void*, __memset_chk, (void* to, int value, size_t n, size_t room)) {
  WRITES(to, n);
  return __real___memset_chk(to, value, n, room);
}
WRAP(void, bzero, (void* to, size_t n)) {
  WRITES(to, n);
  __real_bzero(to, n);
}
WRAP(int, memcmp, (const void* a, const void* b, size_t n)) {
  READS(a, n);
  READS(b, n);
  return __real_memcmp(a, b, n);
}
WRAP(int, bcmp, (const void* a, const void* b, size_t n)) {
  READS(a, n);
  READS(b, n);
  return __real_bcmp(a, b, n);
}

// ---- Texts --------------------------------------------------------------------------------------
#define COPIES_TEXT(name, parameters, arguments) \
  WRAP(char*, name, parameters) {                \
    const size_t n = text_bytes(from);           \
    READS(from, n);                              \
    WRITES(to, n);                               \
    return __real_##name arguments;              \
  }
COPIES_TEXT(strcpy, (char* to, const char* from), (to, from))
COPIES_TEXT(stpcpy, (char* to, const char* from), (to, from))
COPIES_TEXT(__strcpy_chk, (char* to, const char* from, size_t room), (to, from, room))
COPIES_TEXT(__stpcpy_chk, (char* to, const char* from, size_t room), (to, from, room))

// These fill the rest of the n bytes with zeros.
#define COPIES_FIELD(name, parameters, arguments) \
  WRAP(char*, name, parameters) {                 \
    READS(from, text_bytes(from, n));             \
    WRITES(to, n);                                \
    return __real_##name arguments;               \
  }
COPIES_FIELD(strncpy, (char* to, const char* from, size_t n), (to, from, n))
COPIES_FIELD(__strncpy_chk, (char* to, const char* from, size_t n, size_t room),
             (to, from, n, room))

/// `most`: the largest number of bytes that are taken, behind which a terminating 0 is written.
#define APPENDS(name, parameters, arguments, most)                     \
  WRAP(char*, name, parameters) {                                      \
    const size_t old = text_bytes(to), taken = text_bytes(from, most); \
    const bool has_end = taken > 0 && from[taken - 1] == 0;            \
    READS(from, taken);                                                \
    READS(to, old);                                                    \
    WRITES(to + old - 1, has_end ? taken : taken + 1);                 \
    return __real_##name arguments;                                    \
  }
APPENDS(strcat, (char* to, const char* from), (to, from), SIZE_MAX)
APPENDS(strncat, (char* to, const char* from, size_t n), (to, from, n), n)
APPENDS(__strcat_chk, (char* to, const char* from, size_t room), (to, from, room), SIZE_MAX)
APPENDS(__strncat_chk, (char* to, const char* from, size_t n, size_t room), (to, from, n, room), n)

WRAP(size_t, strlen, (const char* text)) {
  const size_t n = __real_strlen(text);
  READS(text, n + 1);
  return n;
}

// ---- Whole arrays: sorting, reading and writing -------------------------------------------------
WRAP(void, qsort, (void* at, size_t n, size_t bytes, int (*compare)(const void*, const void*))) {
  WRITES(at, n * bytes);
  __real_qsort(at, n, bytes, compare);
}
WRAP(size_t, fread, (void* to, size_t bytes, size_t n, FILE* file)) {
  WRITES(to, bytes * n);
  return __real_fread(to, bytes, n, file);
}
WRAP(size_t, fwrite, (const void* from, size_t bytes, size_t n, FILE* file)) {
  READS(from, bytes * n);
  return __real_fwrite(from, bytes, n, file);
}
WRAP(ssize_t, read, (int file, void* to, size_t n)) {
  WRITES(to, n);
  return __real_read(file, to, n);
}
WRAP(ssize_t, write, (int file, const void* from, size_t n)) {
  READS(from, n);
  return __real_write(file, from, n);
}
