/* MPI_Status_set_elements counts basic elements (MPI-4.0 section 13.3): MPI_Get_elements gives them
 * back for every datatype, and MPI_Get_count says whole ones alone. */
#include "mpitest.h"

static void check(MPI_Datatype type, int in_one) {
  MPI_Status status;
  for (int large = 0; large < 2; ++large)
    for (int n = 0; n <= 3 * in_one + 1; ++n) {
      int elements = -1, count = -1;
      MPI_Count elements_x = -1;
      OK(large ? MPI_Status_set_elements_x(&status, type, n)
               : MPI_Status_set_elements(&status, type, n));
      OK(MPI_Get_elements(&status, type, &elements));
      OK(MPI_Get_elements_x(&status, type, &elements_x));
      OK(MPI_Get_count(&status, type, &count));
      CHECK(elements == n && elements_x == n);
      CHECK(count == (n % in_one ? MPI_UNDEFINED : n / in_one));
    }
}

static void check_and_free(MPI_Datatype type, int in_one) {
  check(type, in_one); /* as it is before MPI_Type_commit */
  OK(MPI_Type_commit(&type));
  check(type, in_one);
  OK(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  const MPI_Datatype pairs[] = {MPI_2INT,      MPI_FLOAT_INT,       MPI_DOUBLE_INT, MPI_LONG_INT,
                                MPI_SHORT_INT, MPI_LONG_DOUBLE_INT, MPI_2REAL,      MPI_2INTEGER};
  check(MPI_INT, 1);
  check(MPI_C_DOUBLE_COMPLEX, 1);
  for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; ++i) check(pairs[i], 2);

  MPI_Datatype type, inner;
  OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type));
  check(type, 1);
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  check_and_free(type, 3);
  OK(MPI_Type_vector(2, 3, 5, MPI_SHORT, &type));
  check_and_free(type, 6);
  OK(MPI_Type_contiguous(2, MPI_SHORT_INT, &type));
  check_and_free(type, 4);
  OK(MPI_Type_create_resized(MPI_INT, -4, 16, &type));
  check_and_free(type, 1);

  const int lengths[] = {2, 1, 3, 1};
  const MPI_Aint places[] = {0, 16, 40, 100};
  OK(MPI_Type_contiguous(2, MPI_CHAR, &inner));
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, inner, MPI_DOUBLE_INT};
  OK(MPI_Type_create_struct(4, lengths, places, types, &type));
  OK(MPI_Type_free(&inner));
  check_and_free(type, 2 + 1 + 6 + 2);

  /* A datatype without elements has none of them. */
  MPI_Status status;
  int code, class;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Type_contiguous(0, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Status_set_elements(&status, type, 0));
  code = MPI_Status_set_elements(&status, type, 1);
  OK(MPI_Error_class(code, &class));
  CHECK(class == MPI_ERR_ARG);
  OK(MPI_Type_free(&type));
  code = MPI_Status_set_elements_x(&status, MPI_DOUBLE_INT, (MPI_Count)1 << 62);
  OK(MPI_Error_class(code, &class));
  CHECK(class == MPI_ERR_COUNT);
  return finish();
}
