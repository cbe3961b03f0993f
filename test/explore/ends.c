/* Programs that a rank ends early in some orders; the first argument says which (ends.sh). */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, all;

static int receive_any(void) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return value;
}

static void send_me(int to) { MPI_Send(&me, 1, MPI_INT, to, 0, MPI_COMM_WORLD); }

/* What the checker finds and the program goes on after: a message of one type that is received as
 * another. */
static void make_an_error(void) {
  float other;
  MPI_Sendrecv(&me, 1, MPI_INT, me, 9, &other, 1, MPI_FLOAT, me, 9, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void end_early(const char* how) {
  if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
  if (!strcmp(how, "exit")) exit(3);
  if (!strcmp(how, "crash")) raise(SIGKILL);
}

/* Rank 0 ends the program when it has heard of rank 1. Rank 2 makes an error when it has heard of
   rank 3. Nothing but chance says who comes first. */
static void hidden(const char* how) {
  if (me % 2) send_me(me - 1);
  if (me == 0) {
    receive_any();
    end_early(how);
  }
  if (me == 2) {
    receive_any();
    make_an_error();
  }
}

/* Likewise, but rank 2 makes its error behind a send to rank 3, which waits for rank 0 first: only
   a send that is buffered lets it come to that. */
static void behind_send(const char* how) {
  if (me == 1) send_me(0);
  if (me == 0) {
    receive_any();
    end_early(how);
    send_me(3);
  }
  if (me == 2) {
    send_me(3);
    make_an_error();
  }
  if (me == 3) {
    MPI_Recv(&all, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    receive_any();
  }
}

/* Rank 0 makes an error in each order, and ends the program in one of all. */
static void error_and_end(const char* how) {
  if (me > 0) return send_me(0);
  make_an_error();
  int reverse = 1;
  for (int i = 1; i < all; ++i) reverse &= receive_any() == all - i;
  if (reverse) end_early(how);
}

/* Rank 0 ends the program when rank 1's message comes first, and waits for one more message than
   there is when rank 3's does, which rank 2 has asked for. */
static void end_or_deadlock(const char* how) {
  if (me == 0) {
    const int first = receive_any();
    if (first == 1) end_early(how);
    receive_any();
    if (first == 3) receive_any();
  }
  if (me == 1) send_me(0);
  if (me == 2) send_me(3);
  if (me == 3) {
    receive_any();
    send_me(0);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  const char *which = argc > 1 ? argv[1] : "hidden", *how = argc > 2 ? argv[2] : "abort";
  if (!strcmp(which, "hidden")) hidden(how);
  if (!strcmp(which, "behind_send")) behind_send(how);
  if (!strcmp(which, "error_and_end")) error_and_end(how);
  if (!strcmp(which, "end_or_deadlock")) end_or_deadlock(how);
  MPI_Finalize();
  return 0;
}
