/* What is no buffer: datatype handle 0, and counts whose bytes do not fit in 63 bits (2^61 doubles
 * are 2^64 bytes, which wrap to none). Each is an error of the call and moves nothing; a null
 * request pointer too. Point-to-point calls; coll/errors.c has the collectives. */
#include "error_class.h"
#include "mpitest.h"

#define FAILS(error, call)                                                             \
  do {                                                                                 \
    int got_ = class_of(call);                                                         \
    if (got_ != (error))                                                               \
      fprintf(stderr, "%s:%d: class %d, not %d\n", __FILE__, __LINE__, got_, (error)); \
    CHECK(got_ == (error));                                                            \
  } while (0)

static MPI_Comm w = MPI_COMM_WORLD;

static void no_type(int me) {
  const MPI_Datatype zero = (MPI_Datatype)0, unused = (MPI_Datatype)0x4c0000fe;
  int b[8] = {0};
  MPI_Request r;
  MPI_Status s;
  FAILS(MPI_ERR_TYPE, MPI_Send(b, 4, zero, me, 0, w));
  FAILS(MPI_ERR_TYPE, MPI_Send(b, 4, unused, me, 0, w));
  FAILS(MPI_ERR_TYPE, MPI_Ssend(b, 4, zero, me, 0, w));
  FAILS(MPI_ERR_TYPE, MPI_Isend(b, 4, zero, me, 0, w, &r));
  FAILS(MPI_ERR_TYPE, MPI_Bsend(b, 4, zero, me, 0, w));
  FAILS(MPI_ERR_TYPE, MPI_Send_init(b, 4, zero, me, 0, w, &r));
  FAILS(MPI_ERR_TYPE, MPI_Recv(b, 4, zero, me, 0, w, &s));
  FAILS(MPI_ERR_TYPE, MPI_Irecv(b, 4, zero, me, 0, w, &r));
  FAILS(MPI_ERR_TYPE, MPI_Recv_init(b, 4, zero, me, 0, w, &r));
  FAILS(MPI_ERR_TYPE, MPI_Sendrecv(b, 1, zero, me, 0, b + 4, 1, MPI_INT, me, 0, w, &s));
  FAILS(MPI_ERR_TYPE, MPI_Sendrecv(b, 1, MPI_INT, me, 0, b + 4, 1, zero, me, 0, w, &s));
  FAILS(MPI_ERR_TYPE, MPI_Sendrecv_replace(b, 1, zero, me, 0, me, 0, w, &s));
  FAILS(MPI_ERR_TYPE, MPI_Psend_init(b, 1, 1, zero, me, 0, w, MPI_INFO_NULL, &r));
  OK(MPI_Sendrecv(b, 1, MPI_INT, me, 0, b + 4, 1, MPI_INT, me, 0, w, &s));
  FAILS(MPI_ERR_TYPE, MPI_Get_count(&s, zero, b));
  FAILS(MPI_ERR_TYPE, MPI_Get_elements(&s, zero, b));
  FAILS(MPI_ERR_TYPE, MPI_Status_set_elements(&s, zero, 1));
}

static void too_much(int me, MPI_Datatype type, MPI_Count n) {
  double b[8] = {0};
  MPI_Request r;
  MPI_Status s;
  FAILS(MPI_ERR_COUNT, MPI_Send_c(b, n, type, me, 0, w));
  FAILS(MPI_ERR_COUNT, MPI_Ssend_c(b, n, type, me, 0, w));
  FAILS(MPI_ERR_COUNT, MPI_Rsend_c(b, n, type, me, 0, w));
  FAILS(MPI_ERR_COUNT, MPI_Bsend_c(b, n, type, me, 0, w));
  FAILS(MPI_ERR_COUNT, MPI_Isend_c(b, n, type, me, 0, w, &r));
  FAILS(MPI_ERR_COUNT, MPI_Ibsend_c(b, n, type, me, 0, w, &r));
  FAILS(MPI_ERR_COUNT, MPI_Send_init_c(b, n, type, me, 0, w, &r));
  FAILS(MPI_ERR_COUNT, MPI_Recv_c(b, n, type, me, 0, w, &s));
  FAILS(MPI_ERR_COUNT, MPI_Irecv_c(b, n, type, me, 0, w, &r));
  FAILS(MPI_ERR_COUNT, MPI_Recv_init_c(b, n, type, me, 0, w, &r));
  FAILS(MPI_ERR_COUNT, MPI_Sendrecv_c(b, n, type, me, 0, b + 4, 1, type, me, 0, w, &s));
  FAILS(MPI_ERR_COUNT, MPI_Sendrecv_replace_c(b, n, type, me, 0, me, 0, w, &s));
  FAILS(MPI_ERR_COUNT, MPI_Psend_init(b, 1, n, type, me, 0, w, MPI_INFO_NULL, &r));
  FAILS(MPI_ERR_COUNT, MPI_Precv_init(b, 16, n / 8, type, me, 0, w, MPI_INFO_NULL, &r));
}

int main(int argc, char** argv) {
  int me, value = 7, got = 0;
  MPI_Datatype wide;
  MPI_Request r;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(w, &me);
  MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  no_type(me);
  too_much(me, MPI_DOUBLE, (MPI_Count)1 << 61);
  too_much(me, MPI_DOUBLE, ((MPI_Count)1 << 60) + 1);
  /* One byte of data every 2^40 bytes: 2^24 of them reach over 2^64. */
  OK(MPI_Type_create_resized(MPI_BYTE, 0, (MPI_Aint)1 << 40, &wide));
  OK(MPI_Type_commit(&wide));
  too_much(me, wide, (MPI_Count)1 << 24);
  OK(MPI_Type_free(&wide));
  MPI_Status s;
  FAILS(MPI_ERR_COUNT, MPI_Status_set_elements_x(&s, MPI_DOUBLE, (MPI_Count)1 << 61));
  FAILS(MPI_ERR_ARG, MPI_Send_init(&value, 1, MPI_INT, me, 0, w, NULL));
  FAILS(MPI_ERR_ARG, MPI_Irecv(&value, 1, MPI_INT, me, 0, w, NULL));
  /* None of these calls has sent anything: the next message received is the one sent now. */
  OK(MPI_Irecv(&got, 1, MPI_INT, me, MPI_ANY_TAG, w, &r));
  OK(MPI_Send(&value, 1, MPI_INT, me, 9, w));
  OK(MPI_Wait(&r, &s));
  CHECK(got == 7 && s.MPI_TAG == 9);
  return finish();
}
