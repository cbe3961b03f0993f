/* Random traffic with wildcards: messages of one source come in the order they were sent. */
#include <string.h>

#include "mpitest.h"

static unsigned long seed;
static int pick(int n) {
  seed = seed * 6364136223846793005ul + 1442695040888963407ul;
  return (int)(seed >> 33) % n;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int peers = size < 8 ? size : 8, each = 300 / peers, total = each * peers;
  seed = 12345u + (unsigned)rank;
  int *sent = calloc(peers, sizeof(int)), *seen = calloc(peers, sizeof(int));
  MPI_Request* requests = malloc(total * sizeof(MPI_Request));
  int** outv = malloc(total * sizeof(int*));
  static int in[12000];
  int to_send = total, to_receive = total;
  /* My k-th peer to send to is rank + k, the k-th to receive from is rank - k. */
  while (to_send + to_receive > 0) {
    if (to_send > 0 && (to_receive == 0 || pick(3))) {
      int k = pick(peers), n = 2 + (pick(6) ? pick(100) : pick(11000)), i = total - to_send;
      while (sent[k] == each) k = (k + 1) % peers;
      outv[i] = malloc(n * sizeof(int));
      for (int j = 0; j < n; j++) outv[i][j] = j;
      outv[i][0] = k;
      outv[i][1] = sent[k]++;
      if (pick(4))
        OK(MPI_Isend(outv[i], n, MPI_INT, (rank + k) % size, n, MPI_COMM_WORLD, &requests[i]));
      else
        OK(MPI_Issend(outv[i], n, MPI_INT, (rank + k) % size, n, MPI_COMM_WORLD, &requests[i]));
      to_send--;
    } else {
      MPI_Status s;
      int flag = 1, source = MPI_ANY_SOURCE, n;
      if (pick(2)) {
        int k = pick(peers);
        while (seen[k] == each) k = (k + 1) % peers;
        source = (rank + size - k) % size;
      }
      if (to_send > 0) OK(MPI_Iprobe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s));
      if (!flag) continue;
      OK(MPI_Recv(in, 12000, MPI_INT, source, MPI_ANY_TAG, MPI_COMM_WORLD, &s));
      OK(MPI_Get_count(&s, MPI_INT, &n));
      int k = in[0];
      CHECK(s.MPI_SOURCE == (rank + size - k) % size);
      CHECK(n == s.MPI_TAG && in[1] == seen[k]++);
      for (int j = 2; j < n; j++) CHECK(in[j] == j);
      to_receive--;
    }
  }
  OK(MPI_Waitall(total, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < total; i++) free(outv[i]);
  free(outv);
  free(requests);
  free(sent);
  free(seen);
  return finish();
}
