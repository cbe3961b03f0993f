/* Calls of MPI-1 that later standards removed: structures, addresses, attributes, error
 * handlers. */
#include <stdlib.h>
#include "mpi.h"

struct particle {
  double at[3];
  int kind;
  char name[4];
};

int failures;

void count_failures(comm, code) MPI_Comm* comm;
int* code;
{ failures++; }

main(argc, argv) int argc;
char** argv;
{
  struct particle mine, theirs;
  MPI_Datatype type, types[3];
  MPI_Aint places[3], start, extent;
  MPI_Errhandler handler;
  int lengths[3], me, all, flag, *bound, i, key;
  MPI_Status status;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  lengths[0] = 3, lengths[1] = 1, lengths[2] = 4;
  types[0] = MPI_DOUBLE, types[1] = MPI_INT, types[2] = MPI_CHAR;
  MPI_Address(&mine, &start);
  MPI_Address(mine.at, &places[0]);
  MPI_Address(&mine.kind, &places[1]);
  MPI_Address(mine.name, &places[2]);
  for (i = 0; i < 3; i++) places[i] -= start;
  MPI_Type_struct(3, lengths, places, types, &type);
  MPI_Type_commit(&type);
  MPI_Type_extent(type, &extent);
  if (extent != sizeof(struct particle)) abort();
  for (i = 0; i < 3; i++) mine.at[i] = me + i;
  mine.kind = me;
  for (i = 0; i < 4; i++) mine.name[i] = 'a' + i;
  MPI_Sendrecv(&mine, 1, type, (me + 1) % all, 1, &theirs, 1, type, (me + all - 1) % all, 1,
               MPI_COMM_WORLD, &status);
  if (theirs.kind != (me + all - 1) % all || theirs.at[2] != theirs.kind + 2 ||
      theirs.name[3] != 'd')
    abort();
  MPI_Type_free(&type);

  MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
  if (!flag || *bound < 32767) abort();
  MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, (void*)0);
  MPI_Attr_put(MPI_COMM_WORLD, key, &me);
  MPI_Attr_get(MPI_COMM_WORLD, key, &bound, &flag);
  if (!flag || bound != &me) abort();
  MPI_Attr_delete(MPI_COMM_WORLD, key);
  MPI_Keyval_free(&key);

  MPI_Errhandler_create((MPI_Handler_function*)count_failures, &handler);
  MPI_Errhandler_set(MPI_COMM_WORLD, handler);
  MPI_Send(&me, 1, MPI_INT, all, 1, MPI_COMM_WORLD);
  if (failures != 1) abort();
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  exit(0);
}
