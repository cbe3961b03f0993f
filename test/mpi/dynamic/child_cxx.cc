// A child in C++, for other programs: global objects, exceptions, the standard library.
#include <unistd.h>

#include <map>
#include <stdexcept>
#include <string>

#include "child_of_others.h"

namespace {

struct Counted {
  Counted() { names["built"] = ++times; }
  ~Counted() {
    if (--times != 0) _exit(1);
  }
  std::map<std::string, int> names;
  int times = 0;
} counted;

int thrown() {
  try {
    throw std::runtime_error(std::to_string(counted.times));
  } catch (const std::exception& e) {
    return std::stoi(e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(counted.names.at("built") == 1 && thrown() == 1);
  return greet_parents(argc, argv);
}
