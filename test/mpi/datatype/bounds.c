/* Datatypes where MPI-4.0 and MPICH 4.0 differ, and what belongs to a rank alone although ranks of
 * a process share the type: handles, names, attributes, whether it is committed. */
#include <string.h>

#include "mpitest.h"

static void check(MPI_Datatype type, MPI_Count lb, MPI_Count extent, MPI_Count size) {
  MPI_Count l, e, s;
  OK(MPI_Type_get_extent_x(type, &l, &e));
  OK(MPI_Type_size_x(type, &s));
  if (l != lb || e != extent || s != size)
    printf("lb %lld, extent %lld, size %lld; expected %lld, %lld, %lld\n", (long long)l,
           (long long)e, (long long)s, (long long)lb, (long long)extent, (long long)size);
  CHECK(l == lb && e == extent && s == size);
}

static MPI_Datatype two(MPI_Datatype a, MPI_Aint at_a, MPI_Datatype b, MPI_Aint at_b) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {at_a, at_b};
  const MPI_Datatype types[] = {a, b};
  MPI_Datatype type;
  OK(MPI_Type_create_struct(2, lengths, places, types, &type));
  return type;
}

static void bounds(void) {
  MPI_Datatype marked, none, type;
  OK(MPI_Type_create_resized(MPI_INT, 0, 16, &marked));
  type = two(MPI_INT, -8, marked, 0);
  check(type, 0, 16, 8);
  OK(MPI_Type_free(&type));
  type = two(MPI_INT, 40, marked, 0);
  check(type, 0, 16, 8);
  OK(MPI_Type_free(&type));
  type = two(MPI_DOUBLE, 3, MPI_CHAR, 11);
  check(type, 3, 16, 9); /* padded to 8 */
  OK(MPI_Type_free(&type));
  OK(MPI_Type_contiguous(0, MPI_INT, &none));
  check(none, 0, 0, 0);
  OK(MPI_Type_vector(3, 0, 2, MPI_INT, &type));
  check(type, 0, 0, 0);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free(&none));
  OK(MPI_Type_free(&marked));
}

static void of_this_rank(int rank) {
  enum { kTypes = 100 };
  MPI_Datatype types[kTypes], again;
  for (int i = 0; i < kTypes; ++i) OK(MPI_Type_vector(3, 1, 2 + i % 10, MPI_INT, &types[i]));
  for (int i = 1; i < kTypes; ++i) CHECK(types[i] != types[i - 1]);
  /* The same type, of which only this handle is committed. */
  OK(MPI_Type_commit(&types[10]));
  int buffer[40] = {0};
  OK(MPI_Send(buffer, 1, types[10], MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Send(buffer, 1, types[20], MPI_PROC_NULL, 0, MPI_COMM_WORLD), &error_class);
  CHECK(error_class == MPI_ERR_TYPE);
  char name[MPI_MAX_OBJECT_NAME], wanted[MPI_MAX_OBJECT_NAME];
  int length, key, found, *value;
  snprintf(wanted, sizeof wanted, "type of rank %d", rank);
  OK(MPI_Type_set_name(types[30], wanted));
  OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Type_set_attr(types[30], key, &rank));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Type_get_name(types[30], name, &length));
  CHECK(strcmp(name, wanted) == 0 && length == (int)strlen(wanted));
  OK(MPI_Type_get_name(types[40], name, &length));
  CHECK(length == 0);
  OK(MPI_Type_get_attr(types[30], key, &value, &found));
  CHECK(found && *value == rank);
  OK(MPI_Type_get_attr(types[40], key, &value, &found));
  CHECK(!found);
  OK(MPI_Type_dup(types[30], &again));
  OK(MPI_Type_get_attr(again, key, &value, &found));
  CHECK(found && *value == rank);
  OK(MPI_Type_free(&again));
  OK(MPI_Type_free_keyval(&key));
  /* A handle that was freed is none, until a new type gets its number. */
  const MPI_Datatype gone = types[50];
  MPI_Datatype copy = gone;
  int size;
  OK(MPI_Type_free(&types[50]));
  CHECK(types[50] == MPI_DATATYPE_NULL);
  MPI_Error_class(MPI_Type_size(copy, &size), &error_class);
  CHECK(error_class == MPI_ERR_TYPE);
  for (int i = 0; i < kTypes; ++i)
    if (i != 50) OK(MPI_Type_free(&types[i]));
  copy = MPI_INT;
  MPI_Error_class(MPI_Type_free(&copy), &error_class);
  CHECK(error_class == MPI_ERR_TYPE);
}

/* What the constructors got comes back, also for types that many ranks share. */
static void contents(int rank) {
  int lengths[300], places[300], integers[601], n_integers, n_addresses, n_types, combiner;
  MPI_Datatype type, inner;
  for (int i = 0, at = 0; i < 300; ++i) {
    lengths[i] = (i * 7 + rank) % 3;
    places[i] = at;
    at += 3 + i * i % 5;
  }
  OK(MPI_Type_indexed(300, lengths, places, MPI_SHORT, &type));
  OK(MPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner));
  CHECK(n_integers == 601 && n_addresses == 0 && n_types == 1 && combiner == MPI_COMBINER_INDEXED);
  OK(MPI_Type_get_contents(type, 601, 0, 1, integers, NULL, &inner));
  CHECK(inner == MPI_SHORT && integers[0] == 300);
  CHECK(memcmp(integers + 1, lengths, sizeof lengths) == 0);
  CHECK(memcmp(integers + 301, places, sizeof places) == 0);
  OK(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  bounds();
  of_this_rank(rank);
  contents(rank);
  return finish();
}
