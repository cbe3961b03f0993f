/* Programs whose ranks access memory of windows; the first argument says which (memory.sh). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, all, one = 1;
static int status;
static int* base;
static MPI_Win window;

static void make(int ints) {
  MPI_Win_allocate((MPI_Aint)(sizeof(int)) * ints, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &base, &window);
  for (int i = 0; i < ints; ++i) base[i] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
}

static int fetch_and_add(int at) {
  int old;
  MPI_Fetch_and_op(&one, &old, MPI_INT, 0, at, MPI_SUM, window);
  MPI_Win_flush(0, window);
  return old;
}

/* Each takes a number: N!, each with an output of its own. */
static void tickets(void) {
  make(1);
  MPI_Win_lock_all(0, window);
  printf("rank %d: %d\n", me, fetch_and_add(0));
  MPI_Win_unlock_all(window);
}

/* Each takes two numbers: the same call twice is no loop that repeats itself, as it changes what it
   finds. Of N ranks (2N)! / 2^N orders. */
static void two_tickets(void) {
  int first, second;
  make(1);
  MPI_Win_lock_all(0, window);
  first = fetch_and_add(0);
  second = fetch_and_add(0);
  printf("rank %d: %d %d\n", me, first, second);
  MPI_Win_unlock_all(window);
}

/* Rank 0 writes 1, then 2, and rank 1 looks: before, between or behind. 3 outputs. */
static void two_puts(void) {
  int value = 0;
  make(1);
  MPI_Win_lock_all(0, window);
  for (int i = 1; me == 0 && i <= 2; ++i) {
    MPI_Put(&i, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
  }
  if (me == 1) {
    MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    printf("%d\n", value);
  }
  MPI_Win_unlock_all(window);
}

/* Additions of integers, each to its own element and all to one: nobody sees their order. 1. */
static void sums(void) {
  make(all + 1);
  MPI_Win_lock_all(0, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, me, 1, MPI_INT, MPI_SUM, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, all, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_unlock_all(window);
}

/* Rank 0 sets what all others add to: each comes before that, or behind. 2^(N-1). */
static void set(void) {
  make(1);
  MPI_Win_lock_all(0, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, me ? MPI_SUM : MPI_REPLACE, window);
  MPI_Win_unlock_all(window);
}

/* The same with another access before that, which nobody sees. */
static void set_later(void) {
  make(all + 1);
  MPI_Win_lock_all(0, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, me + 1, 1, MPI_INT, MPI_SUM, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, me ? MPI_SUM : MPI_REPLACE, window);
  MPI_Win_unlock_all(window);
}

/* All but rank 0 write the same element between two fences: the last one stays. Of N writers N!
 * orders. */
static void last_put(void) {
  make(1);
  MPI_Win_fence(0, window);
  if (me > 0) MPI_Put(&me, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  if (me == 0) printf("%d\n", base[0]);
}

/* Read, add, write, under an exclusive lock: N! orders with one output. `shared`: the updates get
 * lost, too. */
static void update(int shared) {
  int value;
  make(1);
  MPI_Win_lock(shared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_flush(0, window);
  ++value;
  MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_unlock(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) printf("%d\n", base[0]);
}

/* Ends with 3 if rank 2 swaps before rank 1, and rank 3 has read before both. */
static void swap(void) {
  int zero = 0, old = -1;
  make(1);
  MPI_Win_lock_all(0, window);
  if (me == 1 || me == 2) MPI_Compare_and_swap(&me, &zero, &old, MPI_INT, 0, 0, window);
  if (me == 3) MPI_Fetch_and_op(NULL, &old, MPI_INT, 0, 0, MPI_NO_OP, window);
  MPI_Win_flush_all(window);
  MPI_Win_unlock_all(window);
  int olds[16];
  MPI_Gather(&old, 1, MPI_INT, olds, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (me == 0 && olds[1] == 2 && olds[3] == 0) status = 3;
}

/* Rank 1 waits in a loop for what rank 0 writes. 2: it is there at the first look, or later. */
static void spin(void) {
  int seen = 0;
  make(1);
  MPI_Win_lock_all(0, window);
  if (me == 0) MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window);
  while (me == 1 && !seen) {
    MPI_Fetch_and_op(NULL, &seen, MPI_INT, 0, 0, MPI_NO_OP, window);
    MPI_Win_flush(0, window);
  }
  MPI_Win_unlock_all(window);
}

/* The same with a lock for each look. */
static void spin_locking(void) {
  int seen = 0;
  make(1);
  do {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    if (me == 0) MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    if (me == 1) MPI_Get(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
  } while (me == 1 && !seen);
}

/* Two looks one after the other: both find nothing, only the first, none. 3 outputs. */
static void two_looks(void) {
  int first = 0, second = 0;
  make(1);
  MPI_Win_lock_all(0, window);
  if (me == 0) MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  if (me == 1) {
    MPI_Get(&first, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    MPI_Get(&second, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    printf("%d%d\n", first, second);
  }
  MPI_Win_unlock_all(window);
}

/* A spin lock of compare-and-swaps around an update: one output. Of two ranks, the second fails
   first or not: 4. Of three, the second fails while the first has it, or not; the third does
   neither, or fails first while the first or while the second has it; where both fail while the
   first has it, either may be earlier: 3! * (3 + 4) = 42. */
static void spin_lock(void) {
  int zero = 0, old, value;
  make(2);
  MPI_Win_lock_all(0, window);
  do {
    MPI_Compare_and_swap(&one, &zero, &old, MPI_INT, 0, 0, window);
    MPI_Win_flush(0, window);
  } while (old != 0);
  MPI_Get(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
  MPI_Win_flush(0, window);
  ++value;
  MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
  MPI_Win_flush(0, window);
  MPI_Accumulate(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) printf("%d\n", base[1]);
}

/* Two locks in opposite order: a deadlock if each has its first. */
static void two_locks(void) {
  make(1);
  if (me < 2) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - me, 0, window);
    MPI_Win_unlock(1 - me, window);
    MPI_Win_unlock(me, window);
  }
}

/* A message orders the writes: 1. */
static void ordered(void) {
  make(1);
  MPI_Win_lock_all(0, window);
  if (me == 1) MPI_Recv(&one, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (me < 2) {
    MPI_Put(&me, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
  }
  if (me == 0) MPI_Send(&one, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
}

/* Rank 0 tests whether its origins have completed. 2: it finds that at once, or later. Who posts,
   starts, completes and waits orders accesses of the next round. */
static void exposure(void) {
  MPI_Group group, target, origins;
  int zero = 0, flag = 0;
  make(1);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_incl(group, 1, &zero, &target);
  MPI_Group_excl(group, 1, &zero, &origins);
  for (int round = 0; round < 2; ++round) {
    if (me == 0) {
      MPI_Win_post(origins, 0, window);
      if (round == 0)
        for (flag = 0; !flag;) MPI_Win_test(window, &flag);
      else
        MPI_Win_wait(window);
    } else {
      MPI_Win_start(target, 0, window);
      MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, round ? MPI_SUM : MPI_MAX, window);
      MPI_Win_complete(window);
    }
  }
  MPI_Group_free(&origins);
  MPI_Group_free(&target);
  MPI_Group_free(&group);
}

/* Rank 1 looks twice whether the first part has come, which stays. 3. */
static void parts(void) {
  int values[2] = {1, 2}, flag = -1, again = -1;
  MPI_Request request;
  make(1);
  if (me == 0) {
    MPI_Psend_init(values, 2, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(0, request);
    MPI_Pready(1, request);
  } else if (me == 1) {
    MPI_Precv_init(values, 2, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Parrived(request, 0, &flag);
    MPI_Parrived(request, 0, &again);
    printf("%d%d\n", flag, again);
  }
  if (me < 2) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}

static void exclusive(void) { update(0); }
static void shared(void) { update(1); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"tickets", tickets},
                  {"two_tickets", two_tickets},
                  {"two_puts", two_puts},
                  {"sums", sums},
                  {"set", set},
                  {"set_later", set_later},
                  {"last_put", last_put},
                  {"exclusive", exclusive},
                  {"shared", shared},
                  {"swap", swap},
                  {"spin", spin},
                  {"spin_locking", spin_locking},
                  {"two_looks", two_looks},
                  {"spin_lock", spin_lock},
                  {"two_locks", two_locks},
                  {"ordered", ordered},
                  {"exposure", exposure},
                  {"parts", parts}};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; ++i)
    if (argc > 1 && !strcmp(argv[1], programs[i].name)) programs[i].run();
  MPI_Win_free(&window);
  MPI_Finalize();
  return status;
}
