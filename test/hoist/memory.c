/* Arguments that are read from memory: globals, members of records, what others know the address
 * of. */
#include "corpus.h"

MPI_Comm g_comm;
static MPI_Comm g_hidden_comm;
int g_count = 5;
static int g_root = 0;

struct Context {
  MPI_Comm comm;
  int n, root;
  double other;
  int data[8];
};

static void global_comm(void) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, g_comm); /* hoist: must */
    add_ints(buffer, 8);
  }
}

static void global_comm_and_unknown(void) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, g_comm); /* hoist: never */
    add_ints(buffer, 8);
    unknown_work();
  }
}

static void static_arguments(void) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 5, g_root, i);
    MPI_Bcast(buffer, g_count, MPI_INT, g_root, g_hidden_comm); /* hoist: must */
    add_ints(buffer, 5);
  }
}

static void set_root(int root) { g_root = root; }
static void global_root_is_set(void) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    set_root(i % g_size);
    fill(buffer, 5, g_root, i);
    MPI_Bcast(buffer, 5, MPI_INT, g_root, g_hidden_comm); /* hoist: never */
    add_ints(buffer, 5);
  }
  g_root = 0;
}

static void global_count_and_unknown(void) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, g_count, MPI_INT, 0, MPI_COMM_WORLD); /* hoist: never */
    add_ints(buffer, g_count);
    unknown_work();
  }
}

static void world_and_unknown(int n) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    unknown_work();
    fill(buffer, 8, 0, i);
    unknown_on_ints(buffer, 8);
    MPI_Bcast(buffer, n, MPI_INT, 0, MPI_COMM_WORLD); /* hoist: must */
    add_ints(buffer, n);
  }
}

static void members(struct Context* context) {
  if (context->n == 0) return;
  for (int i = 0; i < 6; ++i) {
    fill(context->data, context->n, context->root, i);
    MPI_Bcast(context->data, context->n, MPI_INT, context->root, context->comm); /* hoist: may */
    add_ints(context->data, context->n);
  }
}

static void members_in_double_loop(struct Context* context, double* values, int n) {
  int buffer[8];
  if (context->n == 0) return;
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < n; ++k) values[k] += i;
    for (int k = 0; k < 8; ++k) buffer[k] = g_rank == context->root ? (int)values[k % n] + k : -1;
    MPI_Bcast(buffer, context->n, MPI_INT, context->root, context->comm); /* hoist: may */
    add_ints(buffer, context->n);
  }
}

static void member_changes(struct Context* context) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    context->root = i % g_size;
    fill(buffer, 8, context->root, i);
    MPI_Bcast(buffer, 8, MPI_INT, context->root, MPI_COMM_WORLD); /* hoist: never */
    add_ints(buffer, 8);
  }
}

/* The pointer is null, and the loop does not run. */
static void null_context(struct Context* context, int n) {
  int buffer[8];
  for (int i = 0; i < n; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, context->comm); /* hoist: never */
    add_ints(buffer, 8);
  }
}

static void address_is_kept(void) {
  int buffer[8], n = 2;
  unknown_keep(&n);
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, n, MPI_INT, 0, MPI_COMM_WORLD); /* hoist: never */
    add_ints(buffer, n);
    unknown_change_kept();
  }
  unknown_keep(NULL);
}

static void through_pointer(void) {
  int buffer[8], n = 2, *p = &n;
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, n, MPI_INT, 0, MPI_COMM_WORLD); /* hoist: never */
    add_ints(buffer, n);
    *p = i % 5;
  }
}

static void local_array(void) {
  int buffer[8], arguments[3] = {8, 0, 4};
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, arguments[2], MPI_INT, arguments[1], MPI_COMM_WORLD); /* hoist: must */
    add_ints(buffer, 4);
  }
}

static void element_changes(void) {
  int buffer[8], roots[2] = {0, 0};
  roots[1] = g_size - 1;
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, roots[i % 2], i);
    MPI_Bcast(buffer, 8, MPI_INT, roots[i % 2], MPI_COMM_WORLD); /* hoist: never */
    add_ints(buffer, 8);
  }
}

static void volatile_count(void) {
  int buffer[8];
  volatile int n = 4;
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, n, MPI_INT, 0, MPI_COMM_WORLD); /* hoist: never */
    add_ints(buffer, n);
  }
}

static void read_into(void) {
  int buffer[8], n = 0;
  for (int i = 0; i < 6; ++i) {
    char text[8];
    snprintf(text, sizeof text, "%d", i + 1);
    sscanf(text, "%d", &n);
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, n, MPI_INT, 0, MPI_COMM_WORLD); /* hoist: never */
    add_ints(buffer, n);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &g_comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &g_hidden_comm);
  struct Context context = {g_comm, 5, 0, 0, {0}};
  double values[4] = {1, 2, 3, 4};
  global_comm();
  global_comm_and_unknown();
  static_arguments();
  global_root_is_set();
  global_count_and_unknown();
  world_and_unknown(7);
  members(&context);
  members_in_double_loop(&context, values, 4);
  member_changes(&context);
  null_context(NULL, 0);
  null_context(&context, 3);
  address_is_kept();
  through_pointer();
  local_array();
  element_changes();
  volatile_count();
  read_into();
  MPI_Comm_free(&g_comm);
  MPI_Comm_free(&g_hidden_comm);
  return end();
}
