/* What a process uses of the system now: for tests that nothing grows. */
#ifndef FGMPI_TEST_USAGE_H
#define FGMPI_TEST_USAGE_H

#include <dirent.h>
#include <unistd.h>

#include "mpitest.h"

/* Its own descriptors, and three: "." and "..", and the one that looks. */
static inline int open_descriptors(void) {
  int n = 0;
  DIR* d = opendir("/proc/self/fd");
  CHECK(d);
  while (readdir(d)) ++n;
  closedir(d);
  return n;
}

static inline long resident_kib(void) {
  long pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  CHECK(f && fscanf(f, "%*d %ld", &pages) == 1);
  fclose(f);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

#endif
