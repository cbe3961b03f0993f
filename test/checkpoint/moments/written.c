/* HDF5 between writes: a library with a state of its own. Each rank has a file of its own open, into which it writes records; all
 * together write one by MPI; at the end both are read. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 24, WIDTH = 64 };

static int rank, size;

static hid_t make(hid_t file, const char* name, hsize_t rows, hsize_t columns) {
  const hsize_t dimensions[] = {rows, columns};
  const hid_t space = H5Screate_simple(2, dimensions, NULL);
  const hid_t set =
      H5Dcreate(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sclose(space);
  return set;
}

/* Transfers the row of a data set. */
static int row(hid_t set, hsize_t at, int* values, hid_t transfer, int writes) {
  const hsize_t start[] = {at, 0}, count[] = {1, WIDTH};
  const hid_t space = H5Dget_space(set), memory = H5Screate_simple(2, count, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  const herr_t done = writes ? H5Dwrite(set, H5T_NATIVE_INT, memory, space, transfer, values)
                             : H5Dread(set, H5T_NATIVE_INT, memory, space, transfer, values);
  H5Sclose(memory);
  H5Sclose(space);
  return done < 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[40];
  int values[WIDTH], wrong = 0, all;
  snprintf(name, sizeof name, "written.%d.h5", rank);
  const hid_t own = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const hid_t shared = H5Fcreate("written.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t own_set = make(own, "rows", STEPS, WIDTH),
              shared_set = make(shared, "rows", (hsize_t)STEPS * size, WIDTH);
  for (int step = 0; step < STEPS; ++step) {
    for (int i = 0; i < WIDTH; ++i) values[i] = rank * 1000000 + step * 1000 + i;
    wrong += row(own_set, step, values, H5P_DEFAULT, 1);
    wrong += row(shared_set, (hsize_t)step * size + rank, values, transfer, 1);
    if (step % 8 == 7) {
      char group[20];
      snprintf(group, sizeof group, "group%d", step);
      H5Gclose(H5Gcreate(own, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (rank == 0) printf("step %d: %d wrong\n", step, all);
    }
  }
  for (int step = 0; step < STEPS; ++step) {
    memset(values, 0, sizeof values);
    wrong += row(own_set, step, values, H5P_DEFAULT, 0);
    for (int i = 0; i < WIDTH; ++i) wrong += values[i] != rank * 1000000 + step * 1000 + i;
    const int other = (rank + 1) % size;
    wrong += row(shared_set, (hsize_t)step * size + other, values, transfer, 0);
    for (int i = 0; i < WIDTH; ++i) wrong += values[i] != other * 1000000 + step * 1000 + i;
  }
  H5Dclose(own_set), H5Dclose(shared_set), H5Pclose(access), H5Pclose(transfer);
  wrong += H5Fclose(own) < 0;
  wrong += H5Fclose(shared) < 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("at the end: %d wrong\n", all);
  MPI_Finalize();
  return wrong != 0;
}
