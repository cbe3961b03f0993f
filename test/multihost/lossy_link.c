/* A network that delays and loses packets, for kernels without the netem scheduler.
 *   lossy_link DELAY_MS[@MBIT] LOSS_PERCENT NAMESPACE...
 *
 * Makes a TUN interface lossy0 in each network namespace (files as in /run/netns) and carries
 * packets between them: the n-th namespace has the addresses that end in .n; what is sent to a
 * multicast address comes to all others. Each packet, on its way to each, is lost with the given
 * probability (a fixed sequence of random numbers), else delivered after the delay. With MBIT each
 * namespace has a port of so many Mbit/s in each direction: a packet keeps that of its sender busy
 * for its bytes, then, the delay later, that of its receiver. Says "ready"
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

enum { kMostHosts = 16, kMostBytes = 2000, kQueue = 4096, kAtATime = 32 };

struct Packet {
  int64_t due; /* ns */
  int to;      /* index of the namespace */
  int length;
  unsigned char bytes[kMostBytes];
};

/* Packets in the order in which they are due. */
struct Queue {
  struct Packet packets[kQueue];
  size_t head, tail;
};
/* One end of a link: what has left it and is on its way, what it receives, and when it is free
 * again in each direction, ns. */
static struct Port {
  struct Queue leaving, coming;
  int64_t out, in;
} ports[kMostHosts];
static double ns_per_byte; /* 0: as many as there are */
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

/* A port carries a packet that has come at `at`. Returns when it begins. */
static int64_t occupy(int64_t* port, int64_t at, int length) {
  int64_t begin = *port > at ? *port : at;
  *port = begin + (int64_t)(ns_per_byte * length);
  return begin;
}

static struct Packet* append(struct Queue* queue, const unsigned char* bytes, int length) {
  if (queue->tail - queue->head == kQueue) return NULL;
  struct Packet* p = &queue->packets[queue->tail++ % kQueue];
  memcpy(p->bytes, bytes, (size_t)length);
  p->length = length;
  return p;
}

static void carry(const unsigned char* bytes, int length, int from, int to, double loss,
                  int64_t delay) {
  struct Port* port = &ports[from];
  struct Packet* p;
  if (uniform() < loss || !(p = append(&port->leaving, bytes, length))) {
    ++lost;
    return;
  }
  p->to = to;
  p->due = occupy(&port->out, now_ns(), length) + delay;
}

/* The queue of packets that leave whose first one is due first; NULL: all are empty. */
static struct Queue* first_leaving(int hosts) {
  struct Queue* first = NULL;
  for (int i = 0; i < hosts; ++i) {
    struct Queue* q = &ports[i].leaving;
    if (q->head == q->tail) continue;
    if (!first || q->packets[q->head % kQueue].due < first->packets[first->head % kQueue].due)
      first = q;
  }
  return first;
}

/* Moves what has reached its receiver's port, and delivers what has passed it. Returns when the next
 * packet is due. */
static int64_t deliver(const struct pollfd* fds, int hosts) {
  int64_t next = INT64_MAX;
  for (struct Queue* q; (q = first_leaving(hosts)); ++q->head) {
    const struct Packet* from = &q->packets[q->head % kQueue];
    if (from->due > now_ns()) {
      next = from->due;
      break;
    }
    struct Port* port = &ports[from->to];
    struct Packet* p = append(&port->coming, from->bytes, from->length);
    if (!p)
      ++lost;
    else
      p->due = occupy(&port->in, from->due, p->length) + (int64_t)(ns_per_byte * p->length);
  }
  for (int to = 0; to < hosts; ++to) {
    struct Queue* q = &ports[to].coming;
    for (; q->head != q->tail; ++q->head, ++carried) {
      struct Packet* p = &q->packets[q->head % kQueue];
      if (p->due > now_ns()) {
        if (p->due < next) next = p->due;
        break;
      }
      if (write(fds[to].fd, p->bytes, (size_t)p->length) < 0) ++lost;
    }
  }
  return next;
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
        if (to != from) carry(bytes, (int)n, from, to, loss, delay);
    } else if (bytes[19] >= 1 && bytes[19] <= hosts) {
      carry(bytes, (int)n, from, bytes[19] - 1, loss, delay);
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
    fprintf(stderr, "usage: lossy_link DELAY_MS[@MBIT] LOSS_PERCENT NAMESPACE... (1 to %d)\n",
            kMostHosts);
    return 2;
  }
  int64_t delay = (int64_t)(atof(argv[1]) * 1e6);
  const char* rate = strchr(argv[1], '@');
  if (rate) ns_per_byte = 8000 / atof(rate + 1);
  double loss = atof(argv[2]) / 100;
  struct pollfd fds[kMostHosts];
  for (int i = 0; i < hosts; ++i) fds[i] = (struct pollfd){open_interface(argv[3 + i]), POLLIN, 0};
  go_before_others();
  signal(SIGTERM, stop);
  puts("ready");
  fflush(stdout);
  while (!stopped) {
    int64_t next = deliver(fds, hosts), wait = 1000000000;
    if (next != INT64_MAX) wait = next - now_ns();
    if (wait < 0) wait = 0;
    struct timespec timeout = {wait / 1000000000, wait % 1000000000};
    if (ppoll(fds, (nfds_t)hosts, &timeout, NULL) < 0 && errno != EINTR) break;
    for (int i = 0; i < hosts; ++i)
      if (fds[i].revents & POLLIN) take(fds[i].fd, i, hosts, loss, delay);
  }
  printf("%lu packets carried, %lu lost\n", carried, lost);
  return 0;
}
