/* Windows as objects: flavors, sizes that differ, attributes, names, hints, groups, shared memory
 * in rank order, dynamic memory, errors before damage, MPI_PROC_NULL, large counts, and that a
 * target need not help. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "fgmpi.h"
#include "mpitest.h"

static int rank, size;
static int can_share;

#define CLASS(expected, call)            \
  do {                                   \
    int code_ = (call), class_;          \
    OK(MPI_Error_class(code_, &class_)); \
    CHECK(class_ == (expected));         \
  } while (0)

static int deleted;
static int delete_it(MPI_Win win, int keyval, void* value, void* extra) {
  (void)win;
  (void)keyval;
  CHECK(*(int*)value == 42 && extra == &deleted);
  ++deleted;
  return MPI_SUCCESS;
}

static void attributes(void) {
  MPI_Win win;
  long* memory;
  const MPI_Aint mine = (rank % 3) * 24;
  OK(MPI_Win_allocate(mine, 4 + rank % 2, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  void* base;
  MPI_Aint* bytes;
  int flag, *unit, *flavor, *model;
  OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
  CHECK(flag && base == memory);
  OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag));
  CHECK(flag && *bytes == mine);
  OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
  CHECK(flag && *unit == 4 + rank % 2);
  OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
  CHECK(flag && *flavor == MPI_WIN_FLAVOR_ALLOCATE);
  OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
  CHECK(flag && *model == MPI_WIN_UNIFIED);

  int keyval, value = 42, *got;
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_it, &keyval, &deleted));
  OK(MPI_Win_get_attr(win, keyval, &got, &flag));
  CHECK(!flag);
  OK(MPI_Win_set_attr(win, keyval, &value));
  OK(MPI_Win_get_attr(win, keyval, &got, &flag));
  CHECK(flag && got == &value);
  OK(MPI_Win_delete_attr(win, keyval));
  CHECK(deleted == 1);
  OK(MPI_Win_set_attr(win, keyval, &value));
  OK(MPI_Win_free_keyval(&keyval));

  char name[MPI_MAX_OBJECT_NAME];
  int length;
  OK(MPI_Win_get_name(win, name, &length));
  CHECK(length == 0);
  OK(MPI_Win_set_name(win, "grid"));
  OK(MPI_Win_get_name(win, name, &length));
  CHECK(length == 4 && !strcmp(name, "grid"));

  MPI_Info info;
  char hint[64];
  OK(MPI_Win_get_info(win, &info));
  OK(MPI_Info_get(info, "no_locks", 63, hint, &flag));
  CHECK(flag && !strcmp(hint, "false"));
  OK(MPI_Info_set(info, "no_locks", "true"));
  OK(MPI_Win_set_info(win, info));
  OK(MPI_Info_free(&info));
  OK(MPI_Win_get_info(win, &info));
  OK(MPI_Info_get(info, "no_locks", 63, hint, &flag));
  CHECK(flag && !strcmp(hint, "true"));
  int class;
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Error_class(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), &class));
  CHECK(class == MPI_ERR_RMA_SYNC);
  OK(MPI_Error_class(MPI_Win_lock_all(0, win), &class));
  CHECK(class == MPI_ERR_RMA_SYNC);
  OK(MPI_Info_set(info, "no_locks", "perhaps"));
  OK(MPI_Win_set_info(win, info));
  OK(MPI_Info_free(&info));
  OK(MPI_Win_get_info(win, &info));
  OK(MPI_Info_get(info, "no_locks", 63, hint, &flag));
  CHECK(flag && !strcmp(hint, "true"));
  OK(MPI_Info_free(&info));

  MPI_Group group, world;
  int same;
  OK(MPI_Win_get_group(win, &group));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_compare(group, world, &same));
  CHECK(same == MPI_IDENT);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&world));
  CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win);
  OK(MPI_Win_free(&win));
  CHECK(win == MPI_WIN_NULL && deleted == 2);
}

static void errors(void) {
  MPI_Win win;
  int* memory;
  int x = 1, y;
  OK(MPI_Win_allocate(40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  memset(memory, 0, 40);
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int to = (rank + 1) % size;
  CLASS(MPI_ERR_RMA_SYNC, MPI_Put(&x, 1, MPI_INT, to, 0, 1, MPI_INT, win));
  CLASS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(to, win));
  CLASS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
  CLASS(MPI_ERR_RMA_SYNC, MPI_Win_flush(to, win));
  CLASS(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
  CLASS(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
  CLASS(MPI_ERR_LOCKTYPE, MPI_Win_lock(99, to, 0, win));
  CLASS(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, to, 12345, win));
  CLASS(MPI_ERR_ASSERT, MPI_Win_fence(1 << 20, win));
  CLASS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, &x, 4));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
  CLASS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
  CLASS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
  CLASS(MPI_ERR_RMA_RANGE, MPI_Put(&x, 1, MPI_INT, to, 10, 1, MPI_INT, win));
  CLASS(MPI_ERR_RMA_RANGE, MPI_Get(&y, 1, MPI_INT, to, 10, 1, MPI_INT, win));
  CLASS(MPI_ERR_DISP, MPI_Put(&x, 1, MPI_INT, to, -1, 1, MPI_INT, win));
  CLASS(MPI_ERR_RANK, MPI_Put(&x, 1, MPI_INT, size, 0, 1, MPI_INT, win));
  CLASS(MPI_ERR_COUNT, MPI_Put(&x, -1, MPI_INT, to, 0, 1, MPI_INT, win));
  CLASS(MPI_ERR_TYPE, MPI_Put(&x, 1, MPI_DATATYPE_NULL, to, 0, 1, MPI_INT, win));
  CLASS(MPI_ERR_OP, MPI_Accumulate(&x, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_OP_NULL, win));
  CLASS(MPI_ERR_OP, MPI_Accumulate(&x, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_NO_OP, win));
  CLASS(MPI_ERR_TYPE, MPI_Compare_and_swap(&x, &x, &y, MPI_FLOAT, to, 0, win));
  CLASS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
  OK(MPI_Put(&x, 1, MPI_INT, MPI_PROC_NULL, 1000, 1, MPI_INT, win));
  OK(MPI_Put(&x, 0, MPI_INT, to, 0, 0, MPI_INT, win));
  OK(MPI_Win_unlock(to, win));
  OK(MPI_Win_fence(0, win));
  CLASS(MPI_ERR_RMA_SYNC, MPI_Rput(&x, 1, MPI_INT, to, 0, 1, MPI_INT, win, (MPI_Request[1]){0}));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 10; ++i) CHECK(memory[i] == 0);
  OK(MPI_Win_free(&win));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CLASS(MPI_ERR_WIN, MPI_Win_fence(0, MPI_WIN_NULL));
  CLASS(MPI_ERR_SIZE, MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  CLASS(MPI_ERR_DISP, MPI_Win_allocate(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  if (size > 1) {
    MPI_Comm half, inter;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter));
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    CLASS(MPI_ERR_COMM, MPI_Win_allocate(8, 1, MPI_INFO_NULL, inter, &memory, &win));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Memory in rank order whatever process a rank lives in; bare stores and loads. */
static void shared(void) {
  MPI_Win win;
  MPI_Comm node;
  int r, n;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &node)); /* not the order of processes */
  OK(MPI_Comm_rank(node, &r));
  OK(MPI_Comm_size(node, &n));
  long* mine;
  const MPI_Aint bytes = r == 0 ? 0 : (MPI_Aint)sizeof(long) * (1 + r % 3);
  OK(MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, node, &mine, &win));
  MPI_Aint got, before = 0;
  int unit;
  char *first = NULL, *base;
  OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &got, &unit, &first));
  CHECK(n == 1 ? got == 0 : got == (MPI_Aint)sizeof(long) * 2);
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  for (int i = 0; i < n; ++i) {
    OK(MPI_Win_shared_query(win, i, &got, &unit, &base));
    CHECK(got == (i == 0 ? 0 : (MPI_Aint)sizeof(long) * (1 + i % 3)));
    if (i > 0) CHECK(base == first + before && unit == (int)sizeof(long));
    before += got;
  }
  for (int i = 0; i < bytes / (int)sizeof(long); ++i) mine[i] = 100 * r + i;
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(node));
  OK(MPI_Win_sync(win));
  long* p = (long*)first;
  for (int i = 1; i < n; ++i)
    for (int k = 0; k < 1 + i % 3; ++k) CHECK(*p++ == 100 * i + k);
  OK(MPI_Barrier(node));
  /* A token passed by bare stores: whoever waits spins on MPI_Win_sync. */
  if (n > 1) {
    volatile long* token = (volatile long*)first;
    if (r == 0) *token = 1;
    for (int round = 1; round <= 2 * n; ++round)
      if (round % n == r) {
        while (*token != round) OK(MPI_Win_sync(win));
        *token = round + 1;
        OK(MPI_Win_sync(win));
      }
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
  OK(MPI_Comm_free(&node));
}

static void dynamic(void) {
  MPI_Win win;
  int block[8] = {0}, x = 7 + rank, y = -1;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_attach(win, block, sizeof block));
  CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, block + 1, 4));
  CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, &y));
  /* What is attached is detached, also without bytes: before memory that is attached, within it,
   * beside it, nowhere. */
  OK(MPI_Win_attach(win, &y, 0));
  OK(MPI_Win_attach(win, block, 0));
  OK(MPI_Win_attach(win, block + 3, 0));
  OK(MPI_Win_attach(win, block + 3, 0));
  OK(MPI_Win_attach(win, NULL, 0));
  CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, block + 3, 4));
  OK(MPI_Win_detach(win, block + 3));
  OK(MPI_Win_detach(win, block + 3));
  CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, block + 3));
  OK(MPI_Win_detach(win, &y));
  CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, &y));
  OK(MPI_Win_detach(win, NULL));
  MPI_Aint mine, *all = malloc(sizeof(MPI_Aint) * size);
  OK(MPI_Get_address(block, &mine));
  OK(MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD));
  const int to = (rank + 1) % size;
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win));
  OK(MPI_Put(&x, 1, MPI_INT, to, MPI_Aint_add(all[to], 8), 1, MPI_INT, win));
  OK(MPI_Win_flush(to, win));
  OK(MPI_Get(&y, 1, MPI_INT, to, MPI_Aint_add(all[to], 8), 1, MPI_INT, win));
  OK(MPI_Win_flush(to, win));
  CHECK(y == x);
  int code = MPI_Put(&x, 1, MPI_INT, to, MPI_Aint_add(all[to], 30), 1, MPI_INT, win);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(to, win);
  CLASS(MPI_ERR_RMA_RANGE, code);
  OK(MPI_Win_unlock(to, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(block[2] == 7 + (rank + size - 1) % size && block[7] == 0);
  OK(MPI_Win_detach(win, block));
  OK(MPI_Win_detach(win, block)); /* the one without bytes */
  CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, block));
  OK(MPI_Win_free(&win));
  free(all);
}

/* Others lock, write and read the memory of rank 0 while it computes without MPI. */
static void passive_target(void) {
  MPI_Win win;
  volatile long* memory;
  OK(MPI_Win_allocate(rank == 0 ? 64 : 0, 8, MPI_INFO_NULL, MPI_COMM_WORLD, (void*)&memory, &win));
  MPIX_Stats_values before, after;
  OK(MPIX_Stats(&before));
  /* Ranks of its own process cannot run meanwhile: those of others do it. */
  int here;
  OK(MPIX_Get_collocated_size(&here));
  if (rank == 0 && here < size) {
    while (memory[1] == 0) __asm__ volatile("" ::: "memory");
  } else if (rank >= here) {
    const long one = 1;
    long old;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Get(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    old += 1;
    OK(MPI_Put(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
    if (rank == size - 1) {
      OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
      OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, win));
      OK(MPI_Win_unlock(0, win));
    }
    OK(MPIX_Stats(&after));
    CHECK(after.rma_messages == before.rma_messages);
    CHECK(after.rma_mapped > before.rma_mapped);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) CHECK(memory[0] == size - here);
  OK(MPI_Win_free(&win));
}

static void requests(void) {
  MPI_Win win;
  double* memory;
  OK(MPI_Win_allocate(80, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  for (int i = 0; i < 10; ++i) memory[i] = 1;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int to = (rank + 1) % size;
  double x[4] = {1, 2, 3, 4}, old[4], seen[4];
  MPI_Request request[4];
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Rput_c(x, 4, MPI_DOUBLE, to, 0, 4, MPI_DOUBLE, win, &request[0]));
  OK(MPI_Raccumulate(x, 4, MPI_DOUBLE, to, 4, 4, MPI_DOUBLE, MPI_SUM, win, &request[1]));
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  OK(MPI_Win_flush_all(win));
  OK(MPI_Rget_accumulate(NULL, 0, MPI_DATATYPE_NULL, old, 4, MPI_DOUBLE, to, 4, 4, MPI_DOUBLE,
                         MPI_NO_OP, win, &request[2]));
  OK(MPI_Rget(seen, 4, MPI_DOUBLE, to, 0, 4, MPI_DOUBLE, win, &request[3]));
  OK(MPI_Waitall(2, request + 2, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 4; ++i) CHECK(old[i] == x[i] + 1 && seen[i] == x[i]);
  OK(MPI_Win_flush_local_all(win));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

/* More than a frame, and more than all pieces that are on their way at once. */
static void large(void) {
  const int n = 3 << 20;
  MPI_Win win;
  char* memory = malloc(n);
  char* mine = malloc(n);
  for (int i = 0; i < n; ++i) mine[i] = (char)(i * 31 + rank);
  OK(MPI_Win_create_c(memory, n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put_c(mine, n, MPI_CHAR, to, 0, n, MPI_CHAR, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < n; ++i) CHECK(memory[i] == (char)(i * 31 + from));
  memset(mine, 0, n);
  OK(MPI_Get(mine, n, MPI_CHAR, to, 0, n, MPI_CHAR, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  for (int i = 0; i < n; ++i) CHECK(mine[i] == (char)(i * 31 + rank));
  OK(MPI_Win_free(&win));
  free(memory);
  free(mine);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  can_share = !getenv("FGMPI_TRANSPORT");
  attributes();
  errors();
  if (can_share) shared();
  dynamic();
  if (can_share) passive_target();
  requests();
  large();
  return finish();
}
