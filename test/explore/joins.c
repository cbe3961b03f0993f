// Programs for joins.sh: ports, names and spawned ranks under mpiexec -explore.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int me, all;
static char port[MPI_MAX_PORT_NAME];

static void share_port(void) {
  if (me == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static MPI_Comm connect(void) {
  MPI_Comm made;
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
  MPI_Send(&me, 1, MPI_INT, 0, 1, made);
  return made;
}

/* Who has connected. */
static int accept_one(MPI_Comm* made) {
  int who = -1;
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, made);
  MPI_Recv(&who, 1, MPI_INT, 0, 1, *made, MPI_STATUS_IGNORE);
  return who;
}

/* Rank 0 accepts all others; it may show who they are, or count on rank 1 to be the last one. */
static void accept_all(int counts, int shows) {
  MPI_Comm made;
  share_port();
  if (me > 0) {
    made = connect();
    MPI_Comm_disconnect(&made);
    return;
  }
  for (int i = 1; i < all; ++i) {
    const int who = accept_one(&made);
    if (shows) printf("%d", who);
    if (counts && (who == 1) != (i == all - 1)) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_disconnect(&made);
  }
  if (shows) printf("\n");
  MPI_Close_port(port);
}

/* Rank 0 waits for a message of rank 1 while only rank 2 is accepted, if that one has come
 * first. */
static void wait_for_the_first(void) {
  MPI_Comm made;
  int token = 0;
  share_port();
  if (me > 0) {
    if (me == 1) MPI_Send(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    made = connect();
    if (me == 2) MPI_Recv(&token, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&made);
    if (me == 1) MPI_Send(&token, 1, MPI_INT, 2, 8, MPI_COMM_WORLD);
    return;
  }
  MPI_Recv(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 1; i < all; ++i) {
    accept_one(&made);
    MPI_Comm_disconnect(&made);
  }
}

/* Half of the ranks accept once each, half connect. */
static void several_accept(void) {
  MPI_Comm made;
  share_port();
  if (me < all / 2)
    accept_one(&made);
  else
    made = connect();
  MPI_Comm_disconnect(&made);
}

/* Pairs of ranks with a port each, in any order: it makes no difference. */
static void own_ports(void) {
  MPI_Comm made;
  if (me % 2 == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, me + 1, 0, MPI_COMM_WORLD);
    accept_one(&made);
    MPI_Close_port(port);
  } else {
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, me - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    made = connect();
  }
  MPI_Comm_disconnect(&made);
}

/* Groups of two ranks connect with group 0. */
static void groups(void) {
  MPI_Comm mine, made;
  int who = me / 2;
  MPI_Comm_split(MPI_COMM_WORLD, who, me, &mine);
  share_port();
  for (int i = me < 2 ? all / 2 - 1 : 1; i > 0; --i) {
    if (me < 2)
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, mine, &made);
    else
      MPI_Comm_connect(port, MPI_INFO_NULL, 0, mine, &made);
    if (me >= 2) MPI_Send(&who, 1, MPI_INT, me % 2, 1, made);
    if (me < 2) MPI_Recv(&who, 1, MPI_INT, me, 1, made, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&made);
  }
  MPI_Comm_free(&mine);
}

/* One more connects than is accepted. */
static void closed(void) {
  MPI_Comm made = MPI_COMM_NULL;
  int error = MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  share_port();
  if (me == 0) {
    for (int i = 2; i < all; ++i) {
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
      MPI_Comm_disconnect(&made);
    }
    MPI_Close_port(port);
    return;
  }
  error = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
  if (error == MPI_SUCCESS) MPI_Comm_disconnect(&made);
}

/* Rank 1 looks until rank 0 has published; rank 2 looks once. */
static void names(void) {
  MPI_Comm made;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (me == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("explored", MPI_INFO_NULL, port);
    accept_one(&made);
    MPI_Comm_disconnect(&made);
  } else if (me == 1) {
    while (MPI_Lookup_name("explored", MPI_INFO_NULL, port) != MPI_SUCCESS) {
    }
    made = connect();
    MPI_Comm_disconnect(&made);
  } else {
    MPI_Lookup_name("explored", MPI_INFO_NULL, port);
  }
}

/* Spawned ranks: each sends to its parent, which receives from any; or they connect back to a port
 * of rank 0. */
static void be_child(const char* what, MPI_Comm parents) {
  int mine;
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  if (!strcmp(what, "spawn_one")) MPI_Send(&mine, 1, MPI_INT, 0, 2, parents);
  if (!strcmp(what, "spawn_back")) {
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 3, parents, MPI_STATUS_IGNORE);
    MPI_Recv(&me, 1, MPI_INT, 0, 3, parents, MPI_STATUS_IGNORE);
    MPI_Comm made = connect();
    MPI_Comm_disconnect(&made);
  }
  MPI_Comm_disconnect(&parents);
}

static MPI_Comm spawn(char* program, const char* what, int count, MPI_Comm of) {
  MPI_Comm children;
  char* arguments[] = {(char*)what, NULL};
  MPI_Comm_spawn(program, arguments, count, MPI_INFO_NULL, 0, of, &children, MPI_ERRCODES_IGNORE);
  return children;
}

static void spawn_one(char* program) {
  int who, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm children = spawn(program, "spawn_one", 3, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < 3; ++i)
    MPI_Recv(&who, 1, MPI_INT, MPI_ANY_SOURCE, 2, children, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&children);
}

/* Each rank but 0 spawns one; these connect with rank 0. */
static void spawn_back(char* program) {
  MPI_Comm made;
  share_port();
  if (me > 0) {
    made = spawn(program, "spawn_back", 1, MPI_COMM_SELF);
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 3, made);
    MPI_Send(&me, 1, MPI_INT, 0, 3, made);
    MPI_Comm_disconnect(&made);
    return;
  }
  for (int i = 1; i < all; ++i) {
    printf("%d", accept_one(&made));
    MPI_Comm_disconnect(&made);
  }
  printf("\n");
}

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  MPI_Comm parents;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  MPI_Comm_get_parent(&parents);
  if (parents != MPI_COMM_NULL) {
    be_child(which, parents);
  } else {
    if (!strcmp(which, "accept")) accept_all(0, 0);
    if (!strcmp(which, "accept_shown")) accept_all(0, 1);
    if (!strcmp(which, "accept_counted")) accept_all(1, 0);
    if (!strcmp(which, "wait_for_the_first")) wait_for_the_first();
    if (!strcmp(which, "several_accept")) several_accept();
    if (!strcmp(which, "own_ports")) own_ports();
    if (!strcmp(which, "groups")) groups();
    if (!strcmp(which, "closed")) closed();
    if (!strcmp(which, "names")) names();
    if (!strcmp(which, "spawn_one")) spawn_one(argv[0]);
    if (!strcmp(which, "spawn_back")) spawn_back(argv[0]);
    if (!strcmp(which, "spawn_self")) {
      MPI_Comm children = spawn(argv[0], "", 1, MPI_COMM_SELF);
      MPI_Comm_disconnect(&children);
    }
  }
  MPI_Finalize();
  return 0;
}
