// A library whose constructor does different things where the standard files are of different kinds, as Fortran's library does:
// it takes memory, and says so. Runs that are repeated with other files must not notice.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) {
  size_t bytes = 1000;
  for (int fd = 0; fd < 10; ++fd) {
    struct stat s;
    if (fstat(fd, &s) != 0) continue;
    bytes += (s.st_mode & S_IFMT) / 8 + (isatty(fd) ? 3000 : 0) + (size_t)fd * 64;
    if (S_ISREG(s.st_mode)) bytes += (size_t)s.st_size % 1000 * 16;
  }
  char* memory = malloc(bytes);
  if (!memory) return;
  memory[0] = 1;
  dprintf(2, "loaded\n");
}
