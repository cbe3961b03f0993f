/* Forms of loops, ways out of them, and nests. */
#include "corpus.h"

static void plain_for(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0; i < 10; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
    add_ints(buffer, 8);
  }
}

static void while_loop(MPI_Comm comm, int n) {
  int buffer[8], i = 0;
  while (i < n) {
    fill(buffer, 8, 1 % g_size, i++);
    MPI_Bcast(buffer, 8, MPI_INT, 1 % g_size, comm); /* hoist: must */
    add_ints(buffer, 8);
  }
}

static void do_loop(MPI_Comm comm) {
  int buffer[8], i = 0;
  do {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
    add_ints(buffer, 8);
  } while (++i < 5);
}

static void goto_loop(MPI_Comm comm) {
  int buffer[8], i = 0;
again:
  fill(buffer, 8, 0, i);
  MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
  add_ints(buffer, 8);
  if (++i < 7) goto again;
}

/* Nothing of the communicator may be looked at. */
static void zero_trips(MPI_Comm comm, int n, const int* counts) {
  int buffer[8];
  for (int i = 0; i < n; ++i) {
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
    MPI_Scatterv(buffer, counts, counts, MPI_INT, buffer + 4, 1, MPI_INT, 0,
                 comm); /* hoist: must */
    add_ints(buffer, 8);
  }
}

static void with_break(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0;; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
    add_ints(buffer, 8);
    if (buffer[0] == 6000) break;
    if (buffer[1] < 0) abort();
  }
}

static int with_return(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0;; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
    add_ints(buffer, 8);
    if (buffer[0] == 4000) return buffer[3];
  }
}

static void with_goto_out(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0; i < 9; ++i)
    for (int k = 0; k < 9; ++k) {
      fill(buffer, 8, 0, i * 9 + k);
      MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
      add_ints(buffer, 8);
      if (buffer[0] == 40000) goto out;
    }
out:
  add_int(buffer[2]);
}

static void with_continue(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0; i < 9; ++i) {
    if (i % 3 == 1) continue;
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
    add_ints(buffer, 8);
  }
}

/* As far out as the count stays the same: the middle one of three. */
static void nest(MPI_Comm comm) {
  int buffer[8];
  for (int n = 1; n < 4; ++n)
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 2; ++k) {
        fill(buffer, n, 0, i);
        MPI_Bcast(buffer, n, MPI_INT, 0, comm); /* hoist: must */
        add_ints(buffer, n);
      }
}

static void two_in_one(MPI_Comm comm) {
  int buffer[8], other[4];
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, 0, i);
    fill(other, 4, g_size - 1, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm);         /* hoist: must */
    MPI_Bcast(other, 4, MPI_INT, g_size - 1, comm); /* hoist: must */
    add_ints(buffer, 8);
    add_ints(other, 4);
  }
}

/* Some ranks enter the loop, but all make the same calls: others elsewhere. */
static void different_sites(MPI_Comm comm) {
  int buffer[8];
  if (g_rank % 2) {
    for (int i = 0; i < 4; ++i) {
      fill(buffer, 8, 0, i);
      MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: must */
      add_ints(buffer, 8);
    }
  } else {
    for (int i = 0; i < 4; ++i) {
      fill(buffer, 8, 0, i);
      int error = PMPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: never */
      add_ints(buffer, 8);
      add_int(error);
    }
  }
}

/* Only members of the half enter, the others have no communicator. */
static void only_some_enter(void) {
  int buffer[8];
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2 ? MPI_UNDEFINED : 0, 0, &half);
  int rounds = half == MPI_COMM_NULL ? 0 : 5;
  for (int i = 0; i < rounds; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, half); /* hoist: must */
    add_ints(buffer, 8);
  }
  if (half != MPI_COMM_NULL) MPI_Comm_free(&half);
}

static void root_changes(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, i % g_size, i);
    MPI_Bcast(buffer, 8, MPI_INT, i % g_size, comm); /* hoist: never */
    add_ints(buffer, 8);
  }
}

static void count_changes(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0; i < 8; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, i, MPI_INT, 0, comm); /* hoist: never */
    add_ints(buffer, i);
  }
}

static void count_is_received(MPI_Comm comm) {
  int buffer[8], n = 0;
  for (int i = 0; i < 8; ++i) {
    if (g_rank == 0) n = i;
    MPI_Bcast(&n, 1, MPI_INT, 0, comm); /* hoist: must */
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, n, MPI_INT, 0, comm); /* hoist: never */
    add_ints(buffer, n);
  }
}

static void type_changes(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0; i < 8; ++i) {
    MPI_Datatype type = i % 2 ? MPI_INT : MPI_FLOAT;
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, type, 0, comm); /* hoist: never */
    add_ints(buffer, 8);
  }
}

static void type_is_made_again(MPI_Comm comm) {
  int buffer[9];
  for (int i = 1; i < 4; ++i) {
    MPI_Datatype type;
    MPI_Type_vector(3, 1, i, MPI_INT, &type);
    MPI_Type_commit(&type);
    fill(buffer, 9, 0, i);
    MPI_Bcast(buffer, 1, type, 0, comm); /* hoist: never */
    MPI_Type_free(&type);
    for (int k = 0; k < 3; ++k) add_int(buffer[k * i]);
  }
}

static void in_no_loop(MPI_Comm comm) {
  int buffer[8];
  fill(buffer, 8, 0, 1);
  MPI_Bcast(buffer, 8, MPI_INT, 0, comm); /* hoist: never */
  add_ints(buffer, 8);
}

static void computed(MPI_Comm comm, int n, int m) {
  int buffer[64];
  for (int i = 0; i < 5; ++i) {
    fill(buffer, n * m + 1, n % g_size, i);
    MPI_Bcast(buffer, n * m + 1, MPI_INT, n % g_size, comm); /* hoist: must */
    add_ints(buffer, n * m + 1);
  }
}

static int recursive(MPI_Comm comm, int depth) {
  int buffer[4], sum = 0;
  for (int i = 0; i < 2; ++i) {
    fill(buffer, 4, 0, depth);
    MPI_Bcast(buffer, 4, MPI_INT, 0, comm); /* hoist: must */
    add_ints(buffer, 4);
    if (depth > 0) sum += recursive(comm, depth - 1);
  }
  return sum + buffer[0];
}

int main(int argc, char** argv) {
  zero_trips((MPI_Comm)argc, 0, NULL);
  zero_trips(MPI_COMM_WORLD, 0, NULL);
  begin(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int world = 0; world < 2; ++world) {
    MPI_Comm c = world ? MPI_COMM_WORLD : comm;
    plain_for(c);
    while_loop(c, 5);
    while_loop(MPI_COMM_NULL, 0);
    do_loop(c);
    goto_loop(c);
    zero_trips(c, 0, (const int*)8);
    zero_trips((MPI_Comm)0x12345678, 0, NULL);
    with_break(c);
    add_int(with_return(c));
    with_goto_out(c);
    with_continue(c);
    nest(c);
    two_in_one(c);
    different_sites(c);
    root_changes(c);
    count_changes(c);
    count_is_received(c);
    type_changes(c);
    type_is_made_again(c);
    in_no_loop(c);
    computed(c, 3, 7);
    add_int(recursive(c, 3));
  }
  only_some_enter();
  MPI_Comm_free(&comm);
  end();
  zero_trips(MPI_COMM_WORLD, 0, NULL);
  return 0;
}
