/* Datatypes of 2^31 and 2^40 elements: sizes, extents, contents, counts in a status, and messages
 * whose count is large but whose data is not. */
#include <string.h>

#include "mpitest.h"

#define K40 ((MPI_Count)1 << 40)
#define K31 ((MPI_Count)1 << 31)

static void check(MPI_Datatype type, MPI_Count size, MPI_Count lb, MPI_Count extent) {
  MPI_Count s, l, e, true_l, true_e;
  OK(MPI_Type_size_c(type, &s));
  OK(MPI_Type_get_extent_c(type, &l, &e));
  OK(MPI_Type_get_true_extent_c(type, &true_l, &true_e));
  CHECK(s == size && l == lb && e == extent && true_l == lb && true_e == extent);
  int small;
  OK(MPI_Type_size(type, &small));
  CHECK(small == (size > 0x7fffffff ? MPI_UNDEFINED : (int)size));
}

static void contents(MPI_Datatype type, int combiner, MPI_Count counts, const MPI_Count* expected) {
  MPI_Count integers, addresses, large, types;
  int found;
  OK(MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &found));
  CHECK(found == combiner && integers == 0 && addresses == 0 && large == counts && types == 1);
  MPI_Count values[8];
  MPI_Datatype inner;
  OK(MPI_Type_get_contents_c(type, 0, 0, large, 1, NULL, NULL, values, &inner));
  for (int i = 0; i < counts; ++i) CHECK(values[i] == expected[i]);
}

static void constructors(void) {
  MPI_Datatype type, outer;
  OK(MPI_Type_contiguous_c(K40, MPI_DOUBLE, &type));
  check(type, 8 * K40, 0, 8 * K40);
  contents(type, MPI_COMBINER_CONTIGUOUS, 1, (MPI_Count[]){K40});
  OK(MPI_Type_contiguous(3, type, &outer));
  check(outer, 24 * K40, 0, 24 * K40);
  OK(MPI_Type_free(&outer));
  OK(MPI_Type_free(&type));

  OK(MPI_Type_vector_c(K40, 2, 5, MPI_INT, &type));
  check(type, 8 * K40, 0, ((K40 - 1) * 5 + 2) * 4);
  contents(type, MPI_COMBINER_VECTOR, 3, (MPI_Count[]){K40, 2, 5});
  OK(MPI_Type_free(&type));

  OK(MPI_Type_create_hvector_c(K31, 1, -16, MPI_DOUBLE, &type));
  check(type, 8 * K31, -(K31 - 1) * 16, (K31 - 1) * 16 + 8);
  contents(type, MPI_COMBINER_HVECTOR, 3, (MPI_Count[]){K31, 1, -16});
  OK(MPI_Type_free(&type));

  const MPI_Count sizes[] = {K31, 512}, parts[] = {K31 - 2, 256}, starts[] = {1, 128};
  OK(MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_CHAR, &type));
  MPI_Count size, lb, extent;
  OK(MPI_Type_size_c(type, &size));
  OK(MPI_Type_get_extent_c(type, &lb, &extent));
  CHECK(size == (K31 - 2) * 256 && lb == 0 && extent == K31 * 512);
  OK(MPI_Type_free(&type));

  /* 2^62 bytes and once more: 63 bits are too few. */
  int error_class = MPI_SUCCESS;
  OK(MPI_Type_contiguous_c(K31 * K31 / 8, MPI_DOUBLE, &type));
  MPI_Error_class(MPI_Type_contiguous(4, type, &outer), &error_class);
  CHECK(error_class != MPI_SUCCESS);
  OK(MPI_Type_free(&type));
}

static void counts_in_statuses(void) {
  MPI_Datatype type;
  MPI_Status status;
  MPI_Count count;
  int small, flag;
  memset(&status, 0, sizeof status);
  OK(MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Status_set_elements_x(&status, type, 3 * K40 + 1));
  OK(MPI_Get_elements_c(&status, type, &count));
  CHECK(count == 3 * K40 + 1);
  OK(MPI_Get_elements(&status, type, &small));
  CHECK(small == MPI_UNDEFINED);
  OK(MPI_Get_count_c(&status, type, &count));
  CHECK(count == MPI_UNDEFINED);
  OK(MPI_Status_set_elements_x(&status, type, 3 * K40));
  OK(MPI_Get_count_c(&status, type, &count));
  CHECK(count == K40);
  OK(MPI_Status_set_cancelled(&status, 1));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK(flag);
  OK(MPI_Get_count_c(&status, type, &count));
  CHECK(count == K40);
  OK(MPI_Type_free(&type));
}

/* A type of 2^40 places of which few have data, and 2^40 elements without any. */
static void messages(int rank, int size) {
  MPI_Datatype empty, far;
  MPI_Status status;
  MPI_Count count;
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Type_create_resized_c(MPI_INT, 0, 4, &far));
  OK(MPI_Type_commit(&far));
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int sent = rank, got = -1;
  OK(MPI_Sendrecv_c(&sent, K40, empty, to, 1, &got, K40, empty, from, 1, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count_c(&status, empty, &count));
  CHECK(count == 0 && got == -1);
  /* A receive for more than memory has. */
  OK(MPI_Sendrecv_c(&sent, 1, far, to, 2, &got, K40, far, from, 2, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count_c(&status, far, &count));
  CHECK(count == 1 && got == from);
  OK(MPI_Type_free(&empty));
  OK(MPI_Type_free(&far));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  constructors();
  counts_in_statuses();
  messages(rank, size);
  return finish();
}
