/* Windows go on as they were: memory, epochs, locks, names, attributes, error handlers, operations
 * under way. */
#include "checkpoint.h"

static int left, right;

static int copied, deleted_from;
static int copy(MPI_Win win, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)win, (void)keyval, (void)extra;
  ++copied;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete (MPI_Win win, int keyval, void* value, void* extra) {
  (void)keyval, (void)value, (void)extra;
  deleted_from = win;
  return MPI_SUCCESS;
}
static int handled;
static MPI_Win handled_win;
static void handle(MPI_Win* win, int* code, ...) {
  (void)code;
  handled_win = *win;
  ++handled;
}

static void check_attributes(MPI_Win win, void* base, MPI_Aint bytes, int unit, int flavor) {
  void* value;
  int flag;
  MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag);
  CHECK(flag && value == base);
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag);
  CHECK(flag && *(MPI_Aint*)value == bytes);
  MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag);
  CHECK(flag && *(int*)value == unit);
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
  CHECK(flag && *(int*)value == flavor);
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag);
  CHECK(flag && *(int*)value == MPI_WIN_UNIFIED);
}

int main(int argc, char** argv) {
  int *fenced, *locked, *alone, attached[2] = {0}, keyval, length, flag, put = 0, old = -1;
  int *flavor, ranks[2];
  void* value;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Aint at, theirs;
  MPI_Comm odd, self;
  MPI_Win fence_win, lock_win, dynamic_win, alone_win, all_win;
  MPI_Errhandler handler, found;
  MPI_Group group;
  MPI_Info info;
  MPI_Request request;
  start(&argc, &argv);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;

  /* Between two fences, with a put that is under way. */
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &odd); /* `left` is on the other side */
  MPI_Comm_rank(odd, &ranks[0]);
  ranks[1] = (ranks[0] + 1) % size;
  MPI_Info_create(&info);
  MPI_Info_set(info, "same_disp_unit", "true");
  MPI_Alloc_mem(4 * sizeof(int), MPI_INFO_NULL, &fenced);
  memset(fenced, 0, 4 * sizeof(int));
  MPI_Win_create(fenced, 4 * sizeof(int), sizeof(int), info, odd, &fence_win);
  MPI_Info_free(&info);
  MPI_Comm_free(&odd);
  MPI_Win_set_name(fence_win, "fence");
  MPI_Win_create_keyval(copy, delete, &keyval, NULL);
  MPI_Win_set_attr(fence_win, keyval, &put);
  MPI_Win_create_errhandler(handle, &handler);
  MPI_Win_set_errhandler(fence_win, handler);
  MPI_Errhandler_free(&handler);
  MPI_Win_fence(0, fence_win);
  put = 70 + rank;
  MPI_Put(&put, 1, MPI_INT, ranks[1], 1, 1, MPI_INT, fence_win);

  /* Memory that MPI allocates, and locks that ranks hold. */
  MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &locked, &lock_win);
  memset(locked, 0, 4 * sizeof(int));
  MPI_Win_get_attr(lock_win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, lock_win);
  MPI_Accumulate(&put, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, lock_win);
  MPI_Rput(&put, 1, MPI_INT, right, 3, 1, MPI_INT, lock_win, &request);
  MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &value, &all_win);
  *(int*)value = 5;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, all_win);
  const int one = 1;
  MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, all_win);

  /* Attached memory, and shared memory of a single rank. */
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic_win);
  MPI_Win_attach(dynamic_win, attached, sizeof attached);
  MPI_Get_address(attached, &at);
  MPI_Sendrecv(&at, 1, MPI_AINT, left, 0, &theirs, 1, MPI_AINT, right, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, self, &alone, &alone_win);
  MPI_Comm_free(&self);
  alone[1] = 3 * rank;

  checkpoint();

  CHECK(copied == 0 && deleted_from == 0);
  CHECK(*flavor == MPI_WIN_FLAVOR_ALLOCATE);
  check_attributes(fence_win, fenced, 4 * sizeof(int), sizeof(int), MPI_WIN_FLAVOR_CREATE);
  check_attributes(lock_win, locked, 4 * sizeof(int), sizeof(int), MPI_WIN_FLAVOR_ALLOCATE);
  check_attributes(alone_win, alone, 2 * sizeof(int), sizeof(int), MPI_WIN_FLAVOR_SHARED);
  MPI_Win_get_attr(fence_win, keyval, &value, &flag);
  CHECK(flag && value == &put);
  MPI_Win_get_name(fence_win, name, &length);
  CHECK(strcmp(name, "fence") == 0);
  MPI_Win_get_group(fence_win, &group);
  MPI_Group_rank(group, &length);
  CHECK(length == ranks[0]);
  MPI_Group_free(&group);
  MPI_Win_get_info(fence_win, &info);
  MPI_Info_get(info, "same_disp_unit", MPI_MAX_OBJECT_NAME - 1, name, &flag);
  CHECK(flag && strcmp(name, "true") == 0);
  MPI_Info_free(&info);
  MPI_Win_get_errhandler(fence_win, &found);
  CHECK(found != MPI_ERRHANDLER_NULL);
  MPI_Errhandler_free(&found);
  CHECK(MPI_Put(&put, 1, MPI_INT, size, 0, 1, MPI_INT, fence_win) != MPI_SUCCESS && handled == 1 &&
        handled_win == fence_win);

  const int later = 90 + rank;
  MPI_Put(&later, 1, MPI_INT, ranks[1], 2, 1, MPI_INT, fence_win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, fence_win);
  CHECK(fenced[1] == 70 + right && fenced[2] == 90 + right); /* ranks are reversed there */

  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Fetch_and_op(&one, &old, MPI_INT, right, 2, MPI_SUM, lock_win);
  MPI_Win_unlock(right, lock_win);
  CHECK(old == 70 + rank);
  MPI_Accumulate(&one, 1, MPI_INT, left, 0, 1, MPI_INT, MPI_SUM, all_win);
  MPI_Win_unlock_all(all_win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(locked[2] == 71 + left && locked[3] == 70 + left);
  MPI_Win_get_attr(all_win, MPI_WIN_BASE, &value, &flag);
  CHECK(flag && *(int*)value == 7);

  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, dynamic_win);
  MPI_Put(&rank, 1, MPI_INT, right, theirs + (MPI_Aint)sizeof(int), 1, MPI_INT, dynamic_win);
  MPI_Win_unlock(right, dynamic_win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(attached[1] == left);
  MPI_Win_detach(dynamic_win, attached);
  CHECK(alone[1] == 3 * rank);
  int unit;
  MPI_Win_shared_query(alone_win, 0, &at, &unit, &value);
  CHECK(at == 2 * sizeof(int) && unit == sizeof(int) && value == alone);

  const MPI_Win last = fence_win;
  MPI_Win_free(&fence_win);
  CHECK(fence_win == MPI_WIN_NULL && deleted_from == last);
  MPI_Free_mem(fenced);
  MPI_Win_free(&all_win);
  MPI_Win_free(&lock_win);
  MPI_Win_free(&dynamic_win);
  MPI_Win_free(&alone_win);
  MPI_Win_free_keyval(&keyval);
  return finish();
}
