// What comes from outside, printed: clocks, random numbers, numbers of processes, standard input,
// files that change, folders.
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void print_clocks(int rank) {
  struct timespec real, steady;
  struct timeval day;
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_MONOTONIC, &steady);
  gettimeofday(&day, NULL);
  printf("%d: %ld.%09ld %ld.%09ld %ld.%06ld %ld %.9f %ld\n", rank, (long)real.tv_sec, real.tv_nsec,
         (long)steady.tv_sec, steady.tv_nsec, (long)day.tv_sec, (long)day.tv_usec, (long)time(NULL),
         MPI_Wtime(), (long)clock());
}

static void print_random(int rank) {
  unsigned a = 0, b = 0, c = 0;
  if (getrandom(&a, sizeof a, 0) != sizeof a || getentropy(&b, sizeof b) != 0) exit(3);
  int fd = open("/dev/urandom", O_RDONLY);
  if (read(fd, &c, sizeof c) != sizeof c) exit(3);
  close(fd);
  FILE* stream = fopen("/dev/urandom", "r");
  unsigned d = (unsigned)fgetc(stream);
  fclose(stream);
  srand((unsigned)time(NULL) + a);
  printf("%d: %u %u %u %u %d pid %d\n", rank, a, b, c, d, rand(), (int)getpid());
}

static void print_files(int rank) {
  DIR* folder = opendir(".");
  for (struct dirent* entry; (entry = readdir(folder));) {
    struct stat s;
    if (stat(entry->d_name, &s) == 0)
      printf("%d: %s %ld %ld.%09ld\n", rank, entry->d_name, (long)s.st_size, (long)s.st_mtim.tv_sec,
             s.st_mtim.tv_nsec);
  }
  closedir(folder);
  struct utsname name;
  uname(&name);
  char line[256] = "";
  FILE* status = fopen("/proc/self/stat", "r");
  if (!status || !fgets(line, sizeof line, status)) exit(3);
  fclose(status);
  printf("%d: %s %.60s\n", rank, name.nodename, line);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  print_clocks(rank);
  print_random(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) print_files(rank);
  if (rank == 0) {
    char line[256];
    while (fgets(line, sizeof line, stdin)) printf("input: %s", line);
  }
  if (argc > 1 && rank == 0) {
    char text[256] = "";
    FILE* file = fopen(argv[1], "r");
    if (!file || !fgets(text, sizeof text, file)) exit(3);
    printf("file: %s", text);
    fclose(file);
  }
  print_clocks(rank);
  MPI_Finalize();
  return 0;
}
