/* Blocking collectives at some ranks before, at others after nonblocking and persistent ones of the same communicator:
 * the two kinds never match each other, so each is in an order of its own. Also calls that make communicators, windows
 * and files, on an intercommunicator, and on a file. */
#include <unistd.h>

#include "mpitest.h"

enum { kLong = 3000, kMostRanks = 512, kRounds = 12, kMost = 8 };

static int rank, size, trips;
static MPI_Comm comm; /* what all this is on */

static unsigned draw(unsigned* state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

/* ---- What is called -----------------------------------------------------------------------------------------------*/

/* Buffers of one collective, and what it is to give: `n` numbers of each rank, plus the trip. */
struct data {
  int n, trip;
  int *in, *out;
  MPI_Request request;
};

static int brought(int trip, int by, int i) { return trip * 1000 + by * 10 + i % 7; }

static void prepare(struct data* d, int n) {
  d->n = n;
  d->trip = ++trips;
  d->request = MPI_REQUEST_NULL;
  d->in = malloc(sizeof(int) * (size_t)n * (size_t)size);
  d->out = malloc(sizeof(int) * (size_t)n * (size_t)size);
  CHECK(d->in && d->out);
  for (int i = 0; i < n * size; i++) {
    d->in[i] = brought(d->trip, rank, i);
    d->out[i] = -1;
  }
}

static void release(struct data* d) {
  free(d->in);
  free(d->out);
}

static void check_sum(const struct data* d) {
  for (int i = 0; i < d->n; i++) {
    int sum = 0;
    for (int r = 0; r < size; r++) sum += brought(d->trip, r, i);
    CHECK(d->out[i] == sum);
  }
}
static void check_all(const struct data* d) {
  for (int r = 0; r < size; r++)
    for (int i = 0; i < d->n; i++) CHECK(d->out[r * d->n + i] == brought(d->trip, r, i));
}
static void check_swapped(const struct data* d) {
  for (int r = 0; r < size; r++)
    for (int i = 0; i < d->n; i++)
      CHECK(d->out[r * d->n + i] == brought(d->trip, r, rank * d->n + i));
}
static void check_root(const struct data* d) {
  if (rank == d->trip % size) check_all(d);
}
static void check_share(const struct data* d) {
  for (int i = 0; i < d->n; i++)
    CHECK(d->out[i] == brought(d->trip, d->trip % size, rank * d->n + i));
}
static void check_bcast(const struct data* d) {
  for (int i = 0; i < d->n; i++) CHECK(d->in[i] == brought(d->trip, d->trip % size, i));
}
static void check_nothing(const struct data* d) { (void)d; }

/* Each collective in its three forms. */
#define FORMS(name, ...)                                                                          \
  static void blocking_##name(struct data* d) { OK(MPI_##name(__VA_ARGS__ comm)); }               \
  static void begin_##name(struct data* d) { OK(MPI_I##name##_(__VA_ARGS__ comm, &d->request)); } \
  static void init_##name(struct data* d) {                                                       \
    OK(MPI_##name##_init(__VA_ARGS__ comm, MPI_INFO_NULL, &d->request));                          \
  }
#define MPI_IBarrier_ MPI_Ibarrier
#define MPI_IBcast_ MPI_Ibcast
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IAllgather_ MPI_Iallgather
#define MPI_IAlltoall_ MPI_Ialltoall
#define MPI_IGather_ MPI_Igather
#define MPI_IScatter_ MPI_Iscatter
FORMS(Barrier, )
FORMS(Bcast, d->in, d->n, MPI_INT, d->trip % size, )
FORMS(Allreduce, d->in, d->out, d->n, MPI_INT, MPI_SUM, )
FORMS(Allgather, d->in, d->n, MPI_INT, d->out, d->n, MPI_INT, )
FORMS(Alltoall, d->in, d->n, MPI_INT, d->out, d->n, MPI_INT, )
FORMS(Gather, d->in, d->n, MPI_INT, d->out, d->n, MPI_INT, d->trip % size, )
FORMS(Scatter, d->in, d->n, MPI_INT, d->out, d->n, MPI_INT, d->trip % size, )

static const struct kind {
  void (*blocking)(struct data*);
  void (*begin)(struct data*);
  void (*init)(struct data*);
  void (*check)(const struct data*);
} kinds[] = {
    {blocking_Barrier, begin_Barrier, init_Barrier, check_nothing},
    {blocking_Bcast, begin_Bcast, init_Bcast, check_bcast},
    {blocking_Allreduce, begin_Allreduce, init_Allreduce, check_sum},
    {blocking_Allgather, begin_Allgather, init_Allgather, check_all},
    {blocking_Alltoall, begin_Alltoall, init_Alltoall, check_swapped},
    {blocking_Gather, begin_Gather, init_Gather, check_root},
    {blocking_Scatter, begin_Scatter, init_Scatter, check_share},
};
enum { kKinds = sizeof kinds / sizeof *kinds };

/* ---- Random lists of both kinds, mixed by each rank in its own way ------------------------------------------------*/

static void mixed(unsigned* same, unsigned* own) {
  const struct kind *blocking[kMost], *others[kMost];
  struct data of_blocking[kMost], of_others[kMost];
  int persistent[kMost], started[kMost] = {0}, next_blocking = 0, next_other = 0;
  const int n_blocking = 1 + (int)draw(same, kMost), n_others = 1 + (int)draw(same, kMost);
  for (int i = 0; i < n_blocking; i++) {
    blocking[i] = &kinds[draw(same, kKinds)];
    prepare(&of_blocking[i], draw(same, 4) || size > 16 ? 1 + (int)draw(same, 9) : kLong);
  }
  for (int i = 0; i < n_others; i++) {
    others[i] = &kinds[draw(same, kKinds)];
    persistent[i] = draw(same, 3) == 0;
    prepare(&of_others[i], draw(same, 4) || size > 16 ? 1 + (int)draw(same, 9) : kLong);
  }
  while (next_blocking < n_blocking || next_other < n_others) {
    if (next_other == n_others || (next_blocking < n_blocking && draw(own, 2))) {
      blocking[next_blocking]->blocking(&of_blocking[next_blocking]);
      next_blocking++;
    } else {
      const int i = next_other++;
      persistent[i] ? others[i]->init(&of_others[i]) : others[i]->begin(&of_others[i]);
    }
    /* A persistent one may be started at any time after its init. */
    for (int i = 0; i < next_other; i++)
      if (persistent[i] && !started[i] && draw(own, 2)) {
        OK(MPI_Start(&of_others[i].request));
        started[i] = 1;
      }
  }
  for (int i = 0; i < n_others; i++)
    if (persistent[i] && !started[i]) OK(MPI_Start(&of_others[i].request));
  for (int i = 0; i < n_others; i++) {
    OK(MPI_Wait(&of_others[i].request, MPI_STATUS_IGNORE));
    others[i]->check(&of_others[i]);
    if (persistent[i]) OK(MPI_Request_free(&of_others[i].request));
    release(&of_others[i]);
  }
  for (int i = 0; i < n_blocking; i++) {
    blocking[i]->check(&of_blocking[i]);
    release(&of_blocking[i]);
  }
}

/* ---- Calls that make something ------------------------------------------------------------------------------------*/

static void check_comm(MPI_Comm made, int of) {
  int sum = 0, one = 1;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made));
  CHECK(sum == of);
  OK(MPI_Comm_free(&made));
}

static void make_dup(void) {
  MPI_Comm made;
  OK(MPI_Comm_dup(comm, &made));
  check_comm(made, size);
}
static void make_split(void) {
  MPI_Comm made;
  OK(MPI_Comm_split(comm, rank % 2, -rank, &made));
  check_comm(made, (size + 1 - rank % 2) / 2);
}
static void make_create(void) {
  MPI_Comm made;
  MPI_Group all, some;
  int first = 0;
  OK(MPI_Comm_group(comm, &all));
  OK(MPI_Group_excl(all, size > 1, &first, &some));
  OK(MPI_Comm_create(comm, some, &made));
  CHECK((made == MPI_COMM_NULL) == (rank == 0 && size > 1));
  if (made != MPI_COMM_NULL) check_comm(made, size > 1 ? size - 1 : 1);
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&some));
}
static void make_cart(void) {
  MPI_Comm made;
  int periodic = 1;
  OK(MPI_Cart_create(comm, 1, &size, &periodic, 0, &made));
  check_comm(made, size);
}
static void make_window(void) {
  MPI_Win win;
  int* memory;
  OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  CHECK(*memory == (rank + size - 1) % size);
  OK(MPI_Win_free(&win));
}
static void make_barrier(void) { OK(MPI_Barrier(comm)); }

static void (*const makers[])(void) = {make_dup,  make_split,  make_create,
                                       make_cart, make_window, make_barrier};

/* Duplicates made without waiting, among calls that make other things. */
static void constructors(unsigned* same, unsigned* own) {
  enum { kDups = 3, kMakers = 4 };
  MPI_Comm made[kDups];
  MPI_Request requests[kDups];
  void (*list[kMakers])(void);
  int next = 0, begun = 0;
  for (int i = 0; i < kMakers; i++) list[i] = makers[draw(same, sizeof makers / sizeof *makers)];
  while (next < kMakers || begun < kDups) {
    if (begun == kDups || (next < kMakers && draw(own, 2))) {
      list[next++]();
    } else {
      OK(MPI_Comm_idup(comm, &made[begun], &requests[begun]));
      begun++;
    }
  }
  OK(MPI_Waitall(kDups, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kDups; i++) check_comm(made[i], size);
}

/* ---- Two groups, and a file ---------------------------------------------------------------------------------------*/

static void between_groups(unsigned* own) {
  MPI_Comm half, inter, merged;
  MPI_Request request;
  const int second = rank >= size / 2, others = second ? size / 2 : size - size / 2;
  int mine = rank, sum = 0, blocking_sum = 0, expected = 0, before = (int)draw(own, 2);
  if (size < 2) return;
  OK(MPI_Comm_split(MPI_COMM_WORLD, second, rank, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, second ? 0 : size / 2, 3, &inter));
  for (int i = 0; i < others; i++) expected += second ? i : size / 2 + i;
  if (before) OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter, &request));
  OK(MPI_Allreduce(&mine, &blocking_sum, 1, MPI_INT, MPI_SUM, inter));
  OK(MPI_Intercomm_merge(inter, second, &merged));
  if (!before) OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(sum == expected && blocking_sum == expected);
  check_comm(merged, size);
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&half));
}

static void on_file(unsigned* own) {
  char name[] = "/tmp/mixed_orders.XXXXXX";
  MPI_File file;
  MPI_Request request;
  int first = rank + 100, second = rank + 200, back[2];
  const int before = (int)draw(own, 2);
  if (rank == 0) {
    const int descriptor = mkstemp(name);
    CHECK(descriptor >= 0 && close(descriptor) == 0);
  }
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &file));
  const MPI_Offset at = (MPI_Offset)rank * 2 * (MPI_Offset)sizeof(int);
  if (before) OK(MPI_File_iwrite_at_all(file, at, &first, 1, MPI_INT, &request));
  OK(MPI_File_write_at_all(file, at + (MPI_Offset)sizeof(int), &second, 1, MPI_INT,
                           MPI_STATUS_IGNORE));
  if (!before) OK(MPI_File_iwrite_at_all(file, at, &first, 1, MPI_INT, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(file, at, back, 2, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(back[0] == first && back[1] == second);
  OK(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(size <= kMostRanks);
  unsigned same = 17, own = 1000u + 77u * (unsigned)rank;
  for (int on_self = 0; on_self < 2; on_self++) {
    OK(MPI_Comm_dup(on_self ? MPI_COMM_SELF : MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    for (int round = 0; round < kRounds; round++) mixed(&same, &own);
    for (int round = 0; round < kRounds / 2; round++) constructors(&same, &own);
    OK(MPI_Comm_free(&comm));
  }
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int round = 0; round < 3; round++) {
    between_groups(&own);
    on_file(&own);
  }
  return finish();
}
