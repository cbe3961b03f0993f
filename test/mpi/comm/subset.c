/* MPI_Comm_create and its like with a group that is not a part of the communicator: MPI_ERR_GROUP
 * at each member, the null handle as the result, and the communicator is as good as before. */
#include "error_class.h"
#include "mpitest.h"

#define FAILS(error, call) CHECK(class_of(call) == (error))

/* `all`: the group of everybody. Of `comm` the calling rank is a member; the groups tried are no
 * parts of it. */
static void refuse(MPI_Comm comm, MPI_Group all) {
  int n, outside = 0;
  MPI_Group mine, rest, mixed;
  MPI_Comm made = MPI_COMM_WORLD;
  OK(MPI_Comm_group(comm, &mine));
  OK(MPI_Group_difference(all, mine, &rest));
  OK(MPI_Group_size(rest, &n));
  CHECK(n > 0);
  FAILS(MPI_ERR_GROUP, MPI_Comm_create(comm, all, &made));
  CHECK(made == MPI_COMM_NULL);
  FAILS(MPI_ERR_GROUP, MPI_Comm_create(comm, rest, &made));
  made = MPI_COMM_WORLD;
  FAILS(MPI_ERR_GROUP, MPI_Comm_create_group(comm, all, 3, &made));
  CHECK(made == MPI_COMM_NULL);
  FAILS(MPI_ERR_GROUP, MPI_Comm_create_group(comm, rest, 3, &made));
  /* All members but one, and one that is none. */
  MPI_Group one, but;
  OK(MPI_Group_incl(rest, 1, &outside, &one));
  OK(MPI_Group_excl(mine, 1, &outside, &but));
  OK(MPI_Group_union(but, one, &mixed));
  FAILS(MPI_ERR_GROUP, MPI_Comm_create(comm, mixed, &made));
  CHECK(made == MPI_COMM_NULL);
  /* The same communicator still makes others. */
  OK(MPI_Comm_create(comm, mine, &made));
  CHECK(made != MPI_COMM_NULL);
  OK(MPI_Comm_free(&made));
  OK(MPI_Comm_create_group(comm, mine, 3, &made));
  OK(MPI_Comm_free(&made));
  OK(MPI_Barrier(comm));
  MPI_Group* groups[] = {&mine, &rest, &mixed, &one, &but};
  for (int i = 0; i < 5; i++) OK(MPI_Group_free(groups[i]));
}

/* An intercommunicator's sides each give a part of their own. */
static void between(MPI_Comm half, int color, MPI_Group all) {
  MPI_Comm inter, made = MPI_COMM_WORLD;
  MPI_Group mine, theirs;
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 5, &inter));
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  OK(MPI_Comm_group(inter, &mine));
  OK(MPI_Comm_remote_group(inter, &theirs));
  FAILS(MPI_ERR_GROUP, MPI_Comm_create(inter, theirs, &made));
  CHECK(made == MPI_COMM_NULL);
  FAILS(MPI_ERR_GROUP, MPI_Comm_create(inter, all, &made));
  CHECK(made == MPI_COMM_NULL);
  /* One side gives a wrong group: it gets the error, the other side no communicator, and no rank
   * waits forever. */
  made = MPI_COMM_WORLD;
  if (color == 0)
    FAILS(MPI_ERR_GROUP, MPI_Comm_create(inter, theirs, &made));
  else
    OK(MPI_Comm_create(inter, mine, &made));
  CHECK(made == MPI_COMM_NULL);
  OK(MPI_Comm_create(inter, mine, &made));
  CHECK(made != MPI_COMM_NULL);
  OK(MPI_Comm_free(&made));
  OK(MPI_Group_free(&mine));
  OK(MPI_Group_free(&theirs));
  OK(MPI_Comm_free(&inter));
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Group all;
  MPI_Comm part;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  if (size > 1) {
    for (int way = 0; way < 4; way++) { /* halves, strided, irregular, backwards */
      const int colors[4] = {rank >= size / 2, rank % 2, (rank * rank + rank / 3) % 2,
                             rank < size / 2};
      int n;
      OK(MPI_Comm_split(MPI_COMM_WORLD, colors[way], way == 3 ? -rank : 0, &part));
      OK(MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN));
      OK(MPI_Comm_size(part, &n));
      if (n < size) refuse(part, all);
      if (way == 1) between(part, rank % 2, all);
      OK(MPI_Comm_free(&part));
    }
  }
  if (size == 8) { /* world ranks 2 to 7 for a communicator of 0 to 3 */
    int range[1][3] = {{2, 7, 1}};
    MPI_Group group;
    MPI_Comm made;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank / 4, 0, &part));
    OK(MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN));
    OK(MPI_Group_range_incl(all, 1, range, &group));
    FAILS(MPI_ERR_GROUP, MPI_Comm_create(part, group, &made));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Group_free(&all));
  return finish();
}
