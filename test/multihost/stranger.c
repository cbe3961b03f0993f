/* A stranger in multicast groups: finds the IPv4 groups of 239.0.0.0/8 that this host has joined, and their ports, in /proc,
 * and sends datagrams to them: random ones, and ones that look like a member's but for the tag.
 *   stranger INTERFACE        until it is killed */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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
  for (;;) {
    /* Sockets that are bound to a group: "  12: 0100F5EF:4E20 ..." */
    FILE* file = fopen("/proc/net/udp", "r");
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
      unsigned address, port;
      if (sscanf(line, " %*d: %x:%x", &address, &port) == 2 && (address & 0xff) == 239)
        send_some(s, address, (uint16_t)port);
    }
    if (file) fclose(file);
    const struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
  }
}
