/* More derived types in a process than the hosted MPI packs rightly by itself: each rank keeps some
 * hundreds whose data are one run without being made by MPI_Type_contiguous, sends with them and
 * packs with them. */
#include <stdlib.h>
#include <string.h>

#include "../mpitest.h"

enum { kBytes = 48 };

/* A committed type of kBytes bytes in a row. */
static MPI_Datatype a_run(int i) {
  MPI_Datatype type;
  const int lengths[2] = {1, 11}, places[2] = {0, 1};
  const MPI_Aint offsets[2] = {0, 16};
  const int bytes[2] = {16, 32};
  switch (i % 4) {
    case 0:
      MPI_Type_vector(1, 12, 100, MPI_INT, &type);
      break;
    case 1:
      MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
      break;
    case 2:
      MPI_Type_create_hindexed(2, bytes, offsets, MPI_CHAR, &type);
      break;
    default:
      MPI_Type_contiguous(6, MPI_DOUBLE, &type);
  }
  MPI_Type_commit(&type);
  return type;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int count = 40 + 3000 / size;
  MPI_Datatype* types = malloc(count * sizeof *types);
  for (int i = 0; i < count; ++i) types[i] = a_run(i);
  MPI_Barrier(MPI_COMM_WORLD);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  unsigned char out[kBytes], in[kBytes], expected[kBytes], packed[kBytes + 3];
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < kBytes; ++k) {
      out[k] = (unsigned char)(rank + 7 * i + k);
      expected[k] = (unsigned char)(left + 7 * i + k);
    }
    memset(in, 0, sizeof in);
    MPI_Sendrecv(out, 1, types[i], right, i, in, 1, types[i], left, i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(memcmp(in, expected, kBytes) == 0);
    int position = 3;
    memset(packed, 0, sizeof packed);
    MPI_Pack(out, 1, types[i], packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK(position == sizeof packed && memcmp(packed + 3, out, kBytes) == 0);
    MPI_Count large = 3;
    memset(packed, 0, sizeof packed);
    MPI_Pack_c(out, 1, types[i], packed, sizeof packed, &large, MPI_COMM_WORLD);
    CHECK(large == sizeof packed && memcmp(packed + 3, out, kBytes) == 0);
    position = 3;
    memset(in, 0, sizeof in);
    MPI_Unpack(packed, sizeof packed, &position, in, 1, types[i], MPI_COMM_WORLD);
    CHECK(position == sizeof packed && memcmp(in, out, kBytes) == 0);
  }
  for (int i = 0; i < count; ++i) MPI_Type_free(&types[i]);
  free(types);
  return finish();
}
