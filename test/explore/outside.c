/* Programs with more than messages: memory of windows, files, threads, other processes; the first
   argument says which (outside.sh). In each, rank 0 receives a message from every other rank, in
   any order: (N-1)! executions. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int me, all;

static int receive_any(void) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return value;
}

static void send_me(void) { MPI_Send(&me, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); }

/* What a message adds to the window's memory must not be there in other executions. */
static void count_in(int* base, MPI_Win window) {
  int one = 1;
  *base = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; me == 0 && i < all; ++i) *base += receive_any() > 0;
  if (me > 0) send_me();
  MPI_Win_fence(0, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  if (me == 0) printf("%d\n", *base);
  MPI_Win_free(&window);
}

static void window(void) {
  int* base;
  MPI_Win window;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  count_in(base, window);
}

static void shared_window(void) {
  int* base;
  MPI_Win window;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  count_in(base, window);
}

/* Between two messages rank 0 waits for the file. */
static void file(void) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int i = 1; me == 0 && i < all; ++i) {
    int value = receive_any();
    MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  if (me > 0) send_me();
  MPI_File_close(&file);
}

/* Rank 0 writes the order of the messages to made/order, and adds a line to log; it reads input and
   ../above. Ends with 3 where a file has not what it should: lines of other executions, for
   example. */
static int first_line(const char* path) {
  int value = -1;
  FILE* in = fopen(path, "r");
  if (in && fscanf(in, "%d", &value) != 1) value = -1;
  if (in) fclose(in);
  return value;
}
static void results(void) {
  if (me > 0) return send_me();
  int lines = 0;
  FILE* out = fopen("made/order", "w");
  for (int i = 1; out && i < all; ++i) fprintf(out, "%d\n", receive_any());
  if (!out || fclose(out) != 0) exit(3);
  FILE* log = fopen("log", "a+");
  if (!log) exit(3);
  fprintf(log, "once\n");
  rewind(log);
  for (int c; (c = getc(log)) != EOF;) lines += c == '\n';
  fclose(log);
  if (lines != 2 || first_line("input") != 7 || first_line("../above") != 8) exit(3);
}

static void* receive_one(void* unused) {
  receive_any();
  return unused;
}

/* Another thread receives them, one after the other. */
static void threads(void) {
  if (me > 0) return send_me();
  for (int i = 1; i < all; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, receive_one, NULL);
    pthread_join(thread, NULL);
  }
}

/* Refused: who is at the other end of the socket may be anybody. The program goes on. */
static void join(void) {
  int ends[2];
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  MPI_Comm_join(ends[0], &made);
  close(ends[0]);
  close(ends[1]);
}

int main(int argc, char** argv) {
  int provided;
  const char* which = argc > 1 ? argv[1] : "";
  const int threaded = !strcmp(which, "threads");
  MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  if (!strcmp(which, "window")) window();
  if (!strcmp(which, "shared_window")) shared_window();
  if (!strcmp(which, "file")) file();
  if (!strcmp(which, "results")) results();
  if (threaded) threads();
  if (!strcmp(which, "join")) join();
  MPI_Finalize();
  return 0;
}
