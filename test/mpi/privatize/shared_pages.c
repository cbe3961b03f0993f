/* Code and constants of all images are one copy in memory: what /proc/self/smaps says of the
 * program's mappings. */
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

enum { kConstants = 1 << 18 };
static const char constants[kConstants] = {1, 2, 3}; /* pages of .rodata that every rank reads */
static int own = 1;                                  /* so that there are images */

struct sums {
  int mappings;
  long rss, pss, written; /* KiB; written: pages that are no longer the file's */
};

/* Sums up the program's mappings that hold code and those that are only read. */
static struct sums look(void) {
  struct sums s = {0, 0, 0, 0};
  char line[4096], self[4096], mode[5] = "", name[64];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  long kib;
  int ours = 0, offset;
  FILE* file = fopen("/proc/self/smaps", "r");
  CHECK(file && length > 0);
  self[length] = 0;
  while (fgets(line, sizeof line, file)) {
    offset = 0;
    if (sscanf(line, "%*x-%*x %4s %*s %*s %*s %n", mode, &offset) == 1 && offset > 0) {
      line[strcspn(line, "\n")] = 0;
      ours = strchr(mode, 'x') && strcmp(line + offset, self) == 0;
      s.mappings += ours;
    } else if (ours && sscanf(line, "%63[^:]: %ld kB", name, &kib) == 2) {
      if (strcmp(name, "Rss") == 0) s.rss += kib;
      if (strcmp(name, "Pss") == 0) s.pss += kib;
      if (strcmp(name, "Anonymous") == 0) s.written += kib;
    }
  }
  fclose(file);
  return s;
}

int main(int argc, char** argv) {
  int rank, size, i, sum = 0;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  own += rank;
  for (i = 0; i < kConstants; ++i) sum += *(const volatile char*)&constants[i];
  CHECK(sum == 6);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    struct sums s = look();
    const long one_copy = 4 * kConstants / 1024;
    fprintf(stderr, "%d mappings: %ld KiB resident in all, %ld KiB in memory, %ld KiB written\n",
            s.mappings, s.rss, s.pss, s.written);
    CHECK(s.mappings == size);
    CHECK(s.written == 0);
    CHECK(s.rss >= (size - 1) * (kConstants / 1024)); /* the first image has them apart from code */
    CHECK(s.pss <= one_copy);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(own == 1 + rank);
  return finish();
}
