/* Files that ranks have mapped go on with them: private mappings with the pages that were written, read-only and shared ones. The
 * files stay for restarts: fixed.RANK never changes, shared.RANK does behind the last checkpoint. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint.h"

enum { kPage = 4096, kPages = 16, kBytes = kPage * kPages };

static int make_file(const char* begin) {
  char name[100], page[kPage];
  snprintf(name, sizeof name, "%s.%d", begin, rank);
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < kPages; ++i) {
    memset(page, 'a' + i, sizeof page);
    CHECK(write(fd, page, sizeof page) == kPage);
  }
  return fd;
}

/* Has the file's page `in_file` at page `i`? */
static int is_of_file(const char* at, int i, int in_file) {
  for (int k = 0; k < kPage; k += 511)
    if (at[i * kPage + k] != 'a' + in_file) return 0;
  return 1;
}

static int is_writable(char* at) {
  const char before = *at;
  const int zeros = open("/dev/zero", O_RDONLY);
  const ssize_t got = read(zeros, at, 1);
  CHECK(got == 1 || errno == EFAULT);
  close(zeros);
  if (got == 1) *at = before;
  return got == 1;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  int fixed = make_file("fixed"), shared = make_file("shared");
  char* read_only = mmap(NULL, kBytes, PROT_READ, MAP_PRIVATE, fixed, 0);
  char* written = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fixed, 0);
  char* protected = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fixed, kPage);
  char* shared_read = mmap(NULL, kBytes, PROT_READ, MAP_SHARED, fixed, 0);
  /* The last page lies behind the end of the file. */
  char* both = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared, kPage);
  char* holes = mmap(NULL, kBytes, PROT_READ, MAP_PRIVATE, fixed, 0);
  char* grown = mmap(NULL, 2 * kPage, PROT_READ, MAP_PRIVATE, fixed, 0);
  CHECK(read_only != MAP_FAILED && written != MAP_FAILED && protected != MAP_FAILED);
  CHECK(shared_read != MAP_FAILED && both != MAP_FAILED && holes != MAP_FAILED);
  grown = mremap(grown, 2 * kPage, kBytes, MREMAP_MAYMOVE);
  CHECK(grown != MAP_FAILED);
  close(fixed);
  close(shared);
  memset(written + kPage, rank, kPage);
  memset(written + 3 * kPage, 0, kPage);
  memset(protected, rank + 1, kPage);
  CHECK(mprotect(protected, kBytes, PROT_READ) == 0);
  CHECK(munmap(holes + 4 * kPage, 4 * kPage) == 0);
  both[0] = (char)(rank % 50);
  checkpoint();
  written[5 * kPage] = 'x';
  both[kPage] = 'y';
  checkpoint();
  for (int i = 0; i < kPages; ++i) {
    CHECK(is_of_file(read_only, i, i) && is_of_file(shared_read, i, i) && is_of_file(grown, i, i));
    if (i < 4 || i >= 8) CHECK(is_of_file(holes, i, i));
    if (i != 1 && i != 3 && i != 5) CHECK(is_of_file(written, i, i));
    if (i > 0 && i < kPages - 1) CHECK(is_of_file(protected, i, i + 1));
    if (i > 1 && i < kPages - 1) CHECK(is_of_file(both, i, i + 1));
  }
  for (int k = 0; k < kPage; ++k) {
    CHECK(written[kPage + k] == (char)rank && written[3 * kPage + k] == 0);
    CHECK(written[5 * kPage + k] == (k == 0 ? 'x' : 'f') && protected[k] == (char)(rank + 1));
  }
  CHECK(both[0] == (char)(rank % 50) || both[0] == 100);
  CHECK(both[kPage] == 'y' || both[kPage] == 'z');
  CHECK(is_writable(written) && is_writable(both) && !is_writable(protected));
  CHECK(!is_writable(read_only) && !is_writable(shared_read));
  /* What is written to a shared mapping is in the file. */
  both[0] = 100;
  both[kPage] = 'z';
  char name[100], got[2] = "";
  snprintf(name, sizeof name, "shared.%d", rank);
  shared = open(name, O_RDWR);
  CHECK(pread(shared, got, 1, kPage) == 1 && pread(shared, got + 1, 1, 2 * kPage) == 1);
  CHECK(got[0] == 100 && got[1] == 'z');
  close(shared);
  written[2 * kPage] = 'w';
  CHECK(mprotect(protected, kBytes, PROT_READ | PROT_WRITE) == 0);
  protected[kPage] = 'w';
  char* const all[] = {read_only, written, protected, shared_read, both, grown};
  for (int i = 0; i < 6; ++i) CHECK(munmap(all[i], kBytes) == 0);
  CHECK(munmap(holes, 4 * kPage) == 0 && munmap(holes + 8 * kPage, 8 * kPage) == 0);
  return finish();
}
