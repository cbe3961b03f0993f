/* Handles as numbers, and the forms of a status. Versions of mpi.h have macros or functions for these:
 * programs of each find the functions. */
#include <string.h>

#include "mpitest.h"

#define FUNCTIONS(name)         \
  int(MPI_##name##_c2f)(int);   \
  int(MPI_##name##_f2c)(int);   \
  int(PMPI_##name##_c2f)(int);  \
  int(MPI_##name##_toint)(int); \
  int(PMPI_##name##_fromint)(int);
#define SAME(name, handle)                                           \
  CHECK((MPI_##name##_f2c)((MPI_##name##_c2f)(handle)) == (handle)); \
  CHECK((PMPI_##name##_c2f)(handle) == (int)(handle));               \
  CHECK((PMPI_##name##_fromint)((MPI_##name##_toint)(handle)) == (handle));

FUNCTIONS(Comm)
FUNCTIONS(Errhandler)
FUNCTIONS(Group)
FUNCTIONS(Info)
FUNCTIONS(Message)
FUNCTIONS(Op)
FUNCTIONS(Request)
FUNCTIONS(Session)
FUNCTIONS(Type)
FUNCTIONS(Win)

static void test_handles(void) {
  MPI_Comm comm;
  MPI_Group group;
  MPI_Info info;
  MPI_Win win;
  MPI_Datatype type;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_group(comm, &group));
  OK(MPI_Info_create(&info));
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  SAME(Comm, comm)
  SAME(Comm, MPI_COMM_NULL)
  SAME(Errhandler, MPI_ERRORS_RETURN)
  SAME(Group, group)
  SAME(Info, info)
  SAME(Message, MPI_MESSAGE_NO_PROC)
  SAME(Op, MPI_SUM)
  SAME(Request, MPI_REQUEST_NULL)
  SAME(Session, MPI_SESSION_NULL)
  SAME(Type, type)
  SAME(Win, win)
  OK(MPI_Type_free(&type));
  OK(MPI_Win_free(&win));
  OK(MPI_Info_free(&info));
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_free(&comm));
}

static void test_statuses(int rank) {
  MPI_Status status, again;
  MPI_F08_status f08, other;
  MPI_Fint f[MPI_F_STATUS_SIZE], f_again[MPI_F_STATUS_SIZE];
  int size, count, flag, numbers[3] = {1, 2, 3};
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Sendrecv(numbers, 3, MPI_INT, (rank + 1) % size, 7, numbers, 3, MPI_INT,
                  (rank + size - 1) % size, 7, MPI_COMM_WORLD, &status));
  OK(MPI_Status_c2f08(&status, &f08));
  OK(MPI_Status_f082f(&f08, f));
  OK(MPI_Status_c2f(&status, f_again));
  CHECK(!memcmp(f, f_again, sizeof f));
  OK(MPI_Status_f2f08(f, &other));
  OK(MPI_Status_f082c(&other, &again));
  OK(MPI_Get_count(&again, MPI_INT, &count));
  OK(MPI_Test_cancelled(&again, &flag));
  CHECK(count == 3 && !flag && again.MPI_TAG == 7 && again.MPI_SOURCE == (rank + size - 1) % size);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK(MPI_Status_c2f08(NULL, &f08) != MPI_SUCCESS);
  CHECK(MPI_Status_f2f08(f, NULL) != MPI_SUCCESS);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  test_handles();
  test_statuses(rank);
  return finish();
}
