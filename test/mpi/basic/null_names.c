/* Null handles have names (MPI-4.1 section 7.8). */
#include <string.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0, class;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
  CHECK(!strcmp(name, "MPI_COMM_NULL") && length == (int)strlen(name));
  OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
  CHECK(!strcmp(name, "MPI_DATATYPE_NULL") && length == (int)strlen(name));
  OK(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
  CHECK(!strcmp(name, "MPI_WIN_NULL") && length == (int)strlen(name));
  /* They cannot be given another one. */
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Error_class(MPI_Comm_set_name(MPI_COMM_NULL, "other"), &class));
  CHECK(class == MPI_ERR_COMM);
  OK(MPI_Error_class(MPI_Type_set_name(MPI_DATATYPE_NULL, "other"), &class));
  CHECK(class == MPI_ERR_TYPE);
  OK(MPI_Error_class(MPI_Win_set_name(MPI_WIN_NULL, "other"), &class));
  CHECK(class == MPI_ERR_WIN);
  OK(MPI_Error_class(MPI_Comm_get_name(MPI_COMM_WORLD, NULL, &length), &class));
  CHECK(class == MPI_ERR_ARG);
  OK(MPI_Error_class(MPI_Comm_get_name((MPI_Comm)MPI_INT, name, &length), &class));
  CHECK(class == MPI_ERR_COMM);
  return finish();
}
