/* Serial HDF5: each rank writes a file of its own in the folder argv[1], every second one closes
 * the library, and the next rank's file is read. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { kRows = 100, kColumns = 50 };

static void name_of(char* name, size_t room, const char* folder, int rank) {
  snprintf(name, room, "%s/%d.h5", folder, rank);
}

int main(int argc, char** argv) {
  static int a[kRows * kColumns];
  const hsize_t extent[2] = {kRows, kColumns};
  char name[4096];
  int rank, size, wrong = 0, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  name_of(name, sizeof name, argv[1], rank);
  hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(2, extent, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  hid_t set = H5Dcreate2(file, "a", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  for (int i = 0; i < kRows * kColumns; ++i) a[i] = rank * 10000 + i;
  wrong += H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, a) < 0;
  MPI_Barrier(MPI_COMM_WORLD);
  wrong += H5Dclose(set) < 0 || H5Sclose(space) < 0 || H5Fclose(file) < 0;
  if (rank % 2) wrong += H5close() < 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const int other = (rank + 1) % size;
  name_of(name, sizeof name, argv[1], other);
  file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  set = H5Dopen2(file, "a", H5P_DEFAULT);
  wrong += H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, a) < 0;
  for (int i = 0; i < kRows * kColumns; ++i) wrong += a[i] != other * 10000 + i;
  wrong += H5Dclose(set) < 0 || H5Fclose(file) < 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  unlink(name);
  MPI_Finalize();
  return all != 0;
}
