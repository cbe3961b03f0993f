/* Events of the tools interface: a program with known traffic raises known events, for the rank's
 * own registrations. */
#include <string.h>

#include "mpitest.h"

enum { kSend, kReceived, kBegun, kEnded, kMade, kFreed, kKinds };
static const char* const kNames[kKinds] = {"fgmpi_send_begun",       "fgmpi_received",
                                           "fgmpi_collective_begun", "fgmpi_collective_ended",
                                           "fgmpi_comm_made",        "fgmpi_comm_freed"};
static const int kElements[kKinds] = {4, 4, 3, 3, 3, 1};

struct Seen {
  int count, values[3];
  long long bytes, all_bytes;
  MPI_Count time;
};
static struct Seen seen[kKinds];
static int dropped, freed_calls;
static MPI_T_event_registration registrations[kKinds];

static void on_event(MPI_T_event_instance event, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void* data) {
  const int kind = (int)((struct Seen*)data - seen);
  struct Seen* s = data;
  MPI_Count time;
  int source, i;
  CHECK(registration == registrations[kind] && safety == MPI_T_CB_REQUIRE_NONE);
  for (i = 0; i < kElements[kind]; ++i)
    OK(MPI_T_event_read(event, i, i < 3 ? (void*)&s->values[i] : (void*)&s->bytes));
  CHECK(MPI_T_event_read(event, kElements[kind], &i) == MPI_T_ERR_INVALID_INDEX);
  OK(MPI_T_event_get_timestamp(event, &time));
  OK(MPI_T_event_get_source(event, &source));
  CHECK(source == 0 && time >= s->time);
  s->time = time;
  s->all_bytes += s->bytes;
  ++s->count;
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* data) {
  CHECK(data == &freed_calls && registration && safety == MPI_T_CB_REQUIRE_NONE);
  ++freed_calls;
}

static void expect(int kind, int count, int first, int second) {
  CHECK(seen[kind].count == count);
  CHECK(kElements[kind] < 2 || seen[kind].values[1] == first);
  CHECK(kElements[kind] < 3 || seen[kind].values[2] == second);
  seen[kind].count = 0;
}

static void types(void) {
  int num, index, length, count, bind, verbosity;
  char name[100], text[4000];
  MPI_Datatype type[9];
  MPI_Aint at[9];
  MPI_T_enum items;
  MPI_Info info;
  OK(MPI_T_event_get_num(&num));
  CHECK(num >= kKinds);
  for (int kind = 0; kind < kKinds; ++kind) {
    OK(MPI_T_event_get_index(kNames[kind], &index));
    length = sizeof name;
    int text_length = sizeof text;
    count = 9;
    OK(MPI_T_event_get_info(index, name, &length, &verbosity, type, at, &count, &items, &info, text,
                            &text_length, &bind));
    CHECK(strcmp(name, kNames[kind]) == 0 && (int)strlen(text) + 1 == text_length);
    CHECK(count == kElements[kind] && bind == MPI_T_BIND_NO_OBJECT && items == MPI_T_ENUM_NULL);
    for (int i = 0; i < count; ++i) CHECK(type[i] == (i < 3 ? MPI_INT : MPI_LONG_LONG));
    OK(MPI_Info_free(&info));
    count = 0;
    OK(MPI_T_event_get_info(index, NULL, NULL, NULL, NULL, NULL, &count, NULL, NULL, NULL, NULL,
                            NULL));
    CHECK(count == kElements[kind]);
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registrations[kind]));
    OK(MPI_T_event_register_callback(registrations[kind], MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL,
                                     &seen[kind], on_event));
  }
  CHECK(MPI_T_event_get_index("nothing", &index) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_event_handle_alloc(num, NULL, MPI_INFO_NULL, registrations) ==
        MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_event_handle_alloc(-1, NULL, MPI_INFO_NULL, registrations) ==
        MPI_T_ERR_INVALID_INDEX);
}

static void messages(int rank, int size) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  char out[5000] = "", in[5000];
  MPI_Request r[2];
  OK(MPI_Irecv(in, 5000, MPI_BYTE, left, 3, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Isend(out, 5000, MPI_BYTE, right, 3, MPI_COMM_WORLD, &r[1]));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
  expect(kSend, 1, right, 3);
  expect(kReceived, 1, left, 3);
  CHECK(seen[kSend].bytes == 5000 && seen[kReceived].bytes == 5000);
  /* a handle of MPICH's ABI */
  CHECK(seen[kReceived].values[0] == (int)MPI_COMM_WORLD);
  OK(MPI_Sendrecv(out, 7, MPI_INT, right, 4, in, 100, MPI_INT, left, 4, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  expect(kSend, 1, right, 4);
  expect(kReceived, 1, left, 4);
  CHECK(seen[kReceived].bytes == 28);
  OK(MPI_Send_init(out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Recv_init(in, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &r[1]));
  CHECK(seen[kSend].count == 0);
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Startall(2, r));
    for (int done = 0; !done;) OK(MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE));
  }
  expect(kSend, 3, right, 5);
  expect(kReceived, 3, left, 5);
  OK(MPI_Request_free(&r[0]));
  OK(MPI_Request_free(&r[1]));
  if (rank % 2 == 0 && size % 2 == 0) {
    OK(MPI_Send(out, 1, MPI_DOUBLE, right, 6, MPI_COMM_WORLD));
    expect(kSend, 1, right, 6);
  } else if (size % 2 == 0) {
    OK(MPI_Recv(in, 1, MPI_DOUBLE, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    expect(kReceived, 1, left, 6);
  }
  OK(MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD));
  OK(MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(seen[kSend].count == 0 && seen[kReceived].count == 0);
}

static void collectives(int rank, int size) {
  int one = 1, sum;
  MPI_Request r;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(seen[kBegun].count == 1 && seen[kEnded].count == 1 && seen[kEnded].values[1] == 0);
  const int number = seen[kBegun].values[2];
  CHECK(seen[kEnded].values[2] == number);
  seen[kBegun].count = seen[kEnded].count = 0;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  expect(kBegun, 1, 12, number + 2); /* blocking ones have even numbers */
  expect(kEnded, 1, 12, number + 2);
  OK(MPI_Ibcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD, &r));
  const int odd = seen[kBegun].values[2];
  CHECK(number % 2 == 0 && odd % 2 == 1);
  expect(kBegun, 1, 1, odd);
  CHECK(seen[kEnded].count == 0);
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  expect(kEnded, 1, 1, odd);
  OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &r));
  OK(MPI_Start(&r));
  expect(kBegun, 1, 0, odd + 2);
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  expect(kEnded, 1, 0, odd + 2);
  OK(MPI_Request_free(&r));
  CHECK(sum == size && rank < size);
}

static void communicators(int rank, int size) {
  MPI_Comm a, b, c = MPI_COMM_NULL;
  MPI_Request r;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
  expect(kMade, 1, size, rank);
  CHECK(seen[kMade].values[0] == (int)a);
  OK(MPI_Comm_idup(a, &b, &r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  expect(kMade, 1, size, rank);
  CHECK(seen[kMade].values[0] == (int)b);
  OK(MPI_Comm_split(b, rank == 0 ? MPI_UNDEFINED : 1, -rank, &c));
  if (rank > 0) {
    expect(kMade, 1, size - 1, size - 1 - rank);
    const int was = (int)c;
    OK(MPI_Comm_free(&c));
    expect(kFreed, 1, 0, 0);
    CHECK(seen[kFreed].values[0] == was);
  }
  OK(MPI_Comm_free(&a));
  OK(MPI_Comm_free(&b));
  CHECK(seen[kMade].count == 0 && seen[kFreed].count == 2);
  seen[kFreed].count = 0;
}

static int depth;
static void on_made(MPI_T_event_instance event, MPI_T_event_registration registration,
                    MPI_T_cb_safety safety, void* data) {
  MPI_Comm inner;
  CHECK(event && registration && safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED && depth++ == 0);
  OK(MPI_Comm_dup(MPI_COMM_SELF, &inner)); /* dropped for this registration */
  OK(MPI_Comm_free(&inner));
  --depth;
  ++*(int*)data;
}
static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                       MPI_T_cb_safety safety, void* data) {
  CHECK(registration && source == 0 && safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED && data);
  dropped += (int)count;
}

static void nested(void) {
  MPI_T_event_registration one;
  MPI_Comm made;
  MPI_Info info;
  int index, calls = 0;
  OK(MPI_T_event_get_index(kNames[kMade], &index));
  OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &one));
  OK(MPI_T_event_set_dropped_handler(one, on_dropped));
  OK(MPI_T_event_register_callback(one, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &calls,
                                   on_made));
  OK(MPI_T_event_handle_get_info(one, &info));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  CHECK(calls == 1 && dropped == 1);
  CHECK(seen[kMade].count == 2 && seen[kFreed].count == 1); /* others see the inner one */
  OK(MPI_T_event_register_callback(one, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL,
                                   NULL));
  OK(MPI_Comm_free(&made));
  OK(MPI_T_event_handle_free(one, &freed_calls, on_free));
  CHECK(freed_calls == 1 && MPI_T_event_handle_free(one, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
}

int main(int argc, char** argv) {
  int rank, size, provided, num, length;
  char name[64];
  MPI_T_source_order order;
  MPI_Count ticks, most, before, after;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_source_get_num(&num));
  CHECK(num == 1);
  length = sizeof name;
  OK(MPI_T_source_get_info(0, name, &length, NULL, NULL, &order, &ticks, &most, NULL));
  CHECK(order == MPI_T_SOURCE_ORDERED && ticks > 0 && most > 0);
  OK(MPI_T_source_get_timestamp(0, &before));
  types();
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  messages(rank, size);
  collectives(rank, size);
  communicators(rank, size);
  nested();
  OK(MPI_T_source_get_timestamp(0, &after));
  CHECK(seen[kReceived].time > before && seen[kReceived].time <= after);
  for (int kind = 0; kind < kKinds; ++kind) {
    OK(MPI_T_event_handle_free(registrations[kind], kind ? &freed_calls : NULL,
                               kind ? on_free : NULL));
    seen[kind].count = 0;
  }
  CHECK(freed_calls == kKinds);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int kind = 0; kind < kKinds; ++kind) CHECK(seen[kind].count == 0);
  OK(MPI_T_finalize());
  return finish();
}
