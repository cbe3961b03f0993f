/* Partitioned sends and receives whose inits, starts, frees and cancels come in random orders at
 * both sides: pairs are matched in the order of their inits, whatever becomes of the requests; also
 * of those that are freed without ever being started, or while active. A duplicate of the
 * communicator is freed with announcements under way, and the next one has pairs of its own. */
#include "mpitest.h"

enum { kPairs = 6, kTotal = 24, kLong = 700, kMostParts = 12, kEpisodes = 12, kTags = 2 };

/* What both sides of a pair know of it: drawn from the sender's rank. */
struct plan {
  int tag, elements, sender_parts, receiver_parts, rounds;
};

enum state { kNew, kInactive, kActive, kFreed, kOver };

/* One side of a pair at one rank. */
struct end {
  struct plan plan;
  int sends, peer, number, parts;
  enum state state;
  int started; /* rounds */
  int left;    /* partitions that are not ready; the first `left` of `order` */
  int order[kMostParts];
  int* data;
  MPI_Request request;
};

static int rank, size;
static MPI_Comm comm;
static struct end ends[2 * kPairs];

static unsigned draw(unsigned* state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

static int value(int sender, int number, int round, int i) {
  return ((sender * 31 + number) * 7 + round) * 1000003 + i;
}

static void make_plans(int sender, int episode, struct plan* plans) {
  static const int parts[] = {1, 2, 3, 4, 6, 12};
  unsigned s = 12345u + (unsigned)sender * 7919u + (unsigned)episode * 104729u;
  for (int i = 0; i < kPairs; i++) {
    plans[i].tag = 5 + (int)draw(&s, kTags);
    plans[i].elements = kTotal * (draw(&s, 5) ? 1 : kLong);
    plans[i].sender_parts = parts[draw(&s, 6)];
    plans[i].receiver_parts = parts[draw(&s, 6)];
    plans[i].rounds = (int)draw(&s, 4);
  }
}

static void begin_episode(int episode) {
  struct plan out[kPairs], in[kPairs];
  const int prev = (rank + size - 1) % size;
  make_plans(rank, episode, out);
  make_plans(prev, episode, in);
  for (int i = 0; i < 2 * kPairs; i++) {
    struct end* e = &ends[i];
    e->sends = i < kPairs;
    e->number = i % kPairs;
    e->plan = e->sends ? out[e->number] : in[e->number];
    e->peer = e->sends ? (rank + 1) % size : prev;
    e->parts = e->sends ? e->plan.sender_parts : e->plan.receiver_parts;
    e->state = kNew;
    e->started = e->left = 0;
    e->data = malloc(sizeof(int) * (size_t)e->plan.elements);
    CHECK(e->data);
    for (int k = 0; k < e->plan.elements; k++) e->data[k] = -1;
  }
}

/* Inits of one tag come in the order of their numbers. */
static int may_init(const struct end* e) {
  for (const struct end* before = e - e->number; before < e; before++)
    if (before->plan.tag == e->plan.tag && before->state == kNew) return 0;
  return 1;
}

static void init(struct end* e) {
  const int count = e->plan.elements / e->parts;
  if (!may_init(e)) return;
  if (e->sends)
    OK(MPI_Psend_init(e->data, e->parts, count, MPI_INT, e->peer, e->plan.tag, comm, MPI_INFO_NULL,
                      &e->request));
  else
    OK(MPI_Precv_init(e->data, e->parts, count, MPI_INT, e->peer, e->plan.tag, comm, MPI_INFO_NULL,
                      &e->request));
  e->state = kInactive;
}

static void start(struct end* e, unsigned* s) {
  for (int i = 0; i < e->plan.elements; i++)
    e->data[i] = e->sends ? value(rank, e->number, e->started, i) : -1;
  OK(MPI_Start(&e->request));
  e->started++;
  e->left = e->sends ? e->parts : 0;
  for (int i = 0; i < e->parts; i++) e->order[i] = i;
  for (int i = e->parts - 1; i > 0; i--) {
    const int j = (int)draw(s, (unsigned)i + 1), k = e->order[i];
    e->order[i] = e->order[j];
    e->order[j] = k;
  }
  e->state = kActive;
}

static int is_whole(const struct end* e, int first, int past) {
  for (int i = first; i < past; i++)
    if (e->data[i] != value(e->peer, e->number, e->started - 1, i)) return 0;
  return 1;
}

/* No transfer of partitions can be cancelled, and none suffers from the attempt. */
static void try_cancel(struct end* e) {
  MPI_Request r = e->request;
  int error_class;
  OK(MPI_Error_class(MPI_Cancel(&r), &error_class));
  CHECK(error_class == MPI_ERR_REQUEST && r == e->request);
}

static void go_on(struct end* e, unsigned* s) {
  int flag;
  MPI_Status status;
  if (draw(s, 8) == 0) return try_cancel(e);
  if (e->left > 0) {
    OK(MPI_Pready(e->order[--e->left], e->request));
    return;
  }
  if (e->started == e->plan.rounds && draw(s, 6) == 0) {
    OK(MPI_Request_free(&e->request));
    e->state = kFreed;
    return;
  }
  if (!e->sends) {
    const int part = (int)draw(s, (unsigned)e->parts), each = e->plan.elements / e->parts;
    OK(MPI_Parrived(e->request, part, &flag));
    if (flag) CHECK(is_whole(e, part * each, (part + 1) * each));
  }
  OK(MPI_Test(&e->request, &flag, &status));
  if (!flag) return;
  if (!e->sends) {
    int count;
    CHECK(is_whole(e, 0, e->plan.elements));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(status.MPI_SOURCE == e->peer && status.MPI_TAG == e->plan.tag);
    CHECK(count == e->plan.elements);
  }
  e->state = kInactive;
}

static void step(struct end* e, unsigned* s) {
  int flag;
  switch (e->state) {
    case kNew:
      init(e);
      break;
    case kInactive:
      if (draw(s, 8) == 0) return try_cancel(e);
      if (e->started < e->plan.rounds) return start(e, s);
      OK(MPI_Request_free(&e->request));
      e->state = kOver;
      break;
    case kActive:
      go_on(e, s);
      break;
    case kFreed: /* while active: the data come nevertheless */
      OK(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
      if (e->sends || is_whole(e, 0, e->plan.elements)) e->state = kOver;
      break;
    case kOver:
      break;
  }
}

static void run_episode(int episode) {
  unsigned s = 99u + (unsigned)rank * 65537u + (unsigned)episode * 31u;
  int open = 2 * kPairs;
  begin_episode(episode);
  while (open > 0) {
    step(&ends[draw(&s, 2 * kPairs)], &s);
    open = 0;
    for (int i = 0; i < 2 * kPairs; i++) open += ends[i].state != kOver;
  }
}

int main(int argc, char** argv) {
  MPI_Request r;
  int x = 0;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int episode = 0; episode < kEpisodes; episode++) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    /* All ranks are through with the last episode: nobody reads what sends that were freed while
     * active send. */
    for (int i = 0; i < 2 * kPairs; i++) free(ends[i].data);
    run_episode(episode);
    OK(MPI_Comm_free(&comm));
  }
  /* One that no send will ever meet hinders nobody. */
  OK(MPI_Precv_init(&x, 1, 1, MPI_INT, (rank + 1) % size, 77, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
  OK(MPI_Request_free(&r));
  return finish();
}
