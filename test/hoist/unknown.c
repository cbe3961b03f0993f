/* Functions of which the corpus only sees declarations. */
#include <mpi.h>

static int g_number = 3;
static int* g_kept;
void unknown_work(void) { ++g_number; }
void unknown_on_ints(int* values, int n) {
  for (int i = 0; i < n; ++i) values[i] += 0;
}
void unknown_with_comm(MPI_Comm comm) { (void)comm; }
/* The same members by another handle: the old one is freed. */
void unknown_with_comm_address(MPI_Comm* comm) {
  MPI_Comm other;
  MPI_Comm_dup(*comm, &other);
  MPI_Comm_free(comm);
  *comm = other;
}
void unknown_keep(int* where) { g_kept = where; }
void unknown_change_kept(void) {
  if (g_kept) *g_kept = *g_kept % 5 + 1;
}
MPI_Comm unknown_comm(void) { return MPI_COMM_WORLD; }
int unknown_number(int i) { return i % 2; }
void unknown_callback(void (*function)(void*), void* data) { function(data); }
