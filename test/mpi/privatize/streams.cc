// What a rank does to the standard streams is the rank's own: a file in their place, the format and
// buffer of C++'s, closing them.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

#include "mpitest.h"

static int rank;

static void together() { OK(MPI_Barrier(MPI_COMM_WORLD)); }

static std::string name_of(const char* kind) {
  return "streams." + std::to_string(getpid()) + "." + std::to_string(rank) + "." + kind;
}

static std::string contents(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(name).rdbuf();
  unlink(name.c_str());
  return text.str();
}

// std::cout writes to the rank's own buffer, with the rank's own format.
static void cxx_streams() {
  std::ostringstream own;
  std::streambuf* before = std::cout.rdbuf(own.rdbuf());
  std::cout << std::setfill(rank % 2 ? '*' : '0');
  together();
  std::cout << "rank " << std::setw(3) << rank % 10;
  together();
  std::cout << std::endl;
  together();
  std::cout.rdbuf(before);
  std::cout.fill(' ');
  CHECK(own.str() ==
        std::string("rank ") + (rank % 2 ? "**" : "00") + std::to_string(rank % 10) + "\n");
  std::ostream* tied = std::cin.tie(rank % 2 ? nullptr : &std::cout);
  together();
  CHECK(std::cin.tie() == (rank % 2 ? nullptr : &std::cout));
  std::cin.tie(tied);
}

static void redirect() {
  std::string out = name_of("out"), err = name_of("err"), more = name_of("more");
  CHECK(std::freopen(out.c_str(), "w", stdout) == stdout);
  CHECK(std::freopen(err.c_str(), "w", stderr) == stderr);
  together();
  for (int i = 0; i < 5; ++i) {
    std::printf("line %d", i);
    together();
    std::cout << " of " << rank << std::endl;
    std::fprintf(stderr, "error %d of %d\n", i, rank);
    together();
  }
  std::fflush(stdout);
  std::fflush(stderr);
  std::string lines, errors;
  for (int i = 0; i < 5; ++i) {
    lines += "line " + std::to_string(i) + " of " + std::to_string(rank) + "\n";
    errors += "error " + std::to_string(i) + " of " + std::to_string(rank) + "\n";
  }
  CHECK(contents(out) == lines);
  CHECK(contents(err) == errors);
  CHECK(std::freopen(more.c_str(), "a", stdout) == stdout);
  std::printf("appended by %d\n", rank);
  together();
  std::fflush(stdout);
  CHECK(contents(more) == "appended by " + std::to_string(rank) + "\n");
  CHECK(std::freopen("/dev/null", "w", stdout) == stdout);
}

// A buffer on the stack of a rank, which may end before others write: it is not used.
static void buffer_on_stack() {
  char buffer[4096];
  std::memset(buffer, 'x', sizeof buffer);
  CHECK(std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer) == 0);
  CHECK(std::setvbuf(stderr, buffer, _IOFBF, sizeof buffer) == 0);
  std::printf("printed by %d", rank);
  together();
  std::printf(" and ended\n");
  std::fprintf(stderr, "said by %d\n", rank);
  for (char c : buffer) CHECK(c == 'x');
  CHECK(std::setvbuf(stdout, nullptr, _IONBF, 0) == 0);
  std::printf("printed by %d", rank);
  together();
  std::printf(" without a buffer\n");
  CHECK(std::setvbuf(stdout, nullptr, _IOFBF, 0) == 0);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  cxx_streams();
  const char* in_process = std::getenv("FGMPI_NFG");
  if (in_process && std::atoi(in_process) > 1) buffer_on_stack();
  redirect();
  together();
  OK(MPI_Finalize());
  // As programs do that want to know whether all was written; the others' streams live on.
  std::fclose(stdin);
  return std::fclose(stdout) == 0 ? 0 : 1;
}
