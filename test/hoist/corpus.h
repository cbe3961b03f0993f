/* What the programs of this folder share. Each is a list of loops with collectives; the comment
 * behind a call says whether it must, may or never be hoisted by -fgmpi-hoist. A program prints one
 * sum for each rank over all that it has received. */
#ifndef CORPUS_H
#define CORPUS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
/* unknown.c: compiled apart, so that nobody sees what they do. */
void unknown_work(void);
void unknown_on_ints(int* values, int n);
void unknown_with_comm(MPI_Comm comm);
void unknown_with_comm_address(MPI_Comm* comm);
void unknown_keep(int* where);
void unknown_change_kept(void);
MPI_Comm unknown_comm(void);
int unknown_number(int i);
void unknown_callback(void (*function)(void*), void* data);
#ifdef __cplusplus
}
#endif

static unsigned long g_sum;
static int g_rank, g_size;

static void add_int(int value) {
  g_sum = (g_sum ^ (unsigned long)(unsigned)value) * 1099511628211ul + 1;
}
static void add_ints(const int* values, int n) {
  for (int i = 0; i < n; ++i) add_int(values[i]);
}
/* The root's buffer is filled by the number of the round, the others' are spoilt. */
static void fill(int* values, int n, int root, int round) {
  for (int i = 0; i < n; ++i) values[i] = g_rank == root ? round * 1000 + i : -1;
}

static void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
}
static int end(void) {
  unsigned long* sums = (unsigned long*)malloc(sizeof(long) * (size_t)g_size);
  MPI_Gather(&g_sum, 1, MPI_UNSIGNED_LONG, sums, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  for (int r = 0; g_rank == 0 && r < g_size; ++r) printf("%d: %016lx\n", r, sums[r]);
  free(sums);
  MPI_Finalize();
  return 0;
}

#endif
