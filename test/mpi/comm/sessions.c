/* Sessions: process sets, groups and communicators from them, without MPI_Init and beside it. */
#include <string.h>

#include "mpitest.h"

static void check_comm(MPI_Comm c, int size) {
  int n;
  long one = 1, sum;
  OK(MPI_Comm_size(c, &n));
  CHECK(n == size);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, c));
  CHECK(sum == size);
}

/* With an empty group the calls are local, whatever the other members do, and make no
 * communicator. */
static void empty_groups(MPI_Group world) {
  const MPI_Comm something = MPI_COMM_WORLD;
  MPI_Comm made = something;
  int rank;
  OK(MPI_Group_rank(world, &rank));
  for (int i = 0; i < rank % 3; ++i) {
    made = something;
    OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                  &made));
    CHECK(made == MPI_COMM_NULL);
    made = something;
    OK(MPI_Intercomm_create_from_groups(world, 0, MPI_GROUP_EMPTY, 7, "none", MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &made));
    CHECK(made == MPI_COMM_NULL);
    made = something;
    OK(MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, -3, world, 0, "none", MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &made));
    CHECK(made == MPI_COMM_NULL);
    made = something;
    OK(MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, 0, MPI_GROUP_EMPTY, 0, "none",
                                        MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    CHECK(made == MPI_COMM_NULL);
  }
  made = something;
  CHECK(MPI_Comm_create_from_group(MPI_GROUP_NULL, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                   &made) != MPI_SUCCESS);
  CHECK(made == MPI_COMM_NULL);
}

/* The hints of the communicator that a session's groups make. */
static void expect_hint(MPI_Comm comm, const char* wanted) {
  MPI_Info info;
  char value[32];
  int flag;
  OK(MPI_Comm_get_info(comm, &info));
  OK(MPI_Info_get(info, "mpi_assert_no_any_tag", 31, value, &flag));
  CHECK(flag && strcmp(value, wanted) == 0);
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group world, odd, even;
  MPI_Comm all, part;
  MPI_Info info;
  int n, i, length, size, rank, flag, r;
  char name[MPI_MAX_PSET_NAME_LEN], value[32];
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Initialized(&flag));
  CHECK(!flag);
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
  CHECK(n >= 2);
  for (i = 0; i < n; ++i) {
    length = 0;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
    CHECK(length > 1 && length < MPI_MAX_PSET_NAME_LEN);
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
    CHECK((int)strlen(name) == length - 1);
    OK(MPI_Session_get_pset_info(session, name, &info));
    OK(MPI_Info_get(info, "mpi_size", 31, value, &flag));
    CHECK(flag && atoi(value) >= 1);
    OK(MPI_Info_free(&info));
  }
  CHECK(MPI_Group_from_session_pset(session, "no such set", &world) != MPI_SUCCESS);
  OK(MPI_Group_from_session_pset(session, "mpi://world", &world));
  OK(MPI_Group_size(world, &size));
  OK(MPI_Group_rank(world, &rank));
  OK(MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all));
  check_comm(all, size);
  empty_groups(world);
  OK(MPI_Comm_rank(all, &r));
  CHECK(r == rank);
  {
    int range[1][3] = {{0, size - 1, 2}};
    OK(MPI_Group_range_incl(world, 1, range, &even));
    OK(MPI_Group_difference(world, even, &odd));
  }
  OK(MPI_Comm_create_from_group(rank % 2 ? odd : even, "part", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                &part));
  check_comm(part, rank % 2 ? size / 2 : (size + 1) / 2);
  OK(MPI_Comm_free(&part));
  if (size > 1) {
    MPI_Comm inter, merged, none = MPI_COMM_WORLD;
    CHECK(MPI_Intercomm_create_from_groups(world, 0, MPI_GROUP_EMPTY, 0, "none", (MPI_Info)77,
                                           MPI_ERRORS_RETURN, &none) != MPI_SUCCESS);
    CHECK(none == MPI_COMM_NULL);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    OK(MPI_Intercomm_create_from_groups(rank % 2 ? odd : even, 0, rank % 2 ? even : odd, 0, "inter",
                                        info, MPI_ERRORS_RETURN, &inter));
    OK(MPI_Info_free(&info));
    expect_hint(inter, "true");
    OK(MPI_Comm_remote_size(inter, &n));
    CHECK(n == (rank % 2 ? (size + 1) / 2 : size / 2));
    OK(MPI_Intercomm_merge(inter, rank % 2, &merged));
    check_comm(merged, size);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_free(&inter));
  }
  OK(MPI_Comm_free(&all));
  OK(MPI_Group_free(&world));
  OK(MPI_Group_free(&even));
  if (odd != MPI_GROUP_EMPTY) OK(MPI_Group_free(&odd));
  OK(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
  OK(MPI_Init(&argc, &argv));
  finish();
  /* After MPI_Finalize. */
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  OK(MPI_Comm_create_from_group(world, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all));
  check_comm(all, size);
  OK(MPI_Comm_free(&all));
  OK(MPI_Group_free(&world));
  OK(MPI_Session_finalize(&session));
  return 0;
}
