/* A data representation is the rank's that registered it: all ranks register one by the same name,
 * with other functions, another extra state and another extent in the file, and each converts by
 * its own, in operations of its own and in collective ones. Some register it later, some never, and
 * one that has ended leaves those of others alone. */
#include <string.h>

#include "filetest.h"

enum { kItems = 5 };

static int state;                    /* this rank's extra state */
static _Thread_local int own_thread; /* a variable of this rank's thread */
static int reads, writes, extents;

/* An integer is stored with the rank's key, in 4 bytes, or in 8 where the rank is odd. */
static int extent_of_rank(void) { return rank % 2 ? 8 : 4; }
static int key_of_rank(void) { return 1000 * (rank + 1); }

static void check_state(void* extra) {
  CHECK(extra == &state && *(int*)extra == rank + 7 && own_thread == rank + 9);
}

static int extent(MPI_Datatype type, MPI_Aint* bytes, void* extra) {
  CHECK(type == MPI_INT);
  check_state(extra);
  ++extents;
  *bytes = extent_of_rank();
  return MPI_SUCCESS;
}
static int read_items(void* buffer, MPI_Datatype type, int count, void* file, MPI_Offset position,
                      void* extra) {
  CHECK(type == MPI_INT);
  check_state(extra);
  ++reads;
  for (int i = 0; i < count; ++i) {
    int stored;
    memcpy(&stored, (char*)file + (size_t)i * (size_t)extent_of_rank(), sizeof stored);
    ((int*)buffer)[position + i] = stored - key_of_rank();
  }
  return MPI_SUCCESS;
}
static int write_items(void* buffer, MPI_Datatype type, int count, void* file, MPI_Offset position,
                       void* extra) {
  CHECK(type == MPI_INT);
  check_state(extra);
  ++writes;
  memset(file, 0, (size_t)count * (size_t)extent_of_rank());
  for (int i = 0; i < count; ++i) {
    const int stored = ((int*)buffer)[position + i] + key_of_rank();
    memcpy((char*)file + (size_t)i * (size_t)extent_of_rank(), &stored, sizeof stored);
  }
  return MPI_SUCCESS;
}

static void register_own(void) {
  OK(MPI_Register_datarep("mine", read_items, write_items, extent, &state));
  FAILS(MPI_Register_datarep("mine", read_items, write_items, extent, &state), MPI_ERR_DUP_DATAREP);
  FAILS(MPI_Register_datarep("native", read_items, write_items, extent, &state),
        MPI_ERR_DUP_DATAREP);
}

/* Where a rank's part begins: there is room for 8 bytes an item. */
static MPI_Offset place(void) { return (MPI_Offset)rank * kItems * 8; }

static void expect_stored(MPI_File f, const int* items) {
  char bytes[kItems * 8];
  OK(MPI_File_set_view(f, place(), MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(f, 0, bytes, kItems * extent_of_rank(), MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < kItems; ++i) {
    int stored;
    memcpy(&stored, bytes + i * extent_of_rank(), sizeof stored);
    CHECK(stored == items[i] + key_of_rank());
  }
}

static void set_own_view(MPI_File f) {
  char found[MPI_MAX_DATAREP_STRING];
  MPI_Datatype etype, filetype;
  MPI_Offset disp;
  MPI_Aint bytes;
  OK(MPI_File_set_view(f, place(), MPI_INT, MPI_INT, "mine", MPI_INFO_NULL));
  OK(MPI_File_get_view(f, &disp, &etype, &filetype, found));
  CHECK(disp == place() && strcmp(found, "mine") == 0);
  OK(MPI_File_get_type_extent(f, MPI_INT, &bytes));
  CHECK(bytes == extent_of_rank());
}

/* A file of all: etypes have the same size at all members there, so ranks of one parity share
 * it. */
static void together(MPI_Comm comm) {
  MPI_File f;
  MPI_Request request;
  MPI_Status status;
  int items[kItems], got[kItems];
  char of_parity[300];
  snprintf(of_parity, sizeof of_parity, "%s_%d", name, rank % 2);
  OK(MPI_File_open(comm, of_parity, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &f));
  for (int way = 0; way < 4; ++way) {
    for (int i = 0; i < kItems; ++i) items[i] = 100 * way + 10 * i + rank % 10;
    memset(got, 0xff, sizeof got);
    set_own_view(f);
    reads = writes = 0;
    if (way == 0) {
      OK(MPI_File_write_at(f, 0, items, kItems, MPI_INT, MPI_STATUS_IGNORE));
      OK(MPI_File_read_at(f, 0, got, kItems, MPI_INT, &status));
    } else if (way == 1) {
      OK(MPI_File_iwrite_at(f, 0, items, kItems, MPI_INT, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_File_iread_at(f, 0, got, kItems, MPI_INT, &request));
      OK(MPI_Wait(&request, &status));
    } else if (way == 2) {
      OK(MPI_File_write_at_all(f, 0, items, kItems, MPI_INT, MPI_STATUS_IGNORE));
      OK(MPI_File_read_at_all(f, 0, got, kItems, MPI_INT, &status));
    } else {
      OK(MPI_File_iwrite_at_all(f, 0, items, kItems, MPI_INT, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_File_read_at_all_begin(f, 0, got, kItems, MPI_INT));
      OK(MPI_File_read_at_all_end(f, got, &status));
    }
    CHECK(count_of(&status, MPI_INT) == kItems && reads > 0 && writes > 0);
    CHECK(memcmp(items, got, sizeof got) == 0);
    expect_stored(f, items);
  }
  OK(MPI_File_close(&f));
}

/* A view that was set before goes on, whatever other ranks do. */
static void alone(void) {
  MPI_File f;
  int items[kItems] = {5, 4, 3, 2, 1}, got[kItems];
  char own[300];
  snprintf(own, sizeof own, "%s_own_%d", name, rank);
  OK(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &f));
  set_own_view(f);
  if (rank % 2) {
    OK(MPI_File_close(&f));
    return;
  }
  for (int i = 0; i < 20; ++i) {
    int flag;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE)); /* others run */
    items[0] = i;
    OK(MPI_File_write_at(f, 0, items, kItems, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(f, 0, got, kItems, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(memcmp(items, got, sizeof got) == 0);
    if (i % 5 == 0) set_own_view(f);
  }
  expect_stored(f, items);
  OK(MPI_File_close(&f));
}

int main(int argc, char** argv) {
  MPI_Comm parity;
  MPI_File f;
  start(&argc, &argv, "own_datareps");
  state = rank + 7;
  own_thread = rank + 9;
  if (rank % 3 == 0) register_own();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank % 3) { /* others have it, this rank has not */
    char own[300];
    snprintf(own, sizeof own, "%s_early_%d", name, rank);
    OK(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                     MPI_INFO_NULL, &f));
    FAILS(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "mine", MPI_INFO_NULL),
          MPI_ERR_UNSUPPORTED_DATAREP);
    OK(MPI_File_close(&f));
    register_own();
  }
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parity));
  together(parity);
  OK(MPI_Comm_free(&parity));
  CHECK(extents > 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) printf(" No Errors\n");
  alone();
  OK(MPI_Finalize());
  return 0;
}
