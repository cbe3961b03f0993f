/* Preloaded by faults.sh: system calls on files called "faulty" fail as FAULT says. "disk": from
 * byte 1,000,000 on nothing is written. "locks": no locks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static const off_t kGood = 1000000;

static int fails(int fd, const char* way) {
  char path[64], link[4096];
  const char* fault = getenv("FAULT");
  if (!fault || strcmp(fault, way)) return 0;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(path, link, sizeof link - 1);
  link[n > 0 ? n : 0] = 0;
  return strstr(link, "/faulty") != NULL;
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  static ssize_t (*real)(int, const void*, size_t, off_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwrite");
  if (fails(fd, "disk")) {
    if (offset >= kGood) {
      errno = EIO;
      return -1;
    }
    if (offset + (off_t)bytes > kGood) bytes = (size_t)(kGood - offset);
  }
  return real(fd, data, bytes, offset);
}

ssize_t pwritev(int fd, const struct iovec* list, int count, off_t offset) {
  static ssize_t (*real)(int, const struct iovec*, int, off_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwritev");
  /* The first vector alone: a short write. */
  if (fails(fd, "disk")) return pwrite(fd, list->iov_base, list->iov_len, offset);
  return real(fd, list, count, offset);
}

int fcntl(int fd, int command, ...) {
  static int (*real)(int, int, ...);
  va_list more;
  va_start(more, command);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (!real) real = dlsym(RTLD_NEXT, "fcntl");
  if ((command == F_OFD_SETLK || command == F_OFD_SETLKW) && fails(fd, "locks")) {
    errno = ENOSYS;
    return -1;
  }
  return real(fd, command, argument);
}
