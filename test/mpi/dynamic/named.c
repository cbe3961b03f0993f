/* Two jobs find each other by a published name:  named publish|lookup NAME */
#include <string.h>

#include "meeting.h"

int main(int argc, char** argv) {
  char port[MPI_MAX_PORT_NAME] = "";
  int rank, class = MPI_ERR_NAME;
  MPI_Init(&argc, &argv);
  CHECK(argc > 2);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  const int publishes = strcmp(argv[1], "publish") == 0;
  if (rank == 0 && publishes) {
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Publish_name(argv[2], MPI_INFO_NULL, port));
    OK(MPI_Error_class(MPI_Publish_name(argv[2], MPI_INFO_NULL, "another"), &class));
    CHECK(class == MPI_ERR_SERVICE);
  } else if (rank == 0) {
    for (int i = 0; i < 2000 && class == MPI_ERR_NAME; ++i) {
      if (i > 0) usleep(10000);
      OK(MPI_Error_class(MPI_Lookup_name(argv[2], MPI_INFO_NULL, port), &class));
    }
    CHECK(class == MPI_SUCCESS);
  }
  MPI_Comm inter = meet(publishes, port);
  OK(MPI_Barrier(inter));
  if (rank == 0 && publishes) {
    OK(MPI_Unpublish_name(argv[2], MPI_INFO_NULL, port));
    OK(MPI_Error_class(MPI_Lookup_name(argv[2], MPI_INFO_NULL, port), &class));
    CHECK(class == MPI_ERR_NAME);
  }
  OK(MPI_Comm_disconnect(&inter));
  return finish();
}
