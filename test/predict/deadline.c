/* A rank that polls until a message comes ("poll"), until a message or a time has come ("timeout"), that looks at the clock
 * alone ("clock", for 100 s: "long"), that writes a file ("file"), that waits for a child ("child"), or that sleeps between its
 * polls ("sleep"), for a message that comes after 100 s. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, there = 0, polls = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double begin = MPI_Wtime();
  const int sleeps = argc > 1 && !strcmp(argv[1], "sleep");
  if (rank == 1 && argc > 1 && !strcmp(argv[1], "child") && system("sleep 0.2")) return 1;
  if (argc > 1 && !strcmp(argv[1], "file")) {
    static char data[1000000];
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, rank * 1000000, data, 1000000, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  }
  if (rank == 1 && argc > 1 && !strcmp(argv[1], "long")) {
    int looks = 0;
    while (MPI_Wtime() - begin < 100) ++looks;
    printf("%d looks, %.0f s\n", looks, MPI_Wtime() - begin);
  }
  if (rank == 1) {
    for (int i = 0; i < 100 && sleeps; ++i) usleep(1000000);
    while (MPI_Wtime() - begin < 1e-4 && argc > 1 && !strcmp(argv[1], "clock")) {
    }
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    while (!there && !(argc > 1 && !strcmp(argv[1], "child"))) {
      MPI_Iprobe(1, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
      if (!there && sleeps) usleep(100), ++polls;
      if (argc > 1 && !strcmp(argv[1], "timeout") && MPI_Wtime() - begin > 1) break;
    }
    if (sleeps) printf("%d polls, %.4f s\n", polls, MPI_Wtime() - begin);
    MPI_Recv(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
