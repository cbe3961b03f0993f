/* A network that delays and loses packets, for kernels without the netem scheduler.
 *   lossy_link DELAY_MS LOSS_PERCENT NAMESPACE...
 *
 * Makes a TUN interface lossy0 in each network namespace (files as in /run/netns) and carries
 * packets between them: the n-th namespace has the addresses that end in .n; what is sent to a
 * multicast address comes to all others. Each packet, on its way to each, is lost with the given
 * probability (a fixed sequence of random numbers), else delivered after the delay. Says "ready"
 * when the interfaces are there, and on SIGTERM how many packets it carried and lost. An interface
 * drops what it cannot keep, so this process goes before all others that have no real-time
 * priority: beside a load that filled all cores, a third of the packets were dropped that way. Ends
 * with 77 and the reason where there are no TUN devices. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kMostHosts = 16, kMostBytes = 2000, kQueue = 32768, kAtATime = 32 };

struct Packet {
  int64_t due; /* ns */
  int to;      /* index of the namespace */
  int length;
  unsigned char bytes[kMostBytes];
};

static struct Packet queue[kQueue]; /* the delay is the same for all, so it is in order */
static size_t head, tail;
static unsigned long carried, lost;
static volatile sig_atomic_t stopped;

static void stop(int signal) {
  (void)signal;
  stopped = 1;
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static double uniform(void) {
  static uint64_t x = 88172645463325252u;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return (double)(x >> 11) / 9007199254740992.0;
}

static int open_interface(const char* namespace) {
  int ns = open(namespace, O_RDONLY | O_CLOEXEC);
  if (ns < 0 || setns(ns, CLONE_NEWNET)) {
    fprintf(stderr, "lossy_link: %s: %s\n", namespace, strerror(errno));
    exit(1);
  }
  close(ns);
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  strcpy(request.ifr_name, "lossy0");
  if (fd < 0 || ioctl(fd, TUNSETIFF, &request)) {
    fprintf(stderr, "lossy_link: no TUN devices here: %s\n", strerror(errno));
    exit(77);
  }
  return fd;
}

static void carry(const unsigned char* bytes, int length, int to, double loss, int64_t delay) {
  if (tail - head == kQueue) return;
  if (uniform() < loss) {
    ++lost;
    return;
  }
  struct Packet* p = &queue[tail % kQueue];
  memcpy(p->bytes, bytes, (size_t)length);
  p->due = now_ns() + delay;
  p->to = to;
  p->length = length;
  ++tail;
}

/* Takes in what came from namespace number `from`, but not so much that the interfaces of others
 * overflow meanwhile. */
static void take(int fd, int from, int hosts, double loss, int64_t delay) {
  for (int i = 0; i < kAtATime; ++i) {
    unsigned char bytes[kMostBytes];
    ssize_t n = read(fd, bytes, kMostBytes);
    if (n <= 0) return;
    if (n < 20 || bytes[0] >> 4 != 4) continue; /* IPv4 only */
    if (bytes[16] >> 4 == 14) { /* multicast; not what only routers and hosts are told */
      for (int to = 0; bytes[16] == 239 && to < hosts; ++to)
        if (to != from) carry(bytes, (int)n, to, loss, delay);
    } else if (bytes[19] >= 1 && bytes[19] <= hosts) {
      carry(bytes, (int)n, bytes[19] - 1, loss, delay);
    }
  }
}

/* The kernel may weigh sessions against each other first, and priorities within a session only
 * (sched_autogroup). */
static void go_before_others(void) {
  setsid();
  setpriority(PRIO_PROCESS, 0, -20);
  int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "-20", 3) < 0) fprintf(stderr, "lossy_link: no priority: %s\n", strerror(errno));
  close(fd);
}

int main(int argc, char** argv) {
  int hosts = argc - 3;
  if (hosts < 1 || hosts > kMostHosts) {
    fprintf(stderr, "usage: lossy_link DELAY_MS LOSS_PERCENT NAMESPACE... (1 to %d)\n", kMostHosts);
    return 2;
  }
  int64_t delay = (int64_t)(atof(argv[1]) * 1e6);
  double loss = atof(argv[2]) / 100;
  struct pollfd fds[kMostHosts];
  for (int i = 0; i < hosts; ++i) fds[i] = (struct pollfd){open_interface(argv[3 + i]), POLLIN, 0};
  go_before_others();
  signal(SIGTERM, stop);
  puts("ready");
  fflush(stdout);
  while (!stopped) {
    int64_t wait = head == tail ? 1000000000 : queue[head % kQueue].due - now_ns();
    if (wait < 0) wait = 0;
    struct timespec timeout = {wait / 1000000000, wait % 1000000000};
    if (ppoll(fds, hosts, &timeout, NULL) < 0 && errno != EINTR) break;
    for (int i = 0; i < hosts; ++i)
      if (fds[i].revents & POLLIN) take(fds[i].fd, i, hosts, loss, delay);
    for (; head != tail && queue[head % kQueue].due <= now_ns(); ++head, ++carried) {
      struct Packet* p = &queue[head % kQueue];
      if (write(fds[p->to].fd, p->bytes, p->length) < 0) ++lost;
    }
  }
  printf("%lu packets carried, %lu lost\n", carried, lost);
  return 0;
}
