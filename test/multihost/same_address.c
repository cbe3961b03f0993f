/* Preloaded into the programs of two jobs, so that the first addresses that they draw for groups of
 * the multicast are the same: of random bytes the first two (a port) and the first four (an IPv4
 * address) are constants. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t getrandom(void* bytes, size_t count, unsigned flags) {
  static int drawn[5];
  if ((count == 2 || count == 4) && !drawn[count]++) {
    memset(bytes, 17, count);
    return (ssize_t)count;
  }
  return syscall(SYS_getrandom, bytes, count, flags);
}
