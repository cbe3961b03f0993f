/* Short messages of types with gaps: every pair of shapes of the two sides, posted before the
 * message and after it, by every kind of send, whole, longer than the receive and ending within
 * it. */
#include <string.h>

#include "mpitest.h"

enum { kShapes = 11, kBytes = 8192, kMost = 3 };

static MPI_Datatype make_type(int shape) {
  MPI_Datatype type, inner;
  const int offsets[] = {0, 3, 4, 9, 15}, lengths[] = {1, 1, 2, 1, 1};
  const int members[] = {1, 3, 1, 3};
  const MPI_Aint places[] = {0, 8, 40, 51};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_CHAR};
  switch (shape) {
    case 0:
      OK(MPI_Type_contiguous(5, MPI_DOUBLE, &type));
      break;
    case 1:
      OK(MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &type));
      break;
    case 2:
      OK(MPI_Type_vector(10, 1, -2, MPI_INT, &type));
      break;
    case 3:
      OK(MPI_Type_vector(3, 7, 11, MPI_CHAR, &type));
      break;
    case 4:
      OK(MPI_Type_indexed(5, lengths, offsets, MPI_DOUBLE, &type));
      break;
    case 5:
      OK(MPI_Type_create_struct(4, members, places, types, &type));
      break;
    case 6: /* more than 512 bytes */
      OK(MPI_Type_vector(70, 1, 2, MPI_DOUBLE, &type));
      break;
    case 8:
      OK(MPI_Type_vector(40, 1, 2, MPI_DOUBLE, &type));
      break;
    case 9: /* an odd number of members of one length */
      OK(MPI_Type_create_indexed_block(5, 1, offsets, MPI_FLOAT, &type));
      break;
    case 7: /* does not begin at its address */
      OK(MPI_Type_create_hindexed_block(1, 4, &places[2], MPI_INT, &type));
      break;
    default: /* two nested strides, with more rows than are listed */
      OK(MPI_Type_vector(5, 1, 2, MPI_SHORT, &inner));
      OK(MPI_Type_create_hvector(6, 1, 70, inner, &type));
      OK(MPI_Type_free(&inner));
  }
  OK(MPI_Type_commit(&type));
  return type;
}

static unsigned char value_at(int i, int round) { return (unsigned char)(i * 7 + round * 13 + 1); }

/* Where packed byte number i of elements lies, found by packing positions. */
static void find_places(MPI_Datatype type, int count, short* places, int* bytes) {
  static unsigned char low[kBytes], high[kBytes];
  unsigned char packed[2][kBytes];
  for (int i = 0; i < kBytes; ++i) low[i] = (unsigned char)i, high[i] = (unsigned char)(i >> 8);
  int position = 0, size;
  OK(MPI_Pack(low + kBytes / 2, count, type, packed[0], kBytes, &position, MPI_COMM_SELF));
  *bytes = position;
  position = 0;
  OK(MPI_Pack(high + kBytes / 2, count, type, packed[1], kBytes, &position, MPI_COMM_SELF));
  OK(MPI_Type_size(type, &size));
  CHECK(*bytes == size * count);
  for (int i = 0; i < *bytes; ++i) places[i] = (short)(packed[0][i] | packed[1][i] << 8);
}

enum { kSend, kIsend, kSsend, kRsend, kBsend, kModes };

static void send(int mode, void* data, int count, MPI_Datatype type, int to) {
  MPI_Request request;
  switch (mode) {
    case kSend:
      OK(MPI_Send(data, count, type, to, 1, MPI_COMM_WORLD));
      break;
    case kIsend:
      OK(MPI_Isend(data, count, type, to, 1, MPI_COMM_WORLD, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
    case kSsend:
      OK(MPI_Ssend(data, count, type, to, 1, MPI_COMM_WORLD));
      break;
    case kRsend:
      OK(MPI_Rsend(data, count, type, to, 1, MPI_COMM_WORLD));
      break;
    default:
      OK(MPI_Bsend(data, count, type, to, 1, MPI_COMM_WORLD));
  }
}

/* Rank `from` sends to rank `to`; both may be the same one. `early`: the receive is posted first. */
static void exchange(int rank, int from, int to, int mode, int early, int out_shape, int out_count,
                     int in_shape, int in_count, int round) {
  static unsigned char out[kBytes], in[kBytes];
  static short places[kBytes];
  int sent, room;
  MPI_Datatype out_type = make_type(out_shape), in_type = make_type(in_shape);
  find_places(in_type, in_count, places, &room);
  MPI_Request request = MPI_REQUEST_NULL;
  char go = 0;
  memset(in, 0xee, sizeof in);
  if (rank == to && early) {
    OK(MPI_Irecv(in + kBytes / 2, in_count, in_type, from, 1, MPI_COMM_WORLD, &request));
    if (from != to) OK(MPI_Send(&go, 1, MPI_CHAR, from, 2, MPI_COMM_WORLD));
  }
  if (rank == from) {
    if (from != to && early)
      OK(MPI_Recv(&go, 1, MPI_CHAR, to, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    static short out_places[kBytes];
    find_places(out_type, out_count, out_places, &sent);
    memset(out, 0x55, sizeof out);
    for (int i = 0; i < sent; ++i) out[out_places[i]] = value_at(i, round);
    send(mode, out + kBytes / 2, out_count, out_type, to);
    if (from != to && !early) OK(MPI_Send(&go, 1, MPI_CHAR, to, 2, MPI_COMM_WORLD));
  }
  if (rank == to) {
    int size, error_class = MPI_SUCCESS;
    MPI_Status status;
    OK(MPI_Type_size(out_type, &size));
    sent = size * out_count;
    if (early) {
      MPI_Error_class(MPI_Wait(&request, &status), &error_class);
    } else {
      if (from != to) OK(MPI_Recv(&go, 1, MPI_CHAR, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      MPI_Error_class(
          MPI_Recv(in + kBytes / 2, in_count, in_type, from, 1, MPI_COMM_WORLD, &status),
          &error_class);
    }
    CHECK(sent > room ? error_class == MPI_ERR_TRUNCATE
                      : error_class == MPI_SUCCESS || error_class == MPI_ERR_TYPE);
    const int got = sent < room ? sent : room;
    for (int i = 0; i < got; ++i) {
      CHECK(in[places[i]] == value_at(i, round));
      in[places[i]] = 0xee;
    }
    for (int i = 0; i < kBytes; ++i) CHECK(in[i] == 0xee);
  }
  OK(MPI_Type_free(&out_type));
  OK(MPI_Type_free(&in_type));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  static char attached[1 << 16];
  OK(MPI_Buffer_attach(attached, sizeof attached));
  /* Neighbours in pairs, and the two ranks that are farthest apart. */
  const int partner = rank ^ 1, last = size - 1;
  int round = 0;
  for (int out_shape = 0; out_shape < kShapes; ++out_shape)
    for (int in_shape = 0; in_shape < kShapes; ++in_shape)
      for (int variant = 0; variant < 2 * kModes; ++variant, ++round) {
        const int mode = variant / 2, out_count = 1 + round % kMost,
                  in_count = 1 + round / kMost % kMost;
        const int early = variant % 2 || mode == kRsend || mode == kSsend;
        if (mode == kSsend && partner > last) continue; /* to itself, it would wait for itself */
        const int first = partner > last ? rank : rank & ~1,
                  second = partner > last ? rank : rank | 1;
        exchange(rank, first, second, mode, early, out_shape, out_count, in_shape, in_count, round);
        if (size > 3 && (rank == 1 || rank == last) && variant % 3 == 0)
          exchange(rank, last, 1, mode, early, out_shape, out_count, in_shape, in_count, round);
      }
  void* detached;
  int bytes;
  OK(MPI_Buffer_detach(&detached, &bytes));
  return finish();
}
