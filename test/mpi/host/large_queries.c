/* Datatypes that large-count calls have made: the queries without large counts refuse them with
 * MPI_ERR_TYPE (MPI-4.0 section 5.1.13), the others describe them; those of other calls both
 * describe. */
#include "error_class.h"
#include "mpitest.h"

static void check(MPI_Datatype type, int large) {
  int integers = -7, addresses = -7, types = -7, combiner = -7, integer[8];
  MPI_Count integers_c, addresses_c, counts_c, types_c, count[8];
  MPI_Aint address[8];
  MPI_Datatype inner[4];
  OK(MPI_Type_get_envelope_c(type, &integers_c, &addresses_c, &counts_c, &types_c, &combiner));
  CHECK((counts_c > 0) == large);
  OK(MPI_Type_get_contents_c(type, integers_c, addresses_c, counts_c, types_c, integer, address,
                             count, inner));
  const int wanted = large ? MPI_ERR_TYPE : MPI_SUCCESS;
  CHECK(class_of(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner)) == wanted);
  CHECK(class_of(MPI_Type_get_contents(type, 8, 8, 4, integer, address, inner)) == wanted);
  if (large) CHECK(integers == -7 && addresses == -7 && types == -7);
  OK(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  const MPI_Count lengths[] = {1, 2}, places[] = {0, 4};
  const MPI_Datatype fields[] = {MPI_INT, MPI_CHAR};
  MPI_Datatype type;
  OK(MPI_Type_contiguous_c(3, MPI_INT, &type));
  check(type, 1);
  OK(MPI_Type_vector_c(2, 1, 3, MPI_INT, &type));
  check(type, 1);
  OK(MPI_Type_indexed_c(2, lengths, places, MPI_INT, &type));
  check(type, 1);
  OK(MPI_Type_create_struct_c(2, lengths, places, fields, &type));
  check(type, 1);
  OK(MPI_Type_create_resized_c(MPI_INT, 0, 8, &type));
  check(type, 1);
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  check(type, 0);
  OK(MPI_Type_create_resized(MPI_INT, 0, 8, &type));
  check(type, 0);
  int n[3], combiner;
  OK(MPI_Type_get_envelope(MPI_INT, &n[0], &n[1], &n[2], &combiner));
  CHECK(n[0] == 0 && combiner == MPI_COMBINER_NAMED);
  CHECK(class_of(MPI_Type_get_envelope(MPI_DATATYPE_NULL, &n[0], &n[1], &n[2], &combiner)) ==
        MPI_ERR_TYPE);
  return finish();
}
