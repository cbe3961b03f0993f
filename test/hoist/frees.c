/* Communicators that are freed, or may be, while the loop runs; setjmp, OpenMP, and programs that
 * end in a loop. */
#include <setjmp.h>

#include "corpus.h"

static void own_and_unknown(void) {
  int buffer[8];
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  for (int i = 0; i < 6; ++i) {
    unknown_work();
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, own); /* hoist: must */
    add_ints(buffer, 8);
  }
  MPI_Comm_free(&own);
}

static void parameter_and_unknown(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    unknown_work();
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: never */
    add_ints(buffer, 8);
  }
}

static void given_to_unknown(void) {
  int buffer[8];
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  for (int i = 0; i < 6; ++i) {
    unknown_with_comm(own);
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, own); /* hoist: never */
    add_ints(buffer, 8);
  }
  MPI_Comm_free(&own);
}

static void replaced_by_unknown(void) {
  int buffer[8];
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  for (int i = 0; i < 6; ++i) {
    unknown_with_comm_address(&own);
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, own); /* hoist: never */
    add_ints(buffer, 8);
  }
  MPI_Comm_free(&own);
}

static void made_each_time(void) {
  int buffer[8];
  for (int i = 0; i < 4; ++i) {
    MPI_Comm own;
    MPI_Comm_split(MPI_COMM_WORLD, g_rank % (i + 1), 0, &own);
    fill(buffer, 8, g_rank, i + g_rank % (i + 1));
    MPI_Bcast(buffer, 8, MPI_INT, 0, own); /* hoist: never */
    MPI_Comm_free(&own);
    add_ints(buffer, 8);
  }
}

static void made_each_time_inner(void) {
  int buffer[8];
  for (int i = 0; i < 4; ++i) {
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    for (int k = 0; k < 3; ++k) {
      fill(buffer, 8, 0, i);
      MPI_Bcast(buffer, 8, MPI_INT, 0, own); /* hoist: must */
      add_ints(buffer, 8);
    }
    MPI_Comm_free(&own);
  }
}

static void another_is_freed(void) {
  int buffer[8];
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  for (int i = 0; i < 4; ++i) {
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, own); /* hoist: must */
    add_ints(buffer, 8);
    MPI_Comm_free(&other);
  }
  MPI_Comm_free(&own);
}

static void freed_in_the_last_round(void) {
  int buffer[8];
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  for (int i = 0; i < 4; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, own); /* hoist: never */
    add_ints(buffer, 8);
    if (i == 3) MPI_Comm_free(&own);
  }
}

static void free_it(MPI_Comm* comm) { MPI_Comm_free(comm); }
static void freed_by_a_function(void) {
  int buffer[8];
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  for (int i = 0; i < 4; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, own); /* hoist: never */
    add_ints(buffer, 8);
    if (i == 3) free_it(&own);
  }
}

static void freed_on_the_way_out(void) {
  int buffer[8];
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  for (int i = 0;; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, own); /* hoist: must */
    add_ints(buffer, 8);
    if (buffer[0] == 3000) {
      MPI_Comm_free(&own);
      break;
    }
  }
}

static void result_of_unknown(void) {
  int buffer[8];
  for (int i = 0; i < 4; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, unknown_comm()); /* hoist: never */
    add_ints(buffer, 8);
  }
}

static jmp_buf g_jump;
static void with_setjmp(void) {
  int buffer[8];
  volatile int rounds = 0;
  if (setjmp(g_jump)) add_int(77);
  for (int i = 0; i < 4; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, MPI_COMM_WORLD); /* hoist: never */
    add_ints(buffer, 8);
    rounds = rounds + 1;
    if (rounds == 2) longjmp(g_jump, 1);
  }
}

static jmp_buf g_far_jump;
static void jumps_far(void) {
  int buffer[8];
  for (int i = 0;; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, MPI_COMM_WORLD); /* hoist: must */
    add_ints(buffer, 8);
    if (buffer[0] == 2000) longjmp(g_far_jump, 1);
  }
}
static void far_jump(void) {
  if (!setjmp(g_far_jump)) jumps_far();
}

static void parallel_region(void) {
  int buffer[8], partial = 0;
#pragma omp parallel num_threads(1)
  for (int i = 0; i < 4; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, MPI_COMM_WORLD); /* hoist: never */
    partial += buffer[7];
  }
  add_int(partial);
}

static void around_parallel_region(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0; i < 4; ++i) {
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int k = 0; k < 100; ++k) sum += k;
    fill(buffer, 8, 0, i + sum);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
    add_ints(buffer, 8);
  }
}

static void finalize_in_the_loop(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0;; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
    add_ints(buffer, 8);
    if (buffer[0] == 5000) exit(end());
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  own_and_unknown();
  parameter_and_unknown(MPI_COMM_WORLD);
  given_to_unknown();
  replaced_by_unknown();
  made_each_time();
  made_each_time_inner();
  another_is_freed();
  freed_in_the_last_round();
  freed_by_a_function();
  freed_on_the_way_out();
  result_of_unknown();
  with_setjmp();
  for (int i = 0; i < 20; ++i) far_jump();
  parallel_region();
  around_parallel_region(MPI_COMM_WORLD);
  finalize_in_the_loop(MPI_COMM_WORLD);
}
