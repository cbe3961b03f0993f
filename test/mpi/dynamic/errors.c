/* Classes of errors of ports, connections and published names. */
#include <string.h>
#include <unistd.h>

#include "error_class.h"

#define FAILS(call, wanted)             \
  do {                                  \
    int code_ = (call);                 \
    CHECK(class_of(code_) == (wanted)); \
  } while (0)

static void ports(void) {
  char name[MPI_MAX_PORT_NAME], other[MPI_MAX_PORT_NAME];
  MPI_Comm inter = MPI_COMM_WORLD;
  FAILS(MPI_Close_port("nothing"), MPI_ERR_PORT);
  FAILS(MPI_Close_port(NULL), MPI_ERR_ARG);
  FAILS(MPI_Open_port(MPI_INFO_NULL, NULL), MPI_ERR_ARG);
  FAILS(MPI_Comm_accept("nothing", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  CHECK(inter == MPI_COMM_NULL);
  FAILS(MPI_Comm_connect("nothing", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  FAILS(MPI_Comm_connect(NULL, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_ARG);
  FAILS(MPI_Comm_connect("nothing", MPI_INFO_NULL, 1, MPI_COMM_SELF, &inter), MPI_ERR_ROOT);
  FAILS(MPI_Comm_accept("nothing", MPI_INFO_NULL, 0, MPI_COMM_NULL, &inter), MPI_ERR_COMM);
  OK(MPI_Open_port(MPI_INFO_NULL, name));
  OK(MPI_Open_port(MPI_INFO_NULL, other));
  CHECK(strcmp(name, other) != 0);
  OK(MPI_Close_port(name));
  FAILS(MPI_Close_port(name), MPI_ERR_PORT);
  FAILS(MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  /* A port that was closed refuses: its key is not known any more. */
  FAILS(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  /* The right port with another key. */
  strcpy(name, other);
  char* last = name + strlen(name) - 1;
  *last = *last == '0' ? '1' : '0';
  FAILS(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  FAILS(MPI_Close_port(name), MPI_ERR_PORT);
  /* Nobody accepts: MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT=1. */
  const double start = MPI_Wtime();
  FAILS(MPI_Comm_connect(other, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  CHECK(MPI_Wtime() - start > 0.9);
  OK(MPI_Close_port(other));
}

static void disconnects(void) {
  MPI_Comm comm = MPI_COMM_WORLD;
  FAILS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
  comm = MPI_COMM_NULL;
  FAILS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_disconnect(&comm));
  CHECK(comm == MPI_COMM_NULL);
  MPI_Comm inter;
  FAILS(MPI_Comm_join(-1, &inter), MPI_ERR_ARG);
  FAILS(MPI_Comm_join(0x7fff, &inter), MPI_ERR_ARG);
}

static void names(int rank) {
  char service[100], port[MPI_MAX_PORT_NAME];
  snprintf(service, sizeof service, "a service of %d, with\nany = character; %d", (int)getpid(),
           rank);
  FAILS(MPI_Lookup_name(service, MPI_INFO_NULL, port), MPI_ERR_NAME);
  FAILS(MPI_Unpublish_name(service, MPI_INFO_NULL, "x"), MPI_ERR_SERVICE);
  OK(MPI_Publish_name(service, MPI_INFO_NULL, "some port"));
  FAILS(MPI_Publish_name(service, MPI_INFO_NULL, "another"), MPI_ERR_SERVICE);
  OK(MPI_Lookup_name(service, MPI_INFO_NULL, port));
  CHECK(strcmp(port, "some port") == 0);
  OK(MPI_Unpublish_name(service, MPI_INFO_NULL, "some port"));
  FAILS(MPI_Lookup_name(service, MPI_INFO_NULL, port), MPI_ERR_NAME);
  FAILS(MPI_Lookup_name(NULL, MPI_INFO_NULL, port), MPI_ERR_ARG);
  FAILS(MPI_Publish_name(service, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
  OK(MPI_Publish_name(service, MPI_INFO_NULL, "left to the end of the process"));
}

int main(int argc, char** argv) {
  setenv("MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT", "1", 1);
  MPI_Init(&argc, &argv);
  int rank;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  ports();
  disconnects();
  names(rank);
  return finish();
}
