/* What depends on the order between ranks: tasks for whoever is free, polls, tests, requests of which any may be complete,
 * collectives that are late, and with an argument accesses to that file, whose real time differs. Each rank prints its clock, to
 * the last digit, after each step. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 12, ROOM = 200000 };
static int rank, size;
static char data[ROOM], in[64][4000];

static unsigned mixed(unsigned a, unsigned b) {
  unsigned x = a * 2654435761u + b * 40503u + 17;
  x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
  return x;
}

static void farm(int step) {
  MPI_Status status;
  if (rank == 0) {
    for (int done = 0; done < 3 * (size - 1); ++done) {
      MPI_Recv(data, ROOM, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
      MPI_Send(data, (int)(mixed((unsigned)done, (unsigned)step) % 20000), MPI_CHAR,
               status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
    return;
  }
  for (int i = 0; i < 3; ++i) {
    int there = 0;
    MPI_Send(data, (int)(mixed((unsigned)rank, (unsigned)i) % 9000), MPI_CHAR, 0, 1,
             MPI_COMM_WORLD);
    while (!there) MPI_Iprobe(0, 2, MPI_COMM_WORLD, &there, &status);
    MPI_Recv(data, ROOM, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &status);
  }
}

static void any_of_all(int step) {
  MPI_Request receives[64], sends[64], sum;
  double one = rank, all;
  const int bytes = (int)(mixed((unsigned)step, 3) % 4000);
  for (int i = 0; i < size; ++i)
    MPI_Irecv(in[i], 4000, MPI_CHAR, i, 3, MPI_COMM_WORLD, &receives[i]);
  for (int i = 0; i < size; ++i)
    MPI_Isend(data, bytes, MPI_CHAR, (rank * 7 + i) % size, 3, MPI_COMM_WORLD, &sends[i]);
  MPI_Iallreduce(&one, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &sum);
  for (int i = 0; i < size; ++i) {
    int which, done = 0;
    if (i % 2) MPI_Waitany(size, receives, &which, MPI_STATUS_IGNORE);
    while (i % 2 == 0 && !done) MPI_Testany(size, receives, &which, &done, MPI_STATUS_IGNORE);
    printf("%d: step %d: request %d at %a\n", rank, step, which, MPI_Wtime());
  }
  MPI_Waitall(size, sends, MPI_STATUSES_IGNORE);
  MPI_Wait(&sum, MPI_STATUS_IGNORE);
}

static void access_file(const char* name, int step) {
  MPI_File file;
  MPI_Request request;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_iwrite_at(file, (MPI_Offset)rank * ROOM, data, (int)(mixed((unsigned)rank, 5) % ROOM),
                     MPI_CHAR, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("%d: step %d: file %a\n", rank, step, MPI_Wtime());
  farm(step);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 0; argc > 1 && step < STEPS; ++step) access_file(argv[1], step);
  for (int step = 0; step < STEPS; ++step) {
    farm(step);
    printf("%d: step %d: farm %a\n", rank, step, MPI_Wtime());
    any_of_all(step);
    MPI_Bcast(data, (int)(mixed((unsigned)step, 9) % ROOM), MPI_CHAR, step % size, MPI_COMM_WORLD);
    printf("%d: step %d: bcast %a\n", rank, step, MPI_Wtime());
  }
  MPI_Finalize();
  return 0;
}
