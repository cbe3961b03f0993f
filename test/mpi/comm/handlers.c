/* Which error handler answers for a bad argument: the communicator's, or the one for calls without
 * an object; and what a failed constructor leaves in its result. handlers.sh runs this program
 * under this library and under the hosted MPICH and compares the handlers. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char* answered = "nobody";
static int error_class;

static void of_comm(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  answered = "comm";
  MPI_Error_class(*code, &error_class);
}
static void of_nobody(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  answered = "none";
  MPI_Error_class(*code, &error_class);
}

#define TRY(...)                                                  \
  do {                                                            \
    answered = "nobody", error_class = 0;                         \
    (void)(__VA_ARGS__);                                          \
    printf("%-72s %s %d\n", #__VA_ARGS__, answered, error_class); \
  } while (0)

/* A constructor whose result must be the null handle afterwards. */
#define NULLED(null, handle, ...)                                                                  \
  do {                                                                                             \
    handle = 0x12345;                                                                              \
    TRY(__VA_ARGS__);                                                                              \
    if (handle != (null)) printf("result 0x%x is left by %s\n", (unsigned)(handle), #__VA_ARGS__); \
  } while (0)

static void results_and_pointers(MPI_Comm c) {
  int n = 0, one[1] = {1};
  MPI_Request r;
  TRY(MPI_Comm_size(c, NULL));
  TRY(MPI_Comm_rank(c, NULL));
  TRY(MPI_Comm_group(c, NULL));
  TRY(MPI_Comm_dup(c, NULL));
  TRY(MPI_Comm_split(c, 0, 0, NULL));
  TRY(MPI_Isend(&n, 1, MPI_INT, 0, 0, c, NULL));
  TRY(MPI_Send_init(&n, 1, MPI_INT, 0, 0, c, NULL));
  TRY(MPI_Iprobe(0, 0, c, NULL, MPI_STATUS_IGNORE));
  TRY(MPI_Mprobe(0, 0, c, NULL, MPI_STATUS_IGNORE));
  TRY(MPI_Ibarrier(c, NULL));
  TRY(MPI_Ibcast(&n, 1, MPI_INT, 0, c, NULL));
  TRY(MPI_Barrier_init(c, MPI_INFO_NULL, NULL));
  TRY(MPI_Topo_test(c, NULL));
  TRY(MPI_Cart_map(c, 1, one, one, NULL));
  TRY(MPI_Comm_get_name(c, NULL, &n));
  TRY(MPI_Comm_get_info(c, NULL));
  TRY(MPI_Comm_get_errhandler(c, NULL));
  TRY(MPI_Comm_get_attr(c, MPI_TAG_UB, NULL, &n));
  TRY(MPI_Comm_idup(c, (MPI_Comm*)NULL, &r));
  TRY(MPI_Send(NULL, 1, MPI_INT, 0, 0, c));
  TRY(MPI_Bcast(NULL, 1, MPI_INT, 0, c));
}

static void handles(MPI_Comm c) {
  int n;
  TRY(MPI_Send(&n, 1, MPI_DATATYPE_NULL, 0, 0, c));
  TRY(MPI_Allreduce(&n, &n + 1, 1, MPI_INT, MPI_OP_NULL, c));
  TRY(MPI_Comm_set_errhandler(c, MPI_ERRHANDLER_NULL));
  TRY(MPI_Comm_set_attr(c, MPI_KEYVAL_INVALID, NULL));
  TRY(MPI_Comm_set_info(c, (MPI_Info)0));
  TRY(MPI_Comm_compare(c, MPI_COMM_NULL, &n));
  TRY(MPI_Comm_size(MPI_COMM_NULL, &n));
  TRY(MPI_Comm_set_info(c, MPI_INFO_NULL));
}

static const char* kind_of(MPI_Errhandler handler) {
  return handler == MPI_ERRORS_ARE_FATAL  ? "MPI_ERRORS_ARE_FATAL"
         : handler == MPI_ERRORS_RETURN   ? "MPI_ERRORS_RETURN"
         : handler == MPI_ERRHANDLER_NULL ? "MPI_ERRHANDLER_NULL"
                                          : "the program's";
}

/* On these nobody has set a handler: `before` and its window were made while MPI_COMM_WORLD had
 * none either. */
static void never_set(MPI_Comm before, MPI_Win win) {
  int n = 0;
  MPI_Comm again, later;
  MPI_Errhandler handler;
  TRY(MPI_Comm_size(before, NULL));
  TRY(MPI_Comm_split(before, 0, 0, NULL));
  TRY(MPI_Send(&n, 1, MPI_INT, 77, 0, before));
  TRY(MPI_Win_get_group(win, NULL));
  TRY(MPI_Win_set_attr(win, MPI_KEYVAL_INVALID, NULL));
  TRY(MPI_Comm_size(MPI_COMM_SELF, NULL));
  MPI_Comm_dup(before, &again);
  MPI_Comm_dup(MPI_COMM_WORLD, &later);
  TRY(MPI_Comm_size(again, NULL));
  TRY(MPI_Comm_size(later, NULL));
  MPI_Comm_get_errhandler(before, &handler);
  printf("MPI_Comm_get_errhandler, made before: %s\n", kind_of(handler));
  MPI_Comm_get_errhandler(later, &handler);
  printf("MPI_Comm_get_errhandler, made later: %s\n", kind_of(handler));
  MPI_Errhandler_free(&handler);
  MPI_Win_get_errhandler(win, &handler);
  printf("MPI_Win_get_errhandler: %s\n", kind_of(handler));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  printf("MPI_Comm_size returns %d\n", MPI_Comm_size(again, NULL) != MPI_SUCCESS);
  TRY(MPI_Comm_size(later, NULL));
  MPI_Comm_free(&again);
  MPI_Comm_free(&later);
}

static void constructors(MPI_Comm c) {
  int minus[1] = {-1}, nine[1] = {9}, zero[1] = {0}, size;
  MPI_Comm made;
  MPI_Group group, g;
  MPI_Comm_group(c, &group);
  NULLED(MPI_COMM_NULL, made, MPI_Comm_dup(MPI_COMM_NULL, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Comm_dup_with_info(c, (MPI_Info)0, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Comm_split(MPI_COMM_NULL, 0, 0, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Comm_split_type(c, 12345, 0, MPI_INFO_NULL, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, 0, (MPI_Info)0, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Comm_create(c, MPI_GROUP_NULL, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Comm_create_group(c, MPI_GROUP_NULL, 0, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Comm_create_group(c, group, -8, &made));
  /* Only the leader looks at the other communicator: members that are not would wait for it. */
  MPI_Comm_size(c, &size);
  if (size == 1)
    NULLED(MPI_COMM_NULL, made, MPI_Intercomm_create(c, 0, MPI_COMM_NULL, 0, 0, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Intercomm_create(c, 7, MPI_COMM_NULL, 0, 0, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Cart_create(c, 1, minus, zero, 0, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Cart_create(c, -1, minus, zero, 0, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Cart_sub(c, zero, &made));
  NULLED(MPI_COMM_NULL, made, MPI_Graph_create(c, 1, minus, zero, 0, &made));
  NULLED(MPI_COMM_NULL, made,
         MPI_Dist_graph_create_adjacent(c, -1, zero, MPI_UNWEIGHTED, 0, zero, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, 0, &made));
  NULLED(MPI_GROUP_NULL, g, MPI_Comm_group(MPI_COMM_NULL, &g));
  NULLED(MPI_GROUP_NULL, g, MPI_Group_incl(group, 1, nine, &g));
  NULLED(MPI_GROUP_NULL, g, MPI_Group_excl(group, -1, nine, &g));
  NULLED(MPI_GROUP_NULL, g, MPI_Group_union(group, MPI_GROUP_NULL, &g));
  NULLED(MPI_GROUP_NULL, g, MPI_Group_difference(MPI_GROUP_NULL, group, &g));
  MPI_Group_free(&group);
}

int main(int argc, char** argv) {
  MPI_Comm c, before;
  MPI_Errhandler comm, nobody;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  MPI_Comm_dup(MPI_COMM_WORLD, &before);
  MPI_Win_create(MPI_BOTTOM, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Comm_create_errhandler(of_comm, &comm);
  MPI_Comm_create_errhandler(of_nobody, &nobody);
  MPI_Comm_set_errhandler(c, comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, nobody);
  results_and_pointers(c);
  handles(c);
  constructors(c);
  never_set(before, win);
  MPI_Win_free(&win);
  MPI_Comm_free(&before);
  MPI_Errhandler_free(&comm);
  MPI_Errhandler_free(&nobody);
  MPI_Comm_free(&c);
  MPI_Finalize();
  return 0;
}
