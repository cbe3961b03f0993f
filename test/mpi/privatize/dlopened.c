/* Not linked with an MPI library: loads it at run time, as interpreters do with their extension
   modules, and calls MPI from there. One rank a process. Built by dlopened.sh. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h> /* types and constants only */

#define FUNCTION(name) \
  __typeof__(&MPI_##name) name = (__typeof__(&MPI_##name))dlsym(library, "MPI_" #name)

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  void* library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  FUNCTION(Init);
  FUNCTION(Initialized);
  FUNCTION(Comm_rank);
  FUNCTION(Comm_size);
  FUNCTION(Comm_split);
  FUNCTION(Iallreduce);
  FUNCTION(Wait);
  FUNCTION(Sendrecv);
  FUNCTION(Recv);
  FUNCTION(Type_contiguous);
  FUNCTION(Type_commit);
  FUNCTION(Type_free);
  FUNCTION(Finalize);
  int flag = 1, rank, size, sum = 0, got = -1;
  Initialized(&flag);
  if (flag) return 2;
  Init(&argc, &argv);
  Comm_rank(MPI_COMM_WORLD, &rank);
  Comm_size(MPI_COMM_WORLD, &size);
  if (!strcmp(how, "exit")) exit(rank == 1 ? 7 : 0);
  if (!strcmp(how, "deadlock"))
    Recv(&got, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm half;
  MPI_Request request;
  MPI_Datatype pair;
  Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  Wait(&request, MPI_STATUS_IGNORE);
  if (sum != size * (size - 1) / 2) return 3;
  Type_contiguous(2, MPI_INT, &pair); /* the hosted MPI is loaded */
  Type_commit(&pair);
  int mine[2] = {rank, -rank}, theirs[2];
  Sendrecv(mine, 1, pair, (rank + 1) % size, 0, theirs, 1, pair, (rank + size - 1) % size, 0,
           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  Type_free(&pair);
  if (theirs[0] != (rank + size - 1) % size || theirs[1] != -theirs[0]) return 4;
  if (strcmp(how, "forget")) Finalize();
  printf("rank %d of %d is well\n", rank, size);
  return 0;
}
