/* All ranks send to all processes at once: a rank of each process, another one for each message, so
 * that every rank receives as many as it sends. No receive is posted before every message of the
 * job is on its way. Nothing may be lost, come twice or be damaged, and what waits to be received
 * takes a bounded part of memory: FGMPI_UNEXPECTED_LIMIT bytes of messages and some tens of bytes
 * for each that waits at its sender.
 *   MESSAGES (4): from each rank to each process;  BYTES (2000): of each */
#include <stdint.h>
#include <string.h>

#include "mpitest.h"

/* There when the library is built with the address sanitizer, which keeps freed memory and marks
 * all. */
extern void __asan_init(void) __attribute__((weak));

static long resident_kib(void) {
  long kib = -1;
  char line[200];
  FILE* f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "RssAnon: %ld kB", &kib) == 1) break;
  if (f) fclose(f);
  return kib;
}

static uint32_t word(int from, int i) {
  return (uint32_t)from * 2654435761u ^ (uint32_t)i * 40503u;
}

static int number_or(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text ? atoi(text) : otherwise;
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int each = number_or("FGMPI_NFG", 1), processes = size / each;
  const int messages = number_or("MESSAGES", 4), words = number_or("BYTES", 2000) / 4;
  const int process = rank / each, local = rank % each, count = processes * messages;
  uint32_t* out = malloc(words * sizeof *out);
  uint32_t* in = malloc(words * sizeof *in);
  MPI_Request* requests = malloc(count * sizeof *requests);
  char* seen = calloc(count, 1);
  for (int i = 0; i < words; ++i) out[i] = word(rank, i), in[i] = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long before = resident_kib();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  /* Message m goes to the rank that is so many further in the process: each rank has one source a
   * process and m. */
  for (int q = 0; q < processes; ++q)
    for (int m = 0; m < messages; ++m) {
      int shift = (int)((m * 7919L + process * 31L + q) % each);
      OK(MPI_Isend(out, words, MPI_UNSIGNED, q * each + (local + shift) % each, m, MPI_COMM_WORLD,
                   &requests[q * messages + m]));
    }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long waiting = resident_kib();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < count; ++i) {
    MPI_Status status;
    int got;
    OK(MPI_Recv(in, words, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_UNSIGNED, &got));
    const int from = status.MPI_SOURCE, m = status.MPI_TAG, p = from / each;
    CHECK(got == words && m >= 0 && m < messages);
    int shift = (int)((m * 7919L + p * 31L + process) % each);
    CHECK((from % each + shift) % each == local);
    CHECK(!seen[p * messages + m]);
    seen[p * messages + m] = 1;
    for (int w = 0; w < words; ++w) CHECK(in[w] == word(from, w));
  }
  OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  int there;
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
  CHECK(!there);
  /* With a limit given: that, 600 bytes for each message, for its request and what is kept of it
   * where it is to go, and 8 MiB for the network's buffers. Messages of 4 bytes take 540 to 580. */
  const char* limit = getenv("FGMPI_UNEXPECTED_LIMIT");
  if (local == 0 && limit && !__asan_init) {
    long kept = waiting - before, all = (long)each * count * words / 256;
    long allowed = atol(limit) * 1024 + (long)each * count * 600 / 1024 + 8192;
    if (rank == 0)
      printf(
          "%d ranks, %d messages each: %ld KiB of messages to a process wait in %ld KiB (%ld "
          "allowed)\n",
          size, count, all, kept, allowed);
    CHECK(strchr(limit, 'm') && kept <= allowed && allowed < all);
  }
  free(out), free(in), free(requests), free(seen);
  return finish();
}
