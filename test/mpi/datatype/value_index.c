/* MPI_Type_get_value_index: pairs with and without a name, what can be asked about them, their use
 * in reductions, messages, packing and windows. */
#include <fgmpi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mpitest.h"

static int rank, size;

static MPI_Datatype pair_of(MPI_Datatype value, MPI_Datatype index) {
  MPI_Datatype type = MPI_INT;
  OK(MPI_Type_get_value_index(value, index, &type));
  return type;
}

static void named(void) {
  CHECK(pair_of(MPI_FLOAT, MPI_INT) == MPI_FLOAT_INT);
  CHECK(pair_of(MPI_DOUBLE, MPI_INT) == MPI_DOUBLE_INT);
  CHECK(pair_of(MPI_LONG, MPI_INT) == MPI_LONG_INT);
  CHECK(pair_of(MPI_SHORT, MPI_INT) == MPI_SHORT_INT);
  CHECK(pair_of(MPI_INT, MPI_INT) == MPI_2INT);
  CHECK(pair_of(MPI_LONG_DOUBLE, MPI_INT) == MPI_LONG_DOUBLE_INT);
  int ni, na, nt, combiner;
  OK(MPI_Type_get_envelope(pair_of(MPI_SHORT, MPI_INT), &ni, &na, &nt, &combiner));
  CHECK(combiner == MPI_COMBINER_NAMED);
}

static void none(void) {
  MPI_Datatype derived;
  OK(MPI_Type_contiguous(1, MPI_INT, &derived));
  CHECK(pair_of(derived, MPI_INT) == MPI_DATATYPE_NULL);
  CHECK(pair_of(MPI_INT, derived) == MPI_DATATYPE_NULL);
  OK(MPI_Type_free(&derived));
  CHECK(pair_of(MPI_C_FLOAT_COMPLEX, MPI_INT) == MPI_DATATYPE_NULL);
  CHECK(pair_of(MPI_INT, MPI_DOUBLE) == MPI_DATATYPE_NULL);
  CHECK(pair_of(MPI_BYTE, MPI_INT) == MPI_DATATYPE_NULL);
  CHECK(pair_of(MPI_2INT, MPI_INT) == MPI_DATATYPE_NULL);
  MPI_Datatype type;
  MPI_Errhandler before;
  int class;
  OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Error_class(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &type), &class));
  CHECK(class == MPI_ERR_TYPE);
  type = pair_of(MPI_DOUBLE, MPI_INT64_T);
  OK(MPI_Error_class(MPI_Type_free(&type), &class));
  CHECK(class == MPI_ERR_TYPE);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, before));
  OK(MPI_Errhandler_free(&before));
}

/* The type is the same for all calls; it says what it is made of. */
static void questions(void) {
  struct pair {
    short value;
    int64_t index;
  };
  const MPI_Datatype type = pair_of(MPI_SHORT, MPI_INT64_T);
  CHECK(type != MPI_DATATYPE_NULL && type == pair_of(MPI_SHORT, MPI_INT64_T));
  CHECK(type != pair_of(MPI_SHORT, MPI_UINT64_T) && type != pair_of(MPI_INT16_T, MPI_INT64_T));
  int ni, na, nt, combiner, bytes;
  OK(MPI_Type_get_envelope(type, &ni, &na, &nt, &combiner));
  CHECK(combiner == MPI_COMBINER_VALUE_INDEX && ni == 0 && na == 0 && nt == 2);
  MPI_Count li, la, lc, lt;
  OK(MPI_Type_get_envelope_c(type, &li, &la, &lc, &lt, &combiner));
  CHECK(combiner == MPI_COMBINER_VALUE_INDEX && li == 0 && la == 0 && lc == 0 && lt == 2);
  MPI_Datatype parts[2];
  int i;
  MPI_Aint a;
  OK(MPI_Type_get_contents(type, 0, 0, 2, &i, &a, parts));
  CHECK(parts[0] == MPI_SHORT && parts[1] == MPI_INT64_T);
  OK(MPI_Type_size(type, &bytes));
  CHECK(bytes == 10);
  MPI_Aint lb, extent;
  OK(MPI_Type_get_extent(type, &lb, &extent));
  CHECK(lb == 0 && extent == sizeof(struct pair));
  OK(MPI_Type_get_true_extent(type, &lb, &extent));
  CHECK(lb == 0 && extent == sizeof(struct pair));
  /* It is within other types like any predefined one. */
  MPI_Datatype row, inside[1];
  OK(MPI_Type_contiguous(3, type, &row));
  OK(MPI_Type_get_contents(row, 1, 0, 1, &i, &a, inside));
  CHECK(i == 3 && inside[0] == type);
  OK(MPI_Type_free(&row));
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  OK(MPI_Type_get_name(type, name, &length));
  MPI_Datatype copy;
  OK(MPI_Type_dup(type, &copy));
  OK(MPI_Type_free(&copy));
  MPI_Status s;
  int n;
  OK(MPI_Status_set_elements(&s, type, 3));
  OK(MPI_Get_elements(&s, type, &n));
  CHECK(n == 3);
  OK(MPI_Get_count(&s, type, &n));
  CHECK(n == MPI_UNDEFINED);
}

/* Reduces pairs of each kind of layout. The greatest value is at several ranks; the least index is
 * the result's. Bytes of gaps stay as they are. */
#define REDUCE(V, I, value_type, index_type)                                                      \
  do {                                                                                            \
    struct pair {                                                                                 \
      V value;                                                                                    \
      I index;                                                                                    \
    } in[2], out[2], local[2];                                                                    \
    const MPI_Datatype type = pair_of(value_type, index_type);                                    \
    CHECK(type != MPI_DATATYPE_NULL);                                                             \
    memset(in, 0x11, sizeof in);                                                                  \
    memset(out, 0x22, sizeof out);                                                                \
    in[0].value = (V)(rank < size / 2 ? 3 : 5);                                                   \
    in[1].value = (V)(size - rank);                                                               \
    in[0].index = in[1].index = (I)(rank + 1);                                                    \
    memcpy(local, in, sizeof in);                                                                 \
    OK(MPI_Allreduce(in, out, 2, type, MPI_MAXLOC, MPI_COMM_WORLD));                              \
    CHECK(out[0].value == (V)5 && out[0].index == (I)(size / 2 + 1));                             \
    CHECK(out[1].value == (V)size && out[1].index == (I)1);                                       \
    OK(MPI_Allreduce(MPI_IN_PLACE, in, 2, type, MPI_MINLOC, MPI_COMM_WORLD));                     \
    CHECK(in[0].value == (V)(size > 1 ? 3 : 5) && in[0].index == (I)1);                           \
    CHECK(in[1].value == (V)1 && in[1].index == (I)size);                                         \
    OK(MPI_Reduce_local(out, local, 2, type, MPI_MAXLOC));                                        \
    CHECK(local[0].value == (V)5 && local[0].index == (I)(size / 2 + 1));                         \
    /* A message, and packed data. */                                                             \
    char packed[sizeof in];                                                                       \
    int at = 0, bytes;                                                                            \
    memset(in, 0, sizeof in);                                                                     \
    OK(MPI_Type_size(type, &bytes));                                                              \
    OK(MPI_Sendrecv(out, 2, type, (rank + 1) % size, 0, in, 2, type, (rank + size - 1) % size, 0, \
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));                                          \
    CHECK(in[0].value == out[0].value && in[0].index == out[0].index);                            \
    CHECK(in[1].value == out[1].value && in[1].index == out[1].index);                            \
    OK(MPI_Pack(out, 2, type, packed, sizeof packed, &at, MPI_COMM_SELF));                        \
    CHECK(at == 2 * bytes && bytes == (int)(sizeof(V) + sizeof(I)));                              \
    MPI_Aint needed, place = 0;                                                                   \
    char external[128];                                                                           \
    memset(in, 0, sizeof in);                                                                     \
    OK(MPI_Pack_external_size("external32", 2, type, &needed));                                   \
    CHECK(needed <= (MPI_Aint)sizeof external);                                                   \
    OK(MPI_Pack_external("external32", out, 2, type, external, needed, &place));                  \
    CHECK(place == needed);                                                                       \
    place = 0;                                                                                    \
    OK(MPI_Unpack_external("external32", external, needed, &place, in, 2, type));                 \
    CHECK(in[0].value == out[0].value && in[0].index == out[0].index);                            \
    CHECK(in[1].value == out[1].value && in[1].index == out[1].index);                            \
    accumulate(type, &out[0], &out[1], sizeof(struct pair));                                      \
  } while (0)

/* All ranks accumulate the pair `more` into one of rank 0. */
static void accumulate(MPI_Datatype type, const void* first, const void* more, int bytes) {
  char *base, got[64], expected[64];
  MPI_Win win;
  OK(MPI_Win_allocate(rank == 0 ? bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  if (rank == 0) memcpy(base, first, (size_t)bytes);
  OK(MPI_Win_fence(0, win));
  OK(MPI_Accumulate(more, 1, type, 0, 0, 1, type, MPI_MINLOC, win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get_accumulate(NULL, 0, MPI_BYTE, got, 1, type, 0, 0, 1, type, MPI_NO_OP, win));
  OK(MPI_Win_fence(0, win));
  memcpy(expected, first, (size_t)bytes);
  OK(MPI_Reduce_local(more, expected, 1, type, MPI_MINLOC));
  char a[64], b[64];
  int at = 0, to = 0;
  OK(MPI_Pack(got, 1, type, a, sizeof a, &at, MPI_COMM_SELF));
  OK(MPI_Pack(expected, 1, type, b, sizeof b, &to, MPI_COMM_SELF));
  CHECK(at == to && !memcmp(a, b, (size_t)at));
  OK(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  named();
  none();
  questions();
  REDUCE(double, uint64_t, MPI_DOUBLE, MPI_UINT64_T);
  REDUCE(float, uint8_t, MPI_FLOAT, MPI_UINT8_T);
  REDUCE(short, int64_t, MPI_SHORT, MPI_INT64_T);
  REDUCE(int64_t, short, MPI_INT64_T, MPI_SHORT);
  REDUCE(uint16_t, uint32_t, MPI_UINT16_T, MPI_UINT32_T);
  REDUCE(long, unsigned long, MPI_LONG, MPI_UNSIGNED_LONG);
  REDUCE(MPI_Aint, MPI_Count, MPI_AINT, MPI_COUNT);
  REDUCE(unsigned, int, MPI_UNSIGNED, MPI_INT);
  return finish();
}
