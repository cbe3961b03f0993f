/* A layout that is nested very deep is walked in memory: without it a send, or the receive of a
 * message that is copied from layout to layout, has an error, and the next message arrives. Once
 * with one thread, and once where calls have to enter the library (TEST_THREADS). */
#include <string.h>
#include <sys/resource.h>

#include "mpitest.h"

enum { kDepth = 60000 };

static struct rlimit unlimited;

static void limit(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%ld", &pages) == 1);
  fclose(file);
  struct rlimit limit = unlimited;
  limit.rlim_cur = (rlim_t)pages * 4096 + (300 << 10);
  setrlimit(RLIMIT_AS, &limit);
}

static int class_after(int code) {
  int class = MPI_SUCCESS;
  setrlimit(RLIMIT_AS, &unlimited);
  OK(MPI_Error_class(code, &class));
  return class;
}

static MPI_Datatype make_deep(void) {
  MPI_Datatype type, outer;
  OK(MPI_Type_contiguous(1, MPI_CHAR, &type));
  for (int i = 1; i < kDepth; i++) {
    MPI_Aint lb, extent;
    OK(MPI_Type_get_extent(type, &lb, &extent));
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, extent + 1};
    const MPI_Datatype types[] = {type, MPI_CHAR};
    OK(MPI_Type_create_struct(2, lengths, places, types, &outer));
    OK(MPI_Type_free(&type));
    type = outer;
  }
  OK(MPI_Type_commit(&type));
  return type;
}

int main(int argc, char** argv) {
  int provided, count;
  const int level = getenv("TEST_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  OK(MPI_Init_thread(&argc, &argv, level, &provided));
  if (getenv("LSAN_OPTIONS")) return finish(); /* a sanitizer needs an unlimited address space */
  getrlimit(RLIMIT_AS, &unlimited);
  const MPI_Comm comm = MPI_COMM_SELF;
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MPI_Datatype deep = make_deep();
  MPI_Aint lb, extent;
  MPI_Request sent, received;
  MPI_Status status;
  OK(MPI_Type_get_extent(deep, &lb, &extent));
  char* data = calloc(1, (size_t)extent);
  char* row = calloc(1, kDepth);
  for (MPI_Aint i = 0; i < extent; i++) data[i] = (char)(i / 2);

  limit();
  CHECK(class_after(MPI_Send(data, 1, deep, 0, 1, comm)) == MPI_ERR_NO_MEM);
  limit();
  CHECK(class_after(MPI_Isend(data, 1, deep, 0, 1, comm, &sent)) == MPI_ERR_NO_MEM);

  /* The receive is posted: the message is dropped, and the receive has the error. */
  OK(MPI_Irecv(row, kDepth, MPI_CHAR, 0, 2, comm, &received));
  limit();
  CHECK(class_after(MPI_Send(data, 1, deep, 0, 2, comm)) == MPI_SUCCESS);
  CHECK(class_after(MPI_Wait(&received, &status)) == MPI_ERR_NO_MEM);
  OK(MPI_Irecv(data, 1, deep, 0, 3, comm, &received));
  limit();
  CHECK(class_after(MPI_Send(row, kDepth, MPI_CHAR, 0, 3, comm)) == MPI_SUCCESS);
  CHECK(class_after(MPI_Wait(&received, &status)) == MPI_ERR_NO_MEM);
  /* The message waits. */
  OK(MPI_Send(row, kDepth, MPI_CHAR, 0, 4, comm));
  limit();
  CHECK(class_after(MPI_Recv(data, 1, deep, 0, 4, comm, &status)) == MPI_ERR_NO_MEM);

  for (MPI_Aint i = 0; i < extent; i++) data[i] = (char)(i / 2);
  OK(MPI_Send(data, 1, deep, 0, 5, comm));
  OK(MPI_Recv(row, kDepth, MPI_CHAR, 0, 5, comm, &status));
  OK(MPI_Get_count(&status, MPI_CHAR, &count));
  CHECK(count == kDepth);
  for (int i = 0; i < kDepth; i++) CHECK(row[i] == (char)i);
  OK(MPI_Type_free(&deep));
  free(data);
  free(row);
  return finish();
}
