/* Parts of mappings of files: replaced, given back, protected, grown; and a file that all ranks have mapped. What a checkpoint
 * has saved of a page does not come back where a later one has it otherwise. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint.h"

enum {
  kPage = 4096,
  kPages = 8,
  kBytes = kPage * kPages,
  kOdd = 2 * kPage + 100,
  kLarge = 8 << 20
};

/* A file whose page i holds 'a' + i. */
static int make_file(const char* begin, int bytes) {
  char name[100], page[kPage];
  snprintf(name, sizeof name, "%s.%d", begin, rank);
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i * kPage < bytes; ++i) {
    memset(page, 'a' + i % 26, sizeof page);
    const int n = bytes - i * kPage < kPage ? bytes - i * kPage : kPage;
    CHECK(write(fd, page, n) == n);
  }
  return fd;
}

/* A file that cannot be compressed; rank 0's is large. */
static int make_random_file(const char* begin) {
  uint64_t page[kPage / 8], x = 62;
  const int fd = make_file(begin, 0);
  for (int i = 0; i < (rank == 0 ? kLarge / kPage : 1); ++i) {
    for (int k = 0; k < kPage / 8; ++k)
      page[k] = x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
    CHECK(write(fd, page, kPage) == kPage);
  }
  return fd;
}

static char* map(int fd, int bytes, int protection, int flags) {
  char* const at = mmap(NULL, bytes, protection, flags, fd, 0);
  CHECK(at != MAP_FAILED);
  return at;
}

/* Has all of page i this value? */
static int is_all(const char* at, int i, int value) {
  for (int k = 0; k < kPage; ++k)
    if (at[i * kPage + k] != (char)value) return 0;
  return 1;
}

static char* map_common(void) {
  if (rank == 0) {
    const int fd = open("common", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, size * (off_t)kPage) == 0);
    close(fd);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int fd = open("common", O_RDWR);
  CHECK(fd >= 0);
  char* const at = map(fd, size * kPage, PROT_READ | PROT_WRITE, MAP_SHARED);
  close(fd);
  at[rank * kPage] = (char)(rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  return at;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int parts = make_file("parts", kBytes), odd = make_file("odd", kOdd);
  const int both = PROT_READ | PROT_WRITE;
  CHECK(mmap(NULL, SIZE_MAX - 100, PROT_READ, MAP_PRIVATE, parts, 0) == MAP_FAILED &&
        errno == ENOMEM);
  CHECK(mmap(NULL, SIZE_MAX - 100, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
        errno == ENOMEM);
  CHECK(mmap(NULL, kBytes, PROT_READ, MAP_PRIVATE, parts, 100) == MAP_FAILED && errno == EINVAL);
  char* const common = map_common();
  char* const replaced = map(parts, kBytes, both, MAP_PRIVATE);
  char* const given_back = map(parts, kBytes, both, MAP_PRIVATE);
  char* const dropped = map(parts, kBytes, both, MAP_PRIVATE);
  char* const hidden = map(parts, kBytes, both, MAP_PRIVATE);
  char* const ends =
      map(odd, 4 * kPage, both, MAP_PRIVATE); /* its last page lies behind the file's end */
  /* A checkpoint that had its pages would be larger than it (mapping_parts.sh). */
  const int large = make_random_file("large"), large_bytes = rank == 0 ? kLarge : kPage;
  char* const read_all = map(large, large_bytes, PROT_READ, MAP_PRIVATE);
  char* const reserved = map(-1, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS);
  char* moved = map(parts, kBytes, both, MAP_PRIVATE);
  unsigned sum = 0;
  for (int k = 0; k < large_bytes; k += 512) sum += read_all[k];
  for (int i = 0; i < kPages; ++i) {
    memset(replaced + i * kPage, 1, 100);
    memset(given_back + i * kPage, 2, 100);
    memset(dropped + i * kPage, 3, kPage);
    memset(moved + i * kPage, 4, kPage);
  }
  ends[kOdd] = 5;
  checkpoint();
  CHECK(mmap(replaced + 2 * kPage, 2 * kPage, both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == replaced + 2 * kPage);
  CHECK(mmap(replaced + 5 * kPage, kPage, both, MAP_PRIVATE | MAP_FIXED, odd, kPage) ==
        replaced + 5 * kPage);
  CHECK(mmap(reserved + kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, parts, 3 * kPage) ==
        reserved + kPage);
  CHECK(mmap(reserved + 4 * kPage, kPage, both, MAP_SHARED | MAP_FIXED, odd, 0) ==
        reserved + 4 * kPage);
  CHECK(munmap(given_back + 2 * kPage, 3 * kPage) == 0 && munmap(given_back + 1, kPage) == -1);
  CHECK(madvise(dropped + 3 * kPage, 2 * kPage, MADV_DONTNEED) == 0);
  CHECK(mprotect(hidden + kPage, 2 * kPage, PROT_NONE) == 0 &&
        mprotect(hidden + 4 * kPage, kPage, PROT_READ) == 0);
  CHECK(mremap(moved, kBytes, 3 * kPage, MREMAP_MAYMOVE) == moved);
  moved = mremap(moved, 3 * kPage, 5 * kPage, MREMAP_MAYMOVE);
  CHECK(moved != MAP_FAILED);
  checkpoint();
  ends[kOdd + 1] = 6;
  checkpoint();
  for (int i = 0; i < size; ++i)
    CHECK(common[i * kPage] == (char)(i + 1) && common[i * kPage + 1] == 0);
  for (int i = 0; i < kPages; ++i) {
    if (i == 2 || i == 3)
      CHECK(is_all(replaced, i, 0));
    else
      CHECK(replaced[i * kPage] == (i == 5 ? 'b' : 1) &&
            replaced[i * kPage + 100] == (i == 5 ? 'b' : 'a' + i));
    if (i < 2 || i > 4)
      CHECK(given_back[i * kPage + 99] == 2 && given_back[i * kPage + 100] == 'a' + i);
    CHECK(is_all(dropped, i, i == 3 || i == 4 ? 'a' + i : 3));
    if (i != 1 && i != 2) CHECK(is_all(hidden, i, 'a' + i));
    if (i < 5) CHECK(is_all(moved, i, i < 3 ? 4 : 'a' + i));
  }
  CHECK(is_all(reserved, 1, 'd') && is_all(reserved, 4, 'a') && is_all(ends, 1, 'b'));
  CHECK(ends[kOdd - 1] == 'c' && ends[kOdd] == 5 && ends[kOdd + 1] == 6 && ends[kOdd + 2] == 0);
  for (int k = 0; k < large_bytes; k += 512) sum -= read_all[k];
  CHECK(sum == 0);
  CHECK(mprotect(hidden + kPage, 2 * kPage, both) == 0 && is_all(hidden, 1, 'b') &&
        is_all(hidden, 2, 'c'));
  CHECK(munmap(replaced, kBytes) == 0 && munmap(given_back, kBytes) == 0 &&
        munmap(read_all, large_bytes) == 0);
  return finish();
}
