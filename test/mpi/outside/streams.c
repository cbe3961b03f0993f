/* Ranks that read from streams, what their partner writes into the pipe or the socket piece by
 * piece. */
#define _GNU_SOURCE
#include "outside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int writer;

static void give(const char* text) {
  let_wait();
  usleep(500);
  CHECK(write(writer, text, strlen(text)) == (ssize_t)strlen(text));
}

static void write_pieces(void) {
  const char* pieces[] = {"a",  "b",   "fir", "st\nsec", "ond\n", "third;", "12 ",  "34",
                          "\n", "blo", "cks", "x\n",     "y",     "unloc",  "ked\n"};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; ++i) give(pieces[i]);
}

static void read_pieces(FILE* in) {
  char text[32];
  char* line = NULL;
  size_t room = 0;
  int a = 0, b = 0;
  CHECK(getc(in) == 'a');
  CHECK(getc_unlocked(in) == 'b');
  errno = 77;
  CHECK(fgets(text, sizeof text, in) == text && !strcmp(text, "first\n"));
  CHECK(errno == 77);
  CHECK(getline(&line, &room, in) == 7 && !strcmp(line, "second\n"));
  CHECK(getdelim(&line, &room, ';', in) == 6 && !strcmp(line, "third;"));
  CHECK(fscanf(in, "%d %d", &a, &b) == 2 && a == 12 && b == 34);
  CHECK(fgetc(in) == '\n');
  memset(text, 0, sizeof text);
  CHECK(fread(text, 1, 6, in) == 6 && !strcmp(text, "blocks"));
  flockfile(in); /* then the rank itself reads: the partner must not need it meanwhile */
  CHECK(getc_unlocked(in) == 'x');
  funlockfile(in);
  CHECK(getc(in) == '\n');
  CHECK(ungetc(getc(in), in) == 'y' && getc(in) == 'y');
  CHECK(fgets_unlocked(text, sizeof text, in) == text && !strcmp(text, "unlocked\n"));
  free(line);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  char mine[64], theirs[64];
  snprintf(mine, sizeof mine, "/tmp/fgmpi-outside-stream-%d-%d", (int)getpid(), me);
  if (partner >= 0) {
    MPI_Sendrecv(mine, sizeof mine, MPI_CHAR, partner, 1, theirs, sizeof theirs, MPI_CHAR, partner,
                 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me % 2) CHECK(mkfifo(mine, 0600) == 0);
    meet();
    if (me % 2) {
      FILE* in = fopen(mine, "r"); /* waits for the writer */
      CHECK(in);
      unlink(mine); /* nothing is left where the test is killed */
      read_pieces(in);
      fclose(in);
    } else {
      let_wait();
      writer = open(theirs, O_WRONLY);
      CHECK(writer >= 0);
      write_pieces();
      close(writer);
    }
  }
  /* Files are read as ever. */
  FILE* file = tmpfile();
  CHECK(file && fputs("one\ntwo\n", file) >= 0);
  rewind(file);
  char text[8];
  CHECK(fgets(text, sizeof text, file) && !strcmp(text, "one\n"));
  CHECK(fread(text, 1, sizeof text, file) == 4 && feof(file));
  fclose(file);
  return end();
}
