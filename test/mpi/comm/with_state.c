/* Operations and error handlers that get a pointer of the program's, as MPICH's C++ and Fortran
 * bindings make them from 5.0 on: the pointer arrives, and its destructor is called once, when
 * nobody uses the object any more. */
#include "../mpitest.h"

#if MPICH_NUMVERSION < 50000000
int MPIX_Op_create_x(void (*)(void*, void*, MPI_Count, MPI_Datatype, void*), void (*)(void*), int,
                     void*, MPI_Op*);
int MPIX_Comm_create_errhandler_x(void (*)(MPI_Comm, int, void*), void (*)(void*), void*,
                                  MPI_Errhandler*);
int MPIX_Win_create_errhandler_x(void (*)(MPI_Win, int, void*), void (*)(void*), void*,
                                 MPI_Errhandler*);
int MPIX_File_create_errhandler_x(void (*)(MPI_File, int, void*), void (*)(void*), void*,
                                  MPI_Errhandler*);
int MPIX_Session_create_errhandler_x(void (*)(MPI_Session, int, void*), void (*)(void*), void*,
                                     MPI_Errhandler*);
#endif

typedef struct {
  int calls, ends, class;
  MPI_Comm comm;
  MPI_Win win;
  MPI_File file;
  MPI_Session session;
} State;

static void end(void* state) { ++((State*)state)->ends; }
static void note(State* state, int code) {
  ++state->calls;
  MPI_Error_class(code, &state->class);
}
static void of_comm(MPI_Comm comm, int code, void* state) {
  ((State*)state)->comm = comm;
  note(state, code);
}
static void of_win(MPI_Win win, int code, void* state) {
  ((State*)state)->win = win;
  note(state, code);
}
static void of_file(MPI_File file, int code, void* state) {
  ((State*)state)->file = file;
  note(state, code);
}
static void of_session(MPI_Session session, int code, void* state) {
  ((State*)state)->session = session;
  note(state, code);
}
static void multiply(void* in, void* inout, MPI_Count count, MPI_Datatype type, void* state) {
  CHECK(type == MPI_LONG);
  for (MPI_Count i = 0; i < count; ++i) ((long*)inout)[i] *= ((long*)in)[i];
  ++((State*)state)->calls;
}

static void operations(int rank, int size) {
  State state = {0};
  MPI_Op op;
  MPI_Request request;
  long mine[2] = {rank + 1 < 4 ? rank + 1 : 1, 2}, made[2] = {0, 0}, expected = size < 3 ? size : 6;
  OK(MPIX_Op_create_x(multiply, end, 1, &state, &op));
  OK(MPI_Iallreduce(mine, made, 2, MPI_LONG, op, MPI_COMM_WORLD, &request));
  OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(made[0] == expected);
  CHECK(state.ends == 1);
}

static void communicators(int size) {
  State state = {0};
  MPI_Errhandler handler;
  MPI_Comm copy;
  OK(MPIX_Comm_create_errhandler_x(of_comm, end, &state, &handler));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_set_errhandler(copy, handler));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Send(NULL, 0, MPI_INT, size, 0, copy)); /* the error is the handler's */
  CHECK(state.calls == 1 && state.comm == copy && state.class == MPI_ERR_RANK);
  OK(MPI_Comm_call_errhandler(copy, MPI_ERR_TAG));
  CHECK(state.calls == 2 && state.class == MPI_ERR_TAG && state.ends == 0);
  OK(MPI_Comm_free(&copy));
  CHECK(state.ends == 1);
}

static void windows_files_and_sessions(void) {
  State state = {0};
  MPI_Errhandler handler;
  MPI_Win win;
  MPI_Session session;
  MPI_File file = MPI_FILE_NULL;
  OK(MPIX_Win_create_errhandler_x(of_win, end, &state, &handler));
  OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
  OK(MPI_Win_set_errhandler(win, handler));
  OK(MPI_Win_call_errhandler(win, MPI_ERR_SIZE));
  CHECK(state.calls == 1 && state.win == win && state.class == MPI_ERR_SIZE);
  OK(MPI_Win_free(&win));
  CHECK(state.ends == 0);
  OK(MPI_Errhandler_free(&handler));
  CHECK(state.ends == 1);
  OK(MPIX_File_create_errhandler_x(of_file, end, &state, &handler));
  OK(MPI_File_set_errhandler(file, handler)); /* of opening files */
  OK(MPI_File_call_errhandler(file, MPI_ERR_ACCESS));
  CHECK(state.calls == 2 && state.file == file && state.class == MPI_ERR_ACCESS);
  OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  OK(MPI_Errhandler_free(&handler));
  CHECK(state.ends == 2);
  OK(MPIX_Session_create_errhandler_x(of_session, NULL, &state, &handler));
  OK(MPI_Session_init(MPI_INFO_NULL, handler, &session));
  OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
  CHECK(state.calls == 3 && state.session == session && state.class == MPI_ERR_OTHER);
  OK(MPI_Session_finalize(&session));
  OK(MPI_Errhandler_free(&handler));
  CHECK(state.ends == 2);
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  operations(rank, size);
  communicators(size);
  windows_files_and_sessions();
  return finish();
}
