/* Each call in each of its forms: large counts, MPI_PROC_NULL, no elements, MPI_BOTTOM, MPI_NO_OP
 * without an origin, groups without members, every assertion, every info key, error handlers. */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "error_class.h"
#include "mpitest.h"

static int rank, size, to, from;

/* A window of 8 longs, all `rank`, made by each of the calls with large counts too. */
static MPI_Win make(int form, long** memory) {
  MPI_Win win;
  MPI_Comm all = MPI_COMM_WORLD;
  const MPI_Aint bytes = 64;
  const MPI_Info none = MPI_INFO_NULL;
  switch (form) {
    case 0:
      OK(MPI_Win_allocate(bytes, 8, none, all, memory, &win));
      break;
    case 1:
      OK(MPI_Win_allocate_c(bytes, 8, none, all, memory, &win));
      break;
    case 2:
      *memory = malloc(64);
      OK(MPI_Win_create(*memory, bytes, 8, none, all, &win));
      break;
    case 3:
      *memory = malloc(64);
      OK(MPI_Win_create_c(*memory, bytes, 8, none, all, &win));
      break;
    case 4:
      OK(MPI_Win_allocate_shared(bytes, 8, none, all, memory, &win));
      break;
    default:
      OK(MPI_Win_allocate_shared_c(bytes, 8, none, all, memory, &win));
  }
  for (int i = 0; i < 8; ++i) (*memory)[i] = rank;
  OK(MPI_Barrier(all));
  return win;
}

static void drop(MPI_Win* win, int form, long* memory) {
  OK(MPI_Win_free(win));
  if (form == 2 || form == 3) free(memory);
}

/* All operations with large counts, which take the shortest way or not as the others do. */
static void large_counts(MPI_Win win, const long* memory) {
  long x[2] = {10 + rank, 20 + rank}, y[2], z[2];
  MPI_Request r[4];
  const MPI_Count two = 2;
  const MPI_Datatype type = MPI_LONG;
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Put_c(x, two, type, to, 0, two, type, win));
  OK(MPI_Win_flush(to, win));
  OK(MPI_Accumulate_c(x, two, type, to, 0, two, type, MPI_SUM, win));
  OK(MPI_Win_flush(to, win));
  OK(MPI_Get_c(y, two, type, to, 0, two, type, win));
  OK(MPI_Get_accumulate_c(x, two, type, z, two, type, to, 2, two, type, MPI_MAX, win));
  OK(MPI_Win_flush_all(win));
  CHECK(y[0] == 2 * x[0] && y[1] == 2 * x[1] && z[0] == to && z[1] == to);
  OK(MPI_Rput_c(x, two, type, to, 4, two, type, win, &r[0]));
  OK(MPI_Raccumulate_c(x, two, type, to, 6, two, type, MPI_SUM, win, &r[1]));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
  OK(MPI_Win_flush_local_all(win));
  OK(MPI_Win_flush(to, win));
  OK(MPI_Rget_c(y, two, type, to, 4, two, type, win, &r[2]));
  OK(MPI_Rget_accumulate_c(NULL, 0, MPI_DATATYPE_NULL, z, two, type, to, 6, two, type, MPI_NO_OP,
                           win, &r[3]));
  OK(MPI_Waitall(2, r + 2, MPI_STATUSES_IGNORE));
  CHECK(y[0] == x[0] && y[1] == x[1] && z[0] == x[0] + to && z[1] == x[1] + to);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(memory[0] == 2 * (10 + from) && memory[4] == 10 + from && memory[7] == 20 + from + rank);
}

/* Nobody and nothing: complete at once, and change nothing. */
static void nothing(MPI_Win win, const long* memory) {
  long x = 99, y = 77, before[8];
  MPI_Request r[8];
  MPI_Status s[8];
  int n = 0;
  memcpy(before, memory, sizeof before);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, win));
  OK(MPI_Win_unlock(MPI_PROC_NULL, win));
  OK(MPI_Win_lock_all(0, win));
  const int targets[] = {MPI_PROC_NULL, to};
  for (int i = 0; i < 2; ++i) {
    const int t = targets[i], count = i == 0;
    const MPI_Aint disp = i == 0 ? 1 << 30 : 0;
    OK(MPI_Put(&x, count, MPI_LONG, t, disp, count, MPI_LONG, win));
    OK(MPI_Get(&y, count, MPI_LONG, t, disp, count, MPI_LONG, win));
    OK(MPI_Accumulate(&x, count, MPI_LONG, t, disp, count, MPI_LONG, MPI_SUM, win));
    OK(MPI_Get_accumulate(&x, count, MPI_LONG, &y, count, MPI_LONG, t, disp, count, MPI_LONG,
                          MPI_SUM, win));
    OK(MPI_Rput(&x, count, MPI_LONG, t, disp, count, MPI_LONG, win, &r[n++]));
    OK(MPI_Rget(&y, count, MPI_LONG, t, disp, count, MPI_LONG, win, &r[n++]));
    OK(MPI_Raccumulate(&x, count, MPI_LONG, t, disp, count, MPI_LONG, MPI_SUM, win, &r[n++]));
    OK(MPI_Rget_accumulate(&x, count, MPI_LONG, &y, count, MPI_LONG, t, disp, count, MPI_LONG,
                           MPI_REPLACE, win, &r[n++]));
    if (i == 0) {
      OK(MPI_Fetch_and_op(&x, &y, MPI_LONG, t, disp, MPI_SUM, win));
      OK(MPI_Compare_and_swap(&x, &x, &y, MPI_LONG, t, disp, win));
      OK(MPI_Win_flush(t, win));
      OK(MPI_Win_flush_local(t, win));
    }
  }
  OK(MPI_Put(NULL, 0, MPI_LONG, to, 0, 0, MPI_LONG, win));
  OK(MPI_Waitall(n, r, s));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(y == 77 && !memcmp(before, memory, sizeof before));
}

/* Origins of absolute addresses, apart from each other. */
static void bottom(MPI_Win win, const long* memory) {
  long a = 1000 + rank, gap, b = 2000 + rank, c = -1, d = -1;
  MPI_Aint at[2], back[2];
  MPI_Datatype out, in;
  (void)gap;
  OK(MPI_Get_address(&a, &at[0]));
  OK(MPI_Get_address(&b, &at[1]));
  OK(MPI_Get_address(&d, &back[0]));
  OK(MPI_Get_address(&c, &back[1]));
  OK(MPI_Type_create_hindexed(2, (int[]){1, 1}, at, MPI_LONG, &out));
  OK(MPI_Type_create_hindexed(2, (int[]){1, 1}, back, MPI_LONG, &in));
  OK(MPI_Type_commit(&out));
  OK(MPI_Type_commit(&in));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(MPI_BOTTOM, 1, out, to, 0, 2, MPI_LONG, win));
  OK(MPI_Accumulate(MPI_BOTTOM, 1, out, to, 2, 2, MPI_LONG, MPI_REPLACE, win));
  OK(MPI_Win_fence(0, win));
  CHECK(memory[0] == 1000 + from && memory[1] == 2000 + from);
  CHECK(memory[2] == 1000 + from && memory[3] == 2000 + from);
  OK(MPI_Get(MPI_BOTTOM, 1, in, to, 2, 2, MPI_LONG, win));
  OK(MPI_Win_fence(0, win));
  CHECK(d == 1000 + rank && c == 2000 + rank);
  OK(MPI_Type_free(&out));
  OK(MPI_Type_free(&in));
}

static void assertions(MPI_Win win, long* memory) {
  long x = 5000 + rank;
  MPI_Group all, to_it, of_it;
  int flag = 0;
  OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, win));
  OK(MPI_Put(&x, 1, MPI_LONG, to, 0, 1, MPI_LONG, win));
  OK(MPI_Win_fence(MPI_MODE_NOSTORE, win));
  CHECK(memory[0] == 5000 + from);
  memory[1] = 6000 + rank;
  OK(MPI_Win_fence(MPI_MODE_NOPUT, win)); /* after it only reads */
  long got = -1;
  OK(MPI_Get(&got, 1, MPI_LONG, to, 1, 1, MPI_LONG, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT, win));
  CHECK(got == 6000 + to);
  OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, win));
  OK(MPI_Win_get_group(win, &all));
  OK(MPI_Group_incl(all, 1, &to, &to_it));
  OK(MPI_Group_incl(all, 1, &from, &of_it));
  for (int checked = 0; checked < 2; ++checked) {
    x += 100;
    OK(MPI_Win_post(of_it, checked ? MPI_MODE_NOSTORE : MPI_MODE_NOCHECK, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_start(to_it, checked ? 0 : MPI_MODE_NOCHECK, win));
    OK(MPI_Put(&x, 1, MPI_LONG, to, 2, 1, MPI_LONG, win));
    OK(MPI_Win_complete(win));
    while (!flag) OK(MPI_Win_test(win, &flag));
    flag = 0;
    CHECK(memory[2] == 5000 + from + 100 * (checked + 1));
    OK(MPI_Win_post(of_it, MPI_MODE_NOPUT | MPI_MODE_NOSTORE, win));
    OK(MPI_Win_start(to_it, 0, win));
    OK(MPI_Get(&got, 1, MPI_LONG, to, 2, 1, MPI_LONG, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK(got == x);
  }
  /* Groups of nobody. */
  OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
  OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, MPI_MODE_NOCHECK, win));
  OK(MPI_Accumulate(&x, 1, MPI_LONG, to, 3, 1, MPI_LONG, MPI_REPLACE, win));
  OK(MPI_Win_unlock(to, win));
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  OK(MPI_Fetch_and_op(NULL, &got, MPI_LONG, to, 3, MPI_NO_OP, win));
  OK(MPI_Win_unlock_all(win));
  CHECK(got == x);
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&to_it));
  OK(MPI_Group_free(&of_it));
}

static void expect_key(MPI_Win win, const char* key, const char* value) {
  MPI_Info info;
  char got[MPI_MAX_INFO_VAL];
  int flag;
  OK(MPI_Win_get_info(win, &info));
  OK(MPI_Info_get(info, key, sizeof got - 1, got, &flag));
  if (!flag || strcmp(got, value))
    fprintf(stderr, "%s is %s, not %s\n", key, flag ? got : "not there", value);
  CHECK(flag && !strcmp(got, value));
  OK(MPI_Info_free(&info));
}

static void keys(void) {
  static const char* const keys[][2] = {{"no_locks", "true"},
                                        {"accumulate_ordering", "none"},
                                        {"accumulate_ops", "same_op"},
                                        {"same_size", "true"},
                                        {"same_disp_unit", "true"},
                                        {"mpi_minimum_memory_alignment", "4096"},
                                        {"which_accumulate_ops", "sum,no_op"},
                                        {"disable_shm_accumulate", "true"}};
  MPI_Info info;
  MPI_Win win;
  char* memory;
  MPI_Aint bytes;
  int unit, shares = !getenv("FGMPI_TRANSPORT");
  OK(MPI_Info_create(&info));
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i)
    OK(MPI_Info_set(info, keys[i][0], keys[i][1]));
  OK(MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &memory, &win));
  CHECK((uintptr_t)memory % 4096 == 0);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) expect_key(win, keys[i][0], keys[i][1]);
  OK(MPI_Win_free(&win));
  OK(MPI_Info_free(&info));
  if (!shares) return;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
  OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "256"));
  OK(MPI_Win_allocate_shared(100, 1, info, MPI_COMM_WORLD, &memory, &win));
  expect_key(win, "alloc_shared_noncontig", "true");
  for (int i = 0; i < size; ++i) {
    char* base;
    OK(MPI_Win_shared_query(win, i, &bytes, &unit, &base));
    CHECK(bytes == 100 && unit == 1 && (uintptr_t)base % 256 == 0);
  }
  OK(MPI_Win_free(&win));
  OK(MPI_Info_free(&info));
  /* Nobody has memory. */
  OK(MPI_Win_allocate_shared(0, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  MPI_Aint large_unit;
  OK(MPI_Win_shared_query_c(win, MPI_PROC_NULL, &bytes, &large_unit, &memory));
  CHECK(bytes == 0 && large_unit == 0 && !memory);
  OK(MPI_Win_free(&win));
}

static int handled;
static void handle(MPI_Win* win, int* code, ...) {
  CHECK(*win != MPI_WIN_NULL && class_of(*code) == MPI_ERR_RMA_SYNC);
  ++handled;
}

static void handlers(void) {
  MPI_Win win;
  MPI_Errhandler mine, got;
  long* memory;
  OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Win_get_errhandler(win, &got));
  CHECK(got == MPI_ERRORS_ARE_FATAL);
  OK(MPI_Win_create_errhandler(handle, &mine));
  OK(MPI_Win_set_errhandler(win, mine));
  OK(MPI_Win_get_errhandler(win, &got));
  CHECK(got == mine);
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Errhandler_free(&mine));
  CHECK(class_of(MPI_Win_unlock_all(win)) == MPI_ERR_RMA_SYNC && handled == 1);
  OK(MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC));
  CHECK(handled == 2);
  CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win);
  OK(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  to = (rank + 1) % size;
  from = (rank + size - 1) % size;
  const int forms = getenv("FGMPI_TRANSPORT") ? 4 : 6; /* without shared memory no shared windows */
  for (int form = 0; form < forms; ++form) {
    long* memory;
    MPI_Win win = make(form, &memory);
    large_counts(win, memory);
    nothing(win, memory);
    bottom(win, memory);
    assertions(win, memory);
    drop(&win, form, memory);
  }
  keys();
  handlers();
  return finish();
}
