/* Every class of error of windows, and its message: call, argument, value, what is allowed. No byte
 * of a window changes. */
#include <mpi.h>
#include <string.h>

#include "mpitest.h"

static int rank, size, to;

/* The call fails with this class, and its message contains all of the texts, which are separated by
 * '|'. */
static void expect(int line, int code, int expected, const char* words) {
  char text[MPI_MAX_ERROR_STRING], wanted[256];
  int length, class;
  OK(MPI_Error_class(code, &class));
  OK(MPI_Error_string(code, text, &length));
  int good = class == expected;
  snprintf(wanted, sizeof wanted, "%s", words);
  for (char* word = strtok(wanted, "|"); word && good; word = strtok(NULL, "|"))
    good = strstr(text, word) != NULL;
  if (good) return;
  fprintf(stderr, "errors.c:%d: rank %d: class %d, \"%s\"; expected class %d, words %s\n", line,
          rank, class, text, expected, words);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define FAILS(class, words, call) expect(__LINE__, call, class, words)

static void outside_of_memory(MPI_Win win, const char* bytes) {
  int x[4] = {1, 1, 1, 1}, y[4];
  char range[64], window[64];
  snprintf(window, sizeof window, "window of %s bytes", bytes);
  MPI_Datatype apart;
  OK(MPI_Type_vector(2, 1, 9, MPI_INT, &apart)); /* ints 0 and 9 */
  OK(MPI_Type_commit(&apart));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
  snprintf(range, sizeof range, "|target_rank %d", to);
#define RANGE(call, words)               \
  FAILS(MPI_ERR_RMA_RANGE, words, call); \
  FAILS(MPI_ERR_RMA_RANGE, range, call); \
  FAILS(MPI_ERR_RMA_RANGE, window, call)
  RANGE(MPI_Put(x, 1, MPI_INT, to, 10, 1, MPI_INT, win),
        "MPI_Put|target_disp is 10|unit 4|for 4 bytes|bytes 40 to 43");
  RANGE(MPI_Get(y, 2, MPI_INT, to, 9, 2, MPI_INT, win), "MPI_Get|is 9|for 8 bytes|bytes 36 to 43");
  RANGE(MPI_Put(x, 2, MPI_INT, to, 1, 1, apart, win), "for 40 bytes|bytes 4 to 43");
  RANGE(MPI_Accumulate(x, 2, MPI_INT, to, 9, 2, MPI_INT, MPI_SUM, win), "MPI_Accumulate|is 9");
  RANGE(MPI_Get_accumulate(x, 2, MPI_INT, y, 2, MPI_INT, to, 9, 2, MPI_INT, MPI_SUM, win),
        "MPI_Get_accumulate|is 9");
  RANGE(MPI_Fetch_and_op(x, y, MPI_INT, to, 1000, MPI_SUM, win), "MPI_Fetch_and_op|is 1000");
  RANGE(MPI_Compare_and_swap(x, x + 1, y, MPI_INT, to, 10, win), "MPI_Compare_and_swap|is 10");
  RANGE(MPI_Put(x, 1, MPI_INT, to, (MPI_Aint)1 << 62, 1, MPI_INT, win),
        "MPI_Put|target_disp is 4611");
  MPI_Request request;
  RANGE(MPI_Rput(x, 1, MPI_INT, to, 10, 1, MPI_INT, win, &request), "MPI_Rput|is 10");
  RANGE(MPI_Rget(y, 1, MPI_INT, to, 10, 1, MPI_INT, win, &request), "MPI_Rget|is 10");
  RANGE(MPI_Raccumulate(x, 1, MPI_INT, to, 10, 1, MPI_INT, MPI_SUM, win, &request),
        "MPI_Raccumulate");
  FAILS(MPI_ERR_DISP, "MPI_Put|target_disp is -1|for 4 bytes",
        MPI_Put(x, 1, MPI_INT, to, -1, 1, MPI_INT, win));
  FAILS(MPI_ERR_DISP, window, MPI_Fetch_and_op(x, y, MPI_INT, to, -3, MPI_SUM, win));
  FAILS(MPI_ERR_TYPE, "MPI_Put|4 bytes|8", MPI_Put(x, 1, MPI_INT, to, 0, 2, MPI_INT, win));
  FAILS(MPI_ERR_BUFFER, "origin_addr", MPI_Put(NULL, 1, MPI_INT, to, 0, 1, MPI_INT, win));
  OK(MPI_Win_unlock(to, win));
  OK(MPI_Type_free(&apart));
}

static void wrong_epochs(MPI_Win win) {
  int x = 1, y, flag;
  MPI_Group all;
  OK(MPI_Win_get_group(win, &all));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Put|no access epoch",
        MPI_Put(&x, 1, MPI_INT, to, 0, 1, MPI_INT, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_unlock|not locked", MPI_Win_unlock(to, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all", MPI_Win_unlock_all(win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_flush|no access epoch", MPI_Win_flush(to, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_flush_local", MPI_Win_flush_local(to, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_flush_all", MPI_Win_flush_all(win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_flush_local_all", MPI_Win_flush_local_all(win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_complete|MPI_Win_start", MPI_Win_complete(win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_wait|MPI_Win_post", MPI_Win_wait(win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_test|MPI_Win_post", MPI_Win_test(win, &flag));
  OK(MPI_Win_lock_all(0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_lock|MPI_Win_lock_all",
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all", MPI_Win_lock_all(0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_fence|MPI_Win_lock_all", MPI_Win_fence(0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_start|MPI_Win_lock_all", MPI_Win_start(all, 0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_unlock|not locked", MPI_Win_unlock(to, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_free|access epoch", MPI_Win_free(&win));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_lock|locked rank", MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all|MPI_Win_lock", MPI_Win_unlock_all(win));
  if (size > 1) {
    const int other = (to + 1) % size;
    FAILS(MPI_ERR_RMA_SYNC, "MPI_Get|not locked",
          MPI_Get(&y, 1, MPI_INT, other, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_flush|not locked", MPI_Win_flush(other, win));
  }
  OK(MPI_Win_unlock(to, win));
  OK(MPI_Win_post(all, 0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_post|exposure epoch", MPI_Win_post(all, 0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_fence|exposure epoch", MPI_Win_fence(0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_free|exposure epoch", MPI_Win_free(&win));
  MPI_Group one;
  OK(MPI_Group_incl(all, 1, &to, &one));
  OK(MPI_Win_start(one, 0, win));
  if (size > 1) {
    char words[64];
    const int other = (to + 1) % size;
    snprintf(words, sizeof words, "MPI_Put|target_rank is %d|MPI_Win_start", other);
    FAILS(MPI_ERR_RMA_SYNC, words, MPI_Put(&x, 0, MPI_INT, other, 0, 0, MPI_INT, win));
  }
  OK(MPI_Win_complete(win));
  /* Its exposure epoch names all: they complete at it too. */
  for (int i = 0; i < size; ++i) {
    if (i == to) continue;
    MPI_Group group;
    OK(MPI_Group_incl(all, 1, &i, &group));
    OK(MPI_Win_start(group, 0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Group_free(&group));
  }
  OK(MPI_Win_wait(win));
  OK(MPI_Win_fence(0, win));
  MPI_Request request;
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Rput|not locked",
        MPI_Rput(&x, 1, MPI_INT, to, 0, 1, MPI_INT, win, &request));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Rget_accumulate",
        MPI_Rget_accumulate(&x, 1, MPI_INT, &y, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win,
                            &request));
  OK(MPI_Get(&y, 1, MPI_INT, to, 0, 1, MPI_INT, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all|MPI_Win_fence", MPI_Win_lock_all(0, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Win_post|MPI_Win_fence", MPI_Win_post(all, 0, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  FAILS(MPI_ERR_RMA_SYNC, "MPI_Put|no access epoch",
        MPI_Put(&x, 1, MPI_INT, to, 0, 1, MPI_INT, win));
  OK(MPI_Group_free(&one));
  OK(MPI_Group_free(&all));
}

static void wrong_arguments(MPI_Win win) {
  MPI_Group all;
  OK(MPI_Win_get_group(win, &all));
  FAILS(MPI_ERR_LOCKTYPE, "MPI_Win_lock|lock_type is 99|MPI_LOCK_SHARED",
        MPI_Win_lock(99, to, 0, win));
  FAILS(MPI_ERR_ASSERT, "MPI_Win_lock|20537|MPI_MODE_NOCHECK",
        MPI_Win_lock(MPI_LOCK_SHARED, to, 20537, win));
  FAILS(MPI_ERR_ASSERT, "MPI_Win_lock_all|assert is", MPI_Win_lock_all(MPI_MODE_NOPUT, win));
  FAILS(MPI_ERR_ASSERT, "MPI_Win_fence|1048576|MPI_MODE_NOSTORE", MPI_Win_fence(1 << 20, win));
  FAILS(MPI_ERR_ASSERT, "MPI_Win_post|assert", MPI_Win_post(all, MPI_MODE_NOSUCCEED, win));
  FAILS(MPI_ERR_ASSERT, "MPI_Win_start|assert", MPI_Win_start(all, MPI_MODE_NOPUT, win));
  FAILS(MPI_ERR_RANK, "MPI_Win_lock|rank", MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win));
  OK(MPI_Group_free(&all));
}

static void wrong_creation(void) {
  MPI_Win win;
  char* memory;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_SIZE, "MPI_Win_allocate|size is -1",
        MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  FAILS(MPI_ERR_SIZE, "MPI_Win_create|size is -8",
        MPI_Win_create(&win, -8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  FAILS(MPI_ERR_DISP, "MPI_Win_allocate|disp_unit is 0",
        MPI_Win_allocate(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  FAILS(MPI_ERR_BASE, "MPI_Win_create|base is a null pointer|size 8",
        MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  FAILS(MPI_ERR_WIN, "MPI_Win_fence|MPI_WIN_NULL", MPI_Win_fence(0, MPI_WIN_NULL));
  FAILS(MPI_ERR_WIN, "MPI_Put|MPI_WIN_NULL",
        MPI_Put(&win, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL));
  FAILS(MPI_ERR_WIN, "MPI_Win_sync|not a window", MPI_Win_sync((MPI_Win)0xa3ffffff));
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "same_size", "true"));
  OK(MPI_Info_set(info, "same_disp_unit", "true"));
  if (size > 1) {
    FAILS(MPI_ERR_SIZE, "MPI_Win_allocate|size is|same_size",
          MPI_Win_allocate(8 + rank, 1, info, MPI_COMM_WORLD, &memory, &win));
    FAILS(MPI_ERR_DISP, "MPI_Win_allocate|disp_unit is|same_disp_unit",
          MPI_Win_allocate(8, 1 + rank, info, MPI_COMM_WORLD, &memory, &win));
  }
  OK(MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Win_free(&win));
  OK(MPI_Info_free(&info));
  if (size > 1 && getenv("FGMPI_HOST_ID")) /* by hosts.sh: not the same at all ranks */
    FAILS(MPI_ERR_RMA_SHARED, "MPI_Win_allocate_shared|on different hosts",
          MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void dynamic_memory(void) {
  MPI_Win win;
  int block[8] = {0}, x = 1;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_SIZE, "MPI_Win_attach|size is -1", MPI_Win_attach(win, block, -1));
  FAILS(MPI_ERR_BASE, "MPI_Win_attach|null pointer", MPI_Win_attach(win, NULL, 8));
  OK(MPI_Win_attach(win, block + 2, 16));
  FAILS(MPI_ERR_RMA_ATTACH, "MPI_Win_attach|overlap", MPI_Win_attach(win, block, 12));
  FAILS(MPI_ERR_RMA_ATTACH, "MPI_Win_attach|overlap", MPI_Win_attach(win, block + 5, 12));
  FAILS(MPI_ERR_RMA_ATTACH, "MPI_Win_attach|overlap", MPI_Win_attach(win, block, sizeof block));
  FAILS(MPI_ERR_RMA_ATTACH, "MPI_Win_detach|attached", MPI_Win_detach(win, block));
  FAILS(MPI_ERR_RMA_FLAVOR, "MPI_Win_shared_query|MPI_Win_create_dynamic",
        MPI_Win_shared_query(win, 0, (MPI_Aint[1]){0}, (int[1]){0}, (void* [1]){0}));
  MPI_Aint mine, *all = malloc(sizeof(MPI_Aint) * size);
  OK(MPI_Get_address(block, &mine));
  OK(MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD));
  char words[64];
  snprintf(words, sizeof words, "MPI_Put|target_rank %d|4 bytes|attached", to);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
  /* Where the target's process must be asked, the call that completes the operation fails. */
  int code = MPI_Put(&x, 1, MPI_INT, to, all[to], 1, MPI_INT, win);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(to, win);
  FAILS(MPI_ERR_RMA_RANGE, words, code);
  OK(MPI_Win_unlock(to, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 8; ++i) CHECK(block[i] == 0);
  OK(MPI_Win_detach(win, block + 2));
  OK(MPI_Win_free(&win));
  free(all);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  to = (rank + 1) % size;
  for (int user = 0; user < 2; ++user) {
    MPI_Win win;
    int *memory, own[10];
    if (user)
      OK(MPI_Win_create(memory = own, 40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
      OK(MPI_Win_allocate(40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memset(memory, 0, 40);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    outside_of_memory(win, "40");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    wrong_epochs(win);
    wrong_arguments(win);
    FAILS(MPI_ERR_RMA_FLAVOR, "MPI_Win_attach|MPI_Win_create_dynamic", MPI_Win_attach(win, own, 4));
    FAILS(MPI_ERR_RMA_FLAVOR, "MPI_Win_detach|MPI_Win_create_dynamic", MPI_Win_detach(win, own));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 10; ++i) CHECK(memory[i] == 0);
    OK(MPI_Win_free(&win));
  }
  wrong_creation();
  dynamic_memory();
  return finish();
}
