/* One-sided operations and files of known size: transfers FILE. Each rank puts 5 x 24 bytes to the
 * next rank, gets 3 x 16 bytes from the one before, adds 8 bytes to the last rank in a window whose
 * ranks are in the opposite order, writes 64 bytes, reads 32. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, size;
  double window[8] = {0}, values[8] = {0}, *opposite;
  MPI_Win all, turned;
  MPI_Comm order;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_create(window, sizeof window, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &all);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &order);
  MPI_Win_allocate(64, 8, MPI_INFO_NULL, order, &opposite, &turned);
  MPI_Comm_free(&order);
  MPI_Win_fence(0, all);
  for (int i = 0; i < 5; ++i)
    MPI_Put(values, 3, MPI_DOUBLE, (rank + 1) % size, 0, 3, MPI_DOUBLE, all);
  for (int i = 0; i < 3; ++i)
    MPI_Get(values + 3, 2, MPI_DOUBLE, (rank + size - 1) % size, 4, 2, MPI_DOUBLE, all);
  MPI_Win_fence(0, all);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, turned);
  MPI_Accumulate(values, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, turned);
  MPI_Win_unlock(0, turned);
  MPI_Win_free(&turned);
  MPI_Win_free(&all);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 64 * (MPI_Offset)rank, values, 8, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_read_at_all(file, 64 * (MPI_Offset)rank, values, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return MPI_Finalize();
}
