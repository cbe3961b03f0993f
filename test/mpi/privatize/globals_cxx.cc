// C++ globals: dynamic initialisation, function-local statics, thread_local objects, templates'
// statics, inline variables, virtual functions, destructors at the rank's own end, stream
// formatting.
#include <cstring>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <typeinfo>
#include <vector>

#include "mpitest.h"

namespace {

int constructed = 0;

struct Counted {
  int value;
  explicit Counted(int v) : value(v) { ++constructed; }
  ~Counted();
};

int my_rank = -1;
int destroyed = 0;

Counted first(10);
static std::map<std::string, int> table{{"one", 1}, {"two", 2}};
std::vector<std::string> words(3, "word");
thread_local std::string per_thread = "thread";
thread_local int plain_per_thread = 4;

Counted::~Counted() {
  ++destroyed;
  if (value != 10 + my_rank) {
    std::fprintf(stderr, "rank %d: a destructor sees the value %d\n", my_rank, value);
    std::abort();
  }
}

template <class T>
struct PerType {
  static inline int count = 0;
};

struct Base {
  virtual ~Base() = default;
  virtual int kind() const { return initial; }
  static int initial;
};
int Base::initial = 5;
struct Derived : Base {
  int kind() const override { return initial * 2; }
};
std::unique_ptr<Base> object = std::make_unique<Derived>();

std::vector<int>& local_static() {
  static std::vector<int> v{my_rank};
  return v;
}

void change(int rank) {
  first.value += rank;
  table["rank"] = rank;
  words.push_back(std::to_string(rank));
  per_thread += std::to_string(rank);
  plain_per_thread += rank;
  PerType<int>::count = rank;
  PerType<double>::count = -rank;
  Base::initial += rank;
  local_static().push_back(rank);
}

void verify(int rank) {
  CHECK(constructed == 1 && destroyed == 0);
  CHECK(first.value == 10 + rank);
  CHECK(table.size() == 3 && table["rank"] == rank && table["two"] == 2);
  CHECK(words.size() == 4 && words.back() == std::to_string(rank));
  CHECK(per_thread == "thread" + std::to_string(rank));
  CHECK(plain_per_thread == 4 + rank);
  CHECK(PerType<int>::count == rank && PerType<double>::count == -rank);
  CHECK(object->kind() == 2 * (5 + rank));
  CHECK(dynamic_cast<Derived*>(object.get()) != nullptr && typeid(*object) == typeid(Derived));
  CHECK((local_static() == std::vector<int>{rank, rank}));
  CHECK(std::cout.precision() == rank % 7 + 1);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &my_rank));
  CHECK(std::cout.precision() == 6);
  std::cout << std::setprecision(my_rank % 7 + 1);
  change(my_rank);
  for (int round = 0; round < 5; ++round) {
    verify(my_rank);
    int sum = 0, one = 1, size = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(sum == size);
  }
  return finish();
}
