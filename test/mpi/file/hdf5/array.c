/* A two-dimensional array of HDF5's, a block of columns a rank, written and read collectively. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

#define GOOD(call)                            \
  do {                                        \
    if ((call) < 0) {                         \
      fprintf(stderr, "failed: %s\n", #call); \
      MPI_Abort(MPI_COMM_WORLD, 1);           \
    }                                         \
  } while (0)

enum { kRows = 8, kColumns = 4 };

int main(int argc, char** argv) {
  int rank, size, mine[kRows * kColumns], got[kRows * kColumns];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  GOOD(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  GOOD(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  GOOD(file);
  hsize_t all[] = {kRows, (hsize_t)(kColumns * size)}, part[] = {kRows, kColumns};
  hsize_t start[] = {0, (hsize_t)(kColumns * rank)};
  hid_t in_file = H5Screate_simple(2, all, NULL), in_memory = H5Screate_simple(2, part, NULL);
  hid_t set = H5Dcreate2(file, "a", H5T_NATIVE_INT, in_file, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  GOOD(set);
  GOOD(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, part, NULL));
  for (int i = 0; i < kRows * kColumns; i++) mine[i] = 100 * rank + i;
  GOOD(H5Dwrite(set, H5T_NATIVE_INT, in_memory, in_file, transfer, mine));
  GOOD(H5Dread(set, H5T_NATIVE_INT, in_memory, in_file, transfer, got));
  for (int i = 0; i < kRows * kColumns; i++) GOOD(got[i] == mine[i] ? 0 : -1);
  H5Sclose(in_memory);
  H5Sclose(in_file);
  H5Dclose(set);
  GOOD(H5Fclose(file));
  H5Pclose(transfer);
  H5Pclose(access);
  MPI_Finalize();
  return 0;
}
