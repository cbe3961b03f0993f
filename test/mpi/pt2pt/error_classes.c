/* One line for each wrong argument of point-to-point calls: the error class that comes back. For
 * one rank; the same program runs under the host MPICH, and error_classes.sh compares. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* name_of(int class) {
  static const struct {
    int class;
    const char* name;
  } names[] = {
      {MPI_SUCCESS, "SUCCESS"},         {MPI_ERR_BUFFER, "BUFFER"},   {MPI_ERR_COUNT, "COUNT"},
      {MPI_ERR_TYPE, "TYPE"},           {MPI_ERR_TAG, "TAG"},         {MPI_ERR_COMM, "COMM"},
      {MPI_ERR_RANK, "RANK"},           {MPI_ERR_REQUEST, "REQUEST"}, {MPI_ERR_ARG, "ARG"},
      {MPI_ERR_TRUNCATE, "TRUNCATE"},   {MPI_ERR_OTHER, "OTHER"},     {MPI_ERR_INTERN, "INTERN"},
      {MPI_ERR_IN_STATUS, "IN_STATUS"}, {MPI_ERR_PENDING, "PENDING"}, {MPI_ERR_INFO, "INFO"}};
  static char number[32];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].class == class) return names[i].name;
  snprintf(number, sizeof number, "%d", class);
  return number;
}

/* Before the call: the place, so that a crash shows where. */
#define T(call)                      \
  do {                               \
    int code_, class_ = -1;          \
    printf("%s: ", #call);           \
    fflush(stdout);                  \
    code_ = (call);                  \
    MPI_Error_class(code_, &class_); \
    printf("%s\n", name_of(class_)); \
    fflush(stdout);                  \
  } while (0)

static int b[1000], c[1000], flag, n, rank, index_[4];
static MPI_Count large;
static MPI_Status s, ss[4];
static MPI_Comm w;
static MPI_Request r, null = MPI_REQUEST_NULL, all[4];
static MPI_Message m, no_message = MPI_MESSAGE_NULL;
static MPI_Datatype raw, freed_type;
static MPI_Comm freed_comm;

/* Everything that is the same in all sends: S(MPI_Send, no more arguments), S(MPI_Isend, , &r) */
#define SENDS(call, ...)                                           \
  T(call(b, 1, MPI_INT, 0, 0, MPI_COMM_NULL __VA_ARGS__));         \
  T(call(b, 1, MPI_INT, 0, 0, freed_comm __VA_ARGS__));            \
  T(call(b, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT __VA_ARGS__));     \
  T(call(b, -1, MPI_INT, 0, 0, w __VA_ARGS__));                    \
  T(call(b, 1, MPI_DATATYPE_NULL, 0, 0, w __VA_ARGS__));           \
  T(call(b, 1, raw, 0, 0, w __VA_ARGS__));                         \
  T(call(b, 1, (MPI_Datatype)MPI_COMM_SELF, 0, 0, w __VA_ARGS__)); \
  T(call(b, 1, MPI_INT, 1, 0, w __VA_ARGS__));                     \
  T(call(b, 1, MPI_INT, -77, 0, w __VA_ARGS__));                   \
  T(call(b, 1, MPI_INT, MPI_ANY_SOURCE, 0, w __VA_ARGS__));        \
  T(call(b, 1, MPI_INT, MPI_ROOT, 0, w __VA_ARGS__));              \
  T(call(b, 1, MPI_INT, 0, -1, w __VA_ARGS__));                    \
  T(call(b, 1, MPI_INT, 0, -42, w __VA_ARGS__));                   \
  T(call(NULL, 1, MPI_INT, 0, 0, w __VA_ARGS__));                  \
  T(call(b, -1, MPI_INT, 0, -42, w __VA_ARGS__));                  \
  T(call(b, -1, MPI_INT, -77, 0, w __VA_ARGS__));                  \
  T(call(b, 1, MPI_DATATYPE_NULL, -77, 0, w __VA_ARGS__));         \
  T(call(b, 1, MPI_DATATYPE_NULL, 0, -42, w __VA_ARGS__));         \
  T(call(b, 1, MPI_INT, -77, -42, w __VA_ARGS__));                 \
  T(call(b, -1, MPI_DATATYPE_NULL, 0, 0, w __VA_ARGS__));          \
  T(call(NULL, -1, MPI_INT, 0, 0, w __VA_ARGS__));                 \
  T(call(NULL, 1, MPI_DATATYPE_NULL, 0, 0, w __VA_ARGS__));        \
  T(call(NULL, 1, MPI_INT, -77, 0, w __VA_ARGS__));                \
  T(call(NULL, 1, MPI_INT, 0, -42, w __VA_ARGS__));                \
  T(call(b, 1, raw, -77, 0, w __VA_ARGS__))

#define RECEIVES(call, ...)                                \
  T(call(b, 1, MPI_INT, 0, 0, MPI_COMM_NULL __VA_ARGS__)); \
  T(call(b, 1, MPI_INT, 0, 0, freed_comm __VA_ARGS__));    \
  T(call(b, -1, MPI_INT, 0, 0, w __VA_ARGS__));            \
  T(call(b, 1, MPI_DATATYPE_NULL, 0, 0, w __VA_ARGS__));   \
  T(call(b, 1, raw, 0, 0, w __VA_ARGS__));                 \
  T(call(b, 1, MPI_INT, 1, 0, w __VA_ARGS__));             \
  T(call(b, 1, MPI_INT, -77, 0, w __VA_ARGS__));           \
  T(call(b, 1, MPI_INT, MPI_ROOT, 0, w __VA_ARGS__));      \
  T(call(b, 1, MPI_INT, 0, -42, w __VA_ARGS__));           \
  T(call(NULL, 1, MPI_INT, 0, 0, w __VA_ARGS__));          \
  T(call(b, -1, MPI_INT, 0, -42, w __VA_ARGS__));          \
  T(call(b, -1, MPI_INT, -77, 0, w __VA_ARGS__));          \
  T(call(b, 1, MPI_DATATYPE_NULL, -77, 0, w __VA_ARGS__)); \
  T(call(b, 1, MPI_INT, -77, -42, w __VA_ARGS__))

#define COMMA_R , &r
#define COMMA_NULL , NULL
#define COMMA_S , &s
static void sends(void) {
  SENDS(MPI_Send);
  SENDS(MPI_Bsend);
  SENDS(MPI_Ssend);
  SENDS(MPI_Rsend);
  SENDS(MPI_Isend, COMMA_R);
  SENDS(MPI_Ibsend, COMMA_R);
  SENDS(MPI_Issend, COMMA_R);
  SENDS(MPI_Irsend, COMMA_R);
  SENDS(MPI_Send_init, COMMA_R);
  SENDS(MPI_Bsend_init, COMMA_R);
  SENDS(MPI_Ssend_init, COMMA_R);
  SENDS(MPI_Rsend_init, COMMA_R);
  SENDS(MPI_Send_c);
  SENDS(MPI_Isend_c, COMMA_R);
  T(MPI_Isend(b, 1, MPI_INT, 0, 0, w, NULL));
  T(MPI_Send_init(b, 1, MPI_INT, 0, 0, w, NULL));
  T(MPI_Send(NULL, 1, MPI_INT, MPI_PROC_NULL, 0, w));
  T(MPI_Send(b, -1, MPI_INT, MPI_PROC_NULL, 0, w));
  T(MPI_Send(b, 1, MPI_INT, MPI_PROC_NULL, -42, w));
  T(MPI_Bsend(b, 1, MPI_INT, 0, 0, w)); /* nothing is attached */
  T(MPI_Ibsend(b, 1, MPI_INT, 0, 0, w, &r));
}

static void receives(void) {
  RECEIVES(MPI_Recv, COMMA_S);
  RECEIVES(MPI_Irecv, COMMA_R);
  RECEIVES(MPI_Recv_init, COMMA_R);
  RECEIVES(MPI_Recv_c, COMMA_S);
  T(MPI_Irecv(b, 1, MPI_INT, 0, 0, w, NULL));
  T(MPI_Recv_init(b, 1, MPI_INT, 0, 0, w, NULL));
  T(MPI_Recv(NULL, 1, MPI_INT, MPI_PROC_NULL, 0, w, &s));
  T(MPI_Recv(b, -1, MPI_INT, MPI_PROC_NULL, 0, w, &s));
  T(MPI_Probe(1, 0, w, &s));
  T(MPI_Probe(0, -42, w, &s));
  T(MPI_Probe(0, 0, MPI_COMM_NULL, &s));
  T(MPI_Iprobe(-77, 0, w, &flag, &s));
  T(MPI_Iprobe(0, -42, w, &flag, &s));
  T(MPI_Iprobe(0, 0, MPI_COMM_NULL, &flag, &s));
  T(MPI_Iprobe(0, 0, w, NULL, &s));
  T(MPI_Mprobe(1, 0, w, &m, &s));
  T(MPI_Mprobe(0, -42, w, &m, &s));
  T(MPI_Mprobe(0, 0, MPI_COMM_NULL, &m, &s));
  T(MPI_Mprobe(0, 0, w, NULL, &s));
  T(MPI_Improbe(1, 0, w, &flag, &m, &s));
  T(MPI_Improbe(0, -42, w, &flag, &m, &s));
  T(MPI_Improbe(0, 0, MPI_COMM_NULL, &flag, &m, &s));
  T(MPI_Improbe(0, 0, w, NULL, &m, &s));
  T(MPI_Improbe(0, 0, w, &flag, NULL, &s));
  T(MPI_Mrecv(b, 1, MPI_INT, &no_message, &s));
  T(MPI_Imrecv(b, 1, MPI_INT, &no_message, &r));
  T(MPI_Mrecv(b, 1, MPI_INT, NULL, &s));
  m = MPI_MESSAGE_NO_PROC;
  T(MPI_Mrecv(b, 1, MPI_INT, &m, &s));
  printf("message after: %d, source %d\n", m == MPI_MESSAGE_NULL, s.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Isend(c, 4, MPI_INT, 0, 7, w, &r);
  MPI_Mprobe(0, 7, w, &m, &s);
  T(MPI_Mrecv(b, -1, MPI_INT, &m, &s));
  T(MPI_Mrecv(b, 4, MPI_DATATYPE_NULL, &m, &s));
  T(MPI_Mrecv(NULL, 4, MPI_INT, &m, &s));
  T(MPI_Imrecv(b, 4, MPI_INT, &m, NULL));
  T(MPI_Mrecv(b, 2, MPI_INT, &m, &s)); /* truncated */
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void both(void) {
  T(MPI_Sendrecv(b, 1, MPI_INT, 1, 0, c, 1, MPI_INT, 0, 0, w, &s));
  T(MPI_Sendrecv(b, 1, MPI_INT, 0, 0, c, 1, MPI_INT, 1, 0, w, &s));
  T(MPI_Sendrecv(b, -1, MPI_INT, 0, 0, c, 1, MPI_INT, 0, 0, w, &s));
  T(MPI_Sendrecv(b, 1, MPI_INT, 0, 0, c, -1, MPI_INT, 0, 0, w, &s));
  T(MPI_Sendrecv(b, 1, MPI_DATATYPE_NULL, 0, 0, c, 1, MPI_INT, 0, 0, w, &s));
  T(MPI_Sendrecv(b, 1, MPI_INT, 0, 0, c, 1, raw, 0, 0, w, &s));
  T(MPI_Sendrecv(b, 1, MPI_INT, 0, -42, c, 1, MPI_INT, 0, 0, w, &s));
  T(MPI_Sendrecv(b, 1, MPI_INT, 0, MPI_ANY_TAG, c, 1, MPI_INT, 0, 0, w, &s));
  T(MPI_Sendrecv(b, 1, MPI_INT, 0, 0, c, 1, MPI_INT, 0, -42, w, &s));
  T(MPI_Sendrecv(NULL, 1, MPI_INT, 0, 0, c, 1, MPI_INT, 0, 0, w, &s));
  T(MPI_Sendrecv(b, 1, MPI_INT, 0, 0, NULL, 1, MPI_INT, 0, 0, w, &s));
  T(MPI_Sendrecv(b, 1, MPI_INT, 0, 0, c, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &s));
  T(MPI_Sendrecv_replace(b, 1, MPI_INT, 1, 0, 0, 0, w, &s));
  T(MPI_Sendrecv_replace(b, 1, MPI_INT, 0, 0, 1, 0, w, &s));
  T(MPI_Sendrecv_replace(b, -1, MPI_INT, 0, 0, 0, 0, w, &s));
  T(MPI_Sendrecv_replace(b, 1, raw, 0, 0, 0, 0, w, &s));
  T(MPI_Sendrecv_replace(b, 1, MPI_INT, 0, -42, 0, 0, w, &s));
  T(MPI_Sendrecv_replace(b, 1, MPI_INT, 0, 0, 0, -42, w, &s));
  T(MPI_Sendrecv_replace(NULL, 1, MPI_INT, 0, 0, 0, 0, w, &s));
  T(MPI_Isendrecv(b, 1, MPI_INT, 1, 0, c, 1, MPI_INT, 0, 0, w, &r));
  T(MPI_Isendrecv(b, 1, MPI_INT, 0, 0, c, -1, MPI_INT, 0, 0, w, &r));
  T(MPI_Isendrecv_replace(b, 1, MPI_INT, 1, 0, 0, 0, w, &r));
}

static void completions(void) {
  MPI_Request bad = (MPI_Request)0x12345678;
  T(MPI_Wait(&bad, &s));
  T(MPI_Test(&bad, &flag, &s));
  T(MPI_Wait(NULL, &s));
  T(MPI_Test(NULL, &flag, &s));
  T(MPI_Test(&null, NULL, &s));
  T(MPI_Waitall(1, &bad, ss));
  T(MPI_Waitany(1, &bad, &n, &s));
  T(MPI_Waitsome(1, &bad, &n, index_, ss));
  T(MPI_Testall(1, &bad, &flag, ss));
  T(MPI_Testany(1, &bad, &n, &flag, &s));
  T(MPI_Testsome(1, &bad, &n, index_, ss));
  T(MPI_Waitall(-1, all, ss));
  T(MPI_Waitany(-1, all, &n, &s));
  T(MPI_Waitsome(-1, all, &n, index_, ss));
  T(MPI_Testall(-1, all, &flag, ss));
  T(MPI_Testany(-1, all, &n, &flag, &s));
  T(MPI_Testsome(-1, all, &n, index_, ss));
  T(MPI_Waitall(1, NULL, ss));
  T(MPI_Waitany(1, &null, NULL, &s));
  T(MPI_Waitsome(1, &null, NULL, index_, ss));
  T(MPI_Testall(1, &null, NULL, ss));
  T(MPI_Waitall(0, NULL, ss));
  T(MPI_Waitany(0, NULL, &n, &s));
  printf("index undefined: %d\n", n == MPI_UNDEFINED);
  T(MPI_Waitsome(0, NULL, &n, index_, ss));
  printf("outcount undefined: %d\n", n == MPI_UNDEFINED);
  T(MPI_Cancel(&null));
  T(MPI_Cancel(NULL));
  T(MPI_Cancel(&bad));
  T(MPI_Request_free(&null));
  T(MPI_Request_free(NULL));
  T(MPI_Request_free(&bad));
  T(MPI_Request_get_status(null, &flag, &s));
  T(MPI_Request_get_status(bad, &flag, &s));
  T(MPI_Request_get_status(null, NULL, &s));
  T(MPI_Start(&null));
  T(MPI_Start(NULL));
  T(MPI_Start(&bad));
  T(MPI_Startall(-1, all));
  T(MPI_Startall(1, NULL));
  T(MPI_Startall(1, &null));
  T(MPI_Test_cancelled(NULL, &flag));
  T(MPI_Test_cancelled(&s, NULL));
}

static void persistent(void) {
  MPI_Irecv(b, 1, MPI_INT, 0, 9, w, &r);
  T(MPI_Start(&r)); /* not persistent */
  MPI_Send(c, 1, MPI_INT, 0, 9, w);
  MPI_Wait(&r, &s);
  MPI_Recv_init(b, 1, MPI_INT, 0, 9, w, &r);
  T(MPI_Wait(&r, &s)); /* inactive */
  T(MPI_Test(&r, &flag, &s));
  MPI_Start(&r);
  T(MPI_Start(&r)); /* active */
  T(MPI_Startall(1, &r));
  MPI_Send(c, 1, MPI_INT, 0, 9, w);
  MPI_Wait(&r, &s);
  T(MPI_Pready(0, r));
  T(MPI_Parrived(r, 0, &flag));
  T(MPI_Grequest_complete(r));
  T(MPI_Request_free(&r));
}

static void buffers(void) {
  void* address;
  static char small[MPI_BSEND_OVERHEAD + 8], other[4096];
  T(MPI_Buffer_attach(small, -1));
  T(MPI_Buffer_attach(NULL, 100));
  T(MPI_Buffer_attach(small, sizeof small));
  T(MPI_Buffer_attach(other, sizeof other)); /* one is attached */
  T(MPI_Bsend(b, 100, MPI_INT, 0, 0, w));    /* too small */
  T(MPI_Ibsend(b, 100, MPI_INT, 0, 0, w, &r));
  T(MPI_Buffer_detach(&address, NULL));
  T(MPI_Buffer_detach(NULL, &n));
  T(MPI_Buffer_detach(&address, &n));
}

static void statuses(void) {
  memset(&s, 0, sizeof s);
  T(MPI_Get_count(NULL, MPI_INT, &n));
  T(MPI_Get_count(&s, MPI_DATATYPE_NULL, &n));
  T(MPI_Get_count(&s, MPI_INT, NULL));
  T(MPI_Get_count(&s, raw, &n));
  T(MPI_Get_elements(NULL, MPI_INT, &n));
  T(MPI_Get_elements(&s, MPI_DATATYPE_NULL, &n));
  T(MPI_Get_elements(&s, MPI_INT, NULL));
  T(MPI_Get_elements_x(&s, MPI_DATATYPE_NULL, &large));
  T(MPI_Status_set_elements(NULL, MPI_INT, 1));
  T(MPI_Status_set_elements(&s, MPI_DATATYPE_NULL, 1));
  T(MPI_Status_set_elements(&s, MPI_INT, -1));
  T(MPI_Status_set_elements_x(&s, MPI_INT, -1));
  T(MPI_Status_set_cancelled(NULL, 1));
}

static int no_query(void* p, MPI_Status* t) {
  (void)p;
  MPI_Status_set_elements(t, MPI_BYTE, 0);
  MPI_Status_set_cancelled(t, 0);
  return MPI_SUCCESS;
}
static int no_free(void* p) { return (void)p, MPI_SUCCESS; }
static int no_cancel(void* p, int complete) { return (void)p, (void)complete, MPI_SUCCESS; }

static void generalized(void) {
  T(MPI_Grequest_start(no_query, no_free, no_cancel, NULL, NULL));
  T(MPI_Grequest_complete(MPI_REQUEST_NULL));
  MPI_Grequest_start(no_query, no_free, no_cancel, NULL, &r);
  T(MPI_Start(&r));
  T(MPI_Pready(0, r));
  T(MPI_Cancel(&r));
  T(MPI_Grequest_complete(r));
  T(MPI_Wait(&r, &s));
}

static void partitioned(void) {
  MPI_Request out, in;
  T(MPI_Psend_init(b, -1, 1, MPI_INT, 0, 0, w, MPI_INFO_NULL, &r));
  T(MPI_Psend_init(b, 1, -1, MPI_INT, 0, 0, w, MPI_INFO_NULL, &r));
  T(MPI_Psend_init(b, 1, 1, MPI_DATATYPE_NULL, 0, 0, w, MPI_INFO_NULL, &r));
  T(MPI_Psend_init(b, 1, 1, raw, 0, 0, w, MPI_INFO_NULL, &r));
  T(MPI_Psend_init(b, 1, 1, MPI_INT, 1, 0, w, MPI_INFO_NULL, &r));
  T(MPI_Psend_init(b, 1, 1, MPI_INT, 0, -42, w, MPI_INFO_NULL, &r));
  T(MPI_Psend_init(b, 1, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_INFO_NULL, &r));
  T(MPI_Psend_init(b, 1, 1, MPI_INT, 0, 0, w, MPI_INFO_NULL, NULL));
  T(MPI_Precv_init(b, -1, 1, MPI_INT, 0, 0, w, MPI_INFO_NULL, &r));
  T(MPI_Precv_init(b, 1, -1, MPI_INT, 0, 0, w, MPI_INFO_NULL, &r));
  T(MPI_Precv_init(b, 1, 1, MPI_DATATYPE_NULL, 0, 0, w, MPI_INFO_NULL, &r));
  T(MPI_Precv_init(b, 1, 1, MPI_INT, 1, 0, w, MPI_INFO_NULL, &r));
  T(MPI_Precv_init(b, 1, 1, MPI_INT, 0, -42, w, MPI_INFO_NULL, &r));
  T(MPI_Precv_init(b, 1, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_INFO_NULL, &r));
  T(MPI_Pready(0, MPI_REQUEST_NULL));
  /* MPI_Parrived of MPI_REQUEST_NULL is left out: the host crashes. */
  MPI_Psend_init(b, 2, 1, MPI_INT, 0, 3, w, MPI_INFO_NULL, &out);
  MPI_Precv_init(c, 2, 1, MPI_INT, 0, 3, w, MPI_INFO_NULL, &in);
  T(MPI_Pready(0, out)); /* inactive */
  MPI_Start(&out);
  MPI_Start(&in);
  T(MPI_Pready(-1, out));
  T(MPI_Pready(2, out));
  T(MPI_Pready(0, in));
  T(MPI_Pready_range(1, 0, out));
  T(MPI_Pready_range(0, 2, out));
  T(MPI_Pready_list(-1, index_, out));
  T(MPI_Pready_list(1, NULL, out));
  T(MPI_Parrived(in, -1, &flag));
  T(MPI_Parrived(in, 2, &flag));
  T(MPI_Parrived(in, 0, NULL));
  T(MPI_Parrived(out, 0, &flag));
  T(MPI_Start(&out));
  T(MPI_Pready_range(0, 1, out));
  T(MPI_Wait(&out, &s));
  T(MPI_Wait(&in, &s));
  T(MPI_Request_free(&out));
  T(MPI_Request_free(&in));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  w = MPI_COMM_WORLD;
  MPI_Comm_rank(w, &rank);
  MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Type_contiguous(2, MPI_INT, &raw); /* never committed */
  MPI_Type_contiguous(2, MPI_INT, &freed_type);
  MPI_Type_commit(&freed_type);
  MPI_Comm_dup(w, &freed_comm);
  MPI_Comm kept = freed_comm;
  MPI_Comm_free(&kept);
  sends();
  receives();
  both();
  completions();
  persistent();
  buffers();
  statuses();
  generalized();
  partitioned();
  MPI_Type_free(&freed_type);
  MPI_Type_free(&raw);
  MPI_Finalize();
  return 0;
}
