/* Preloaded by faults.sh: what is given to io_uring to write to files called "faulty" fails with
 * EIO from byte 1,000,000 on, as faults.c does it for system calls. A write from there on becomes
 * one to address 0 of this process's memory, which the kernel answers with EIO; one that reaches
 * there is cut short. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const unsigned long long kGood = 1000000;

static int is_faulty(int fd) {
  char path[64], link[4096];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(path, link, sizeof link - 1);
  link[n > 0 ? n : 0] = 0;
  return strstr(link, "/faulty") != NULL;
}

static void spoil(struct io_uring_sqe* entry) {
  static int nowhere = -1;
  if (entry->opcode != IORING_OP_WRITEV || !is_faulty(entry->fd)) return;
  const struct iovec* list = (const struct iovec*)(uintptr_t)entry->addr;
  unsigned long long end = entry->off;
  for (unsigned i = 0; i < entry->len; i++) end += list[i].iov_len;
  if (entry->off >= kGood) {
    if (nowhere < 0) nowhere = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    entry->fd = nowhere;
    entry->off = 0;
  } else if (end > kGood) {
    struct iovec* less = malloc(entry->len * sizeof *less); /* the kernel reads it later */
    unsigned long long left = kGood - entry->off;
    unsigned n = 0;
    for (; left > 0; n++) {
      less[n] = list[n];
      if (less[n].iov_len > left) less[n].iov_len = left;
      left -= less[n].iov_len;
    }
    entry->addr = (uintptr_t)less;
    entry->len = n;
  }
}

int io_uring_submit(struct io_uring* ring) {
  static int (*real)(struct io_uring*);
  if (!real) real = dlsym(RTLD_NEXT, "io_uring_submit");
  for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail; i++)
    spoil(&ring->sq.sqes[i & *ring->sq.kring_mask]);
  return real(ring);
}
