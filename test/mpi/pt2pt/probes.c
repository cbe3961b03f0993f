/* Probes, matched probes and receives, with and without wildcards. */
#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size, flag, count, n;
  static int in[20000], outv[20000];
  MPI_Status s, t;
  MPI_Message m;
  MPI_Request r;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 20000; i++) outv[i] = rank + i;

  /* All send to 0, who learns sizes by probing. */
  for (int round = 0; round < 8; round++) {
    n = (rank * 37 + round * 991) % 20000;
    OK(MPI_Isend(outv, n, MPI_INT, 0, round, MPI_COMM_WORLD, &r));
    if (rank == 0) {
      for (int i = 0; i < size; i++) {
        int from = i, how = (round + i) % 4;
        if (how == 0) OK(MPI_Probe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &s));
        if (how == 1) do
            OK(MPI_Iprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &flag, &s));
          while (!flag);
        if (how == 2) OK(MPI_Mprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &m, &s));
        if (how == 3) do
            OK(MPI_Improbe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &flag, &m, &s));
          while (!flag);
        from = s.MPI_SOURCE;
        OK(MPI_Get_count(&s, MPI_INT, &count));
        CHECK(count == (from * 37 + round * 991) % 20000);
        if (how < 2) {
          OK(MPI_Recv(in, count, MPI_INT, from, round, MPI_COMM_WORLD, &t));
        } else if (i % 2) {
          OK(MPI_Mrecv(in, count, MPI_INT, &m, &t));
          CHECK(m == MPI_MESSAGE_NULL);
        } else {
          MPI_Request q;
          OK(MPI_Imrecv_c(in, count, MPI_INT, &m, &q));
          OK(MPI_Wait(&q, &t));
        }
        CHECK(t.MPI_SOURCE == from && t.MPI_TAG == round);
        for (int k = 0; k < count; k++) CHECK(in[k] == from + k);
      }
    }
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  }

  /* A message taken by a matched probe is not there for others, and later ones are not held up. */
  OK(MPI_Isend(&outv[1], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r));
  OK(MPI_Mprobe(rank, 1, MPI_COMM_WORLD, &m, &s));
  OK(MPI_Iprobe(rank, 1, MPI_COMM_WORLD, &flag, &s));
  CHECK(!flag);
  OK(MPI_Send(&outv[2], 1, MPI_INT, rank, 1, MPI_COMM_WORLD));
  OK(MPI_Recv(in, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &s));
  CHECK(in[0] == outv[2]);
  OK(MPI_Mrecv(in, 1, MPI_INT, &m, &s));
  CHECK(in[0] == outv[1]);
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));

  OK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &m, &s));
  CHECK(m == MPI_MESSAGE_NO_PROC && s.MPI_SOURCE == MPI_PROC_NULL);
  OK(MPI_Mrecv(in, 1, MPI_INT, &m, &s));
  CHECK(m == MPI_MESSAGE_NULL && s.MPI_SOURCE == MPI_PROC_NULL);
  OK(MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &s));
  CHECK(flag && s.MPI_SOURCE == MPI_PROC_NULL);
  return finish();
}
