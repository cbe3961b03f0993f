/* Threads of a rank that all call MPI (MPI_THREAD_MULTIPLE, with libraries that grant it): each is
 * a thread of the trace. */
#include <mpi.h>
#include <pthread.h>
static int rank, size;
static void* work(void* number) {
  const int tag = (int)(long)number;
  MPI_Comm dup;
  for (int i = 0; i < 200; ++i) {
    int out = i, in[2] = {-1, -1};
    MPI_Request r[4];
    for (int j = 0; j < 2; ++j)
      MPI_Irecv(&in[j], 1, MPI_INT, (rank + size - 1) % size, tag + 10 * j, MPI_COMM_WORLD, &r[j]);
    for (int j = 0; j < 2; ++j) /* complete at once, most of them: then all have one handle */
      MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, tag + 10 * j, MPI_COMM_WORLD, &r[2 + j]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    if (in[0] != i || in[1] != i) MPI_Abort(MPI_COMM_WORLD, 3);
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
