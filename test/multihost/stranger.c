/* A stranger in multicast groups: finds the IPv4 groups of 239.0.0.0/8 that this host has joined,
 * and their ports, in /proc, and sends datagrams to them: random ones, ones that look like a
 * member's but for the tag, and ones that members have sent to the same group or to another one,
 * once more.
 *   stranger INTERFACE        until it is killed; then it says how many datagrams of members it has
 *                             sent again */
#include <arpa/inet.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kMostHeard = 64, kMostGroups = 16 };
static struct {
  unsigned char bytes[1500];
  ssize_t length;
} heard[kMostHeard];
static struct {
  uint32_t address;
  uint16_t port;
  int socket;
} groups[kMostGroups];
static unsigned n_heard, n_groups;
static volatile sig_atomic_t ended;
static void end(int signal_number) {
  (void)signal_number;
  ended = 1;
}

/* Joins the group in place of the one that was joined longest ago, unless it is joined already. */
static void join(uint32_t address, uint16_t port, unsigned interface) {
  for (unsigned i = 0; i < n_groups && i < kMostGroups; ++i)
    if (groups[i].address == address && groups[i].port == port) return;
  const unsigned at = n_groups++ % kMostGroups;
  if (n_groups > kMostGroups) close(groups[at].socket);
  const int on = 1, s = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {address}};
  struct ip_mreqn membership = {.imr_multiaddr = {address}, .imr_ifindex = (int)interface};
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(s, (struct sockaddr*)&own, sizeof own) ||
      setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership))
    perror("stranger: join");
  groups[at].address = address;
  groups[at].port = port;
  groups[at].socket = s;
}

/* Keeps what has come lately. */
static void hear(void) {
  for (unsigned i = 0; i < n_groups && i < kMostGroups; ++i)
    for (int k = 0; k < 8; ++k) {
      const unsigned at = n_heard % kMostHeard;
      heard[at].length = recv(groups[i].socket, heard[at].bytes, sizeof heard[at].bytes, 0);
      if (heard[at].length <= 0) break;
      ++n_heard;
    }
}

static unsigned long again;
static void send_again(int s, uint32_t address, uint16_t port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {address}};
  for (int i = 0; i < 10 && n_heard > 0; ++i) {
    const unsigned at = (unsigned)rand() % (n_heard < kMostHeard ? n_heard : kMostHeard);
    if (heard[at].length > 0)
      again += sendto(s, heard[at].bytes, (size_t)heard[at].length, 0, (struct sockaddr*)&to,
                      sizeof to) > 0;
  }
}

static void send_some(int s, uint32_t address, uint16_t port) {
  unsigned char bytes[1400];
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {address}};
  for (int i = 0; i < 20; ++i) {
    const size_t length = 1 + (size_t)rand() % sizeof bytes;
    for (size_t k = 0; k < length; ++k) bytes[k] = (unsigned char)rand();
    if (i % 2 && length > 72) {
      memset(bytes + 64, 0, 8);
      bytes[64] = (unsigned char)(1 + rand() % 5); /* where a header has its kind */
    }
    sendto(s, bytes, length, 0, (struct sockaddr*)&to, sizeof to);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: stranger INTERFACE\n");
    return 2;
  }
  struct ip_mreqn out = {.imr_ifindex = (int)if_nametoindex(argv[1])};
  int s = socket(AF_INET, SOCK_DGRAM, 0);
  if (s < 0 || setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof out)) {
    perror("stranger");
    return 1;
  }
  signal(SIGTERM, end);
  while (!ended) {
    /* Sockets that are bound to a group: "  12: 0100F5EF:4E20 ..." */
    FILE* file = fopen("/proc/net/udp", "r");
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
      unsigned address, port;
      if (sscanf(line, " %*d: %x:%x", &address, &port) == 2 && (address & 0xff) == 239) {
        join(address, (uint16_t)port, (unsigned)out.imr_ifindex);
        send_some(s, address, (uint16_t)port);
        send_again(s, address, (uint16_t)port);
      }
    }
    if (file) fclose(file);
    hear();
    const struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
  }
  printf("%lu sent again\n", again);
  return 0;
}
