/* Threads of a rank that all call MPI (MPI_THREAD_MULTIPLE, with libraries that grant it): each is a thread of the trace. */
#include <mpi.h>
#include <pthread.h>
static int rank, size;
static void* work(void* number) {
  const int tag = (int)(long)number;
  MPI_Comm dup;
  for (int i = 0; i < 200; ++i) {
    int out = i, in = -1;
    MPI_Request r[2];
    MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    if (in != i) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Comm_dup(MPI_COMM_SELF, &dup);
  MPI_Comm_free(&dup);
  return 0;
}
int main(int argc, char** argv) {
  int level;
  pthread_t threads[3];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (level != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 77);
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], 0, work, (void*)(i + 1));
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  MPI_Finalize();
  return 0;
}
