/* A communicator that is merged of a job's own ranks and others, spawned as processes or as
 * proclets: messages, collectives, windows and files work on it; groups that the system ranks are
 * refused with a class and words. */
#include <fgmpi.h>
#include <string.h>

#include "spawning.h"

/* Groups that the system ranks are of one job. */
static void what_is_not_there(MPI_Comm merged) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Comm part = MPI_COMM_NULL;
  OK(MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN));
  const int code = MPIX_Comm_split(merged, 0, MPIX_SYSTEM_RANKED, &part);
  CHECK(class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION && part == MPI_COMM_NULL);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, "members of several jobs") && strstr(text, "a group that the system ranks"));
}

enum { kItems = 100000 };

/* Every rank puts to the next one, adds to all and asks rank 0 for its turn. `base`: what the
 * displacement 0 of each rank is; of a dynamic window the address. */
static void use_window(MPI_Win win, int* memory, const MPI_Aint* base, int rank, int size) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size, one = 1;
  int *out = malloc(sizeof(int) * kItems), turn = -1, seen = 0;
  for (int i = 0; i < kItems; ++i) out[i] = rank + i;
  for (int i = 0; i < kItems + 2; ++i) memory[i] = 0;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(out, kItems, MPI_INT, right, base[right], kItems, MPI_INT, win));
  for (int r = 0; r < size; ++r)
    OK(MPI_Accumulate(&rank, 1, MPI_INT, r, base[r] + (MPI_Aint)sizeof(int) * kItems, 1, MPI_INT,
                      MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kItems; ++i) CHECK(memory[i] == left + i);
  CHECK(memory[kItems] == size * (size - 1) / 2);
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  for (int kind = 0; kind < 2; ++kind) {
    OK(MPI_Win_lock(kind ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Fetch_and_op(&one, &turn, MPI_INT, 0, base[0] + (MPI_Aint)sizeof(int) * (kItems + 1),
                        MPI_SUM, win));
    OK(MPI_Win_unlock(0, win));
    CHECK(turn >= 0 && turn < 2 * size);
  }
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Get(&seen, 1, MPI_INT, right, base[right] + (MPI_Aint)sizeof(int) * 7, 1, MPI_INT, win));
  OK(MPI_Win_flush(right, win));
  CHECK(seen == rank + 7);
  OK(MPI_Win_unlock_all(win));
  MPI_Group all, from, to;
  OK(MPI_Win_get_group(win, &all));
  OK(MPI_Group_incl(all, 1, &left, &from));
  OK(MPI_Group_incl(all, 1, &right, &to));
  OK(MPI_Win_post(from, 0, win));
  OK(MPI_Win_start(to, 0, win));
  OK(MPI_Put(&rank, 1, MPI_INT, right, base[right], 1, MPI_INT, win));
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));
  CHECK(memory[0] == left);
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&from));
  OK(MPI_Group_free(&to));
  OK(MPI_Win_fence(0, win));
  if (rank == 0) CHECK(memory[kItems + 1] == 2 * size);
  free(out);
}

static void windows(MPI_Comm merged) {
  const MPI_Aint bytes = sizeof(int) * (kItems + 2);
  MPI_Win win = MPI_WIN_NULL;
  int rank, size, near, *memory, *own = malloc((size_t)bytes);
  OK(MPI_Comm_rank(merged, &rank));
  OK(MPI_Comm_size(merged, &size));
  MPI_Aint *zeros = calloc((size_t)size, sizeof *zeros),
           *bases = malloc(sizeof *bases * (size_t)size), mine;
  OK(MPI_Win_create(own, bytes, 1, MPI_INFO_NULL, merged, &win));
  use_window(win, own, zeros, rank, size);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, merged, &memory, &win));
  use_window(win, memory, zeros, rank, size);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, merged, &win));
  OK(MPI_Win_attach(win, own, bytes));
  OK(MPI_Get_address(own, &mine));
  OK(MPI_Allgather(&mine, 1, MPI_AINT, bases, 1, MPI_AINT, merged));
  use_window(win, own, bases, rank, size);
  OK(MPI_Win_detach(win, own));
  OK(MPI_Win_free(&win));
  /* Memory that all load from and store into is that of the ranks that share it. */
  MPI_Comm part;
  OK(MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
  OK(MPI_Comm_rank(part, &rank));
  OK(MPI_Comm_size(part, &near));
  OK(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, part, &memory, &win));
  memset(zeros, 0, sizeof *zeros * (size_t)size);
  use_window(win, memory, zeros, rank, near);
  OK(MPI_Win_free(&win));
  OK(MPI_Comm_free(&part));
  free(zeros);
  free(bases);
  free(own);
}

/* Interleaved blocks by a collective write, a shared pointer, and what the last rank finds. */
static void files(MPI_Comm merged) {
  char name[] = "/tmp/fgmpi-test-merged-XXXXXX";
  const int amode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  int rank, size, lines[64], back[64], first;
  MPI_File file;
  MPI_Datatype stripes;
  MPI_Offset bytes;
  OK(MPI_Comm_rank(merged, &rank));
  OK(MPI_Comm_size(merged, &size));
  if (rank == 0) CHECK(close(mkstemp(name)) == 0);
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, merged));
  OK(MPI_File_open(merged, name, amode, MPI_INFO_NULL, &file));
  OK(MPI_Type_vector(8, 8, 8 * size, MPI_INT, &stripes));
  OK(MPI_Type_commit(&stripes));
  OK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * 8 * rank, MPI_INT, stripes, "native",
                       MPI_INFO_NULL));
  for (int i = 0; i < 64; ++i) lines[i] = 1000 * rank + i;
  OK(MPI_File_write_all(file, lines, 64, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
  OK(MPI_File_read_all(file, back, 64, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(memcmp(lines, back, sizeof lines) == 0);
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_get_size(file, &bytes));
  CHECK(bytes == (MPI_Offset)sizeof lines * size);
  OK(MPI_File_read_at(file, 8 * ((rank + 1) % size), &first, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(first == 1000 * ((rank + 1) % size));
  OK(MPI_File_seek_shared(file, 64 * size, MPI_SEEK_SET));
  OK(MPI_File_write_shared(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(file, 65 * size + rank, &first, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(first == rank);
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&stripes));
}

/* Ranks of merged in order are 0, 1, ... of both sides. */
static void what_is_there(MPI_Comm merged) {
  int rank, size, left, right, got = -1, dims[1] = {0}, periods[1] = {1}, sum, one = 1;
  MPI_Comm part, ring;
  MPI_Request request;
  OK(MPI_Comm_rank(merged, &rank));
  OK(MPI_Comm_size(merged, &size));
  OK(MPI_Dims_create(size, 1, dims));
  OK(MPI_Cart_create(merged, 1, dims, periods, 0, &ring));
  OK(MPI_Cart_shift(ring, 0, 1, &left, &right));
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, ring, MPI_STATUS_IGNORE));
  CHECK(got == (rank + size - 1) % size);
  int* all = malloc(sizeof(int) * (size_t)size);
  OK(MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, ring, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < size; ++i) CHECK(all[i] == i);
  free(all);
  OK(MPI_Comm_free(&ring));
  OK(MPI_Comm_split(merged, rank % 2, -rank, &part));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part));
  CHECK(sum == (rank % 2 ? size / 2 : (size + 1) / 2));
  OK(MPI_Comm_free(&part));
}

/* A part of one job's own processes has a window of its own. */
static void what_a_part_has(MPI_Comm merged, int child) {
  MPI_Comm part;
  MPI_Win win;
  int rank, size, *base, got = -1;
  OK(MPI_Comm_split(merged, child, 0, &part));
  if (!child) {
    OK(MPI_Comm_rank(part, &rank));
    OK(MPI_Comm_size(part, &size));
    OK(MPI_Win_allocate(sizeof(int), 4, MPI_INFO_NULL, part, &base, &win));
    *base = rank;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(got == (rank + 1) % size);
    OK(MPI_Win_free(&win));
  }
  OK(MPI_Comm_free(&part));
}

static void use(MPI_Comm inter, int child) {
  MPI_Comm merged;
  OK(MPI_Intercomm_merge(inter, child, &merged));
  what_is_there(merged);
  windows(merged);
  files(merged);
  what_is_not_there(merged);
  what_a_part_has(merged, child);
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_disconnect(&inter));
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    int *universe, flag, own, parents;
    OK(MPI_Comm_size(MPI_COMM_WORLD, &own));
    OK(MPI_Comm_remote_size(parent, &parents));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag));
    CHECK(flag && *universe >= own + parents);
    use(parent, 1);
    return MPI_Finalize();
  }
  const char* places[] = {"processes", "here"};
  for (int k = 0; k < 2; ++k) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "fgmpi_where", places[k]));
    OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 3, info, 0, MPI_COMM_WORLD, &children,
                      MPI_ERRCODES_IGNORE));
    OK(MPI_Info_free(&info));
    use(children, 0);
  }
  return finish();
}
