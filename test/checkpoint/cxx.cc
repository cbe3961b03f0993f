// A rank in C++ is saved while it handles an exception: the exception in flight, containers, strings,
// streams of files, static and thread-local objects with destructors, functions for exit().
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "checkpoint.h"

namespace {

int g_destroyed = 0;
struct Counted {
  std::string name;
  explicit Counted(std::string text) : name(std::move(text)) {}
  ~Counted() { ++g_destroyed; }
};
Counted g_static("static object of rank");
thread_local Counted t_counted("thread-local object of rank");

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};
struct Square : Shape {
  double side;
  explicit Square(double s) : side(s) {}
  double area() const override { return side * side; }
};

class Problem : public std::runtime_error {
 public:
  Problem(const std::string& what, int value) : std::runtime_error(what), value(value) {}
  int value;
};

void fails(int depth) {
  const Counted here("frame");
  if (depth == 0) throw Problem("problem of rank " + std::to_string(rank), 100 + rank);
  fails(depth - 1);
}

void at_exit() {
  if (rank == 0) std::cout << "at exit: " << g_static.name << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  std::atexit(at_exit);
  g_static.name += " " + std::to_string(rank);
  t_counted.name += " " + std::to_string(rank);
  std::map<std::string, std::vector<int>> table;
  for (int i = 0; i < 50; ++i) table["row " + std::to_string(i % 7)].push_back(i * rank);
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 5; ++i) shapes.push_back(std::make_unique<Square>(i + rank));
  const std::function<int(int)> add = [&](int x) { return x + static_cast<int>(table.size()); };
  const std::string path = "cxx." + std::to_string(rank) + ".txt";
  std::ofstream out(path);
  out << "before " << rank << '\n';
  std::ostringstream text;
  text << "text " << rank;
  bool caught = false;
  try {
    fails(4);
  } catch (const Problem& problem) {
    try {
      throw std::logic_error("inner");
    } catch (const std::logic_error& inner) {
      checkpoint();
      CHECK(std::string(inner.what()) == "inner");
    }
    caught =
        problem.value == 100 + rank && problem.what() == "problem of rank " + std::to_string(rank);
    try {
      throw;
    } catch (const std::runtime_error& again) {
      CHECK(&again == &problem);
    }
  }
  CHECK(caught && g_destroyed == 5 && std::uncaught_exceptions() == 0);
  int thrown = 0;
  for (int i = 0; i < 3; ++i) try {
      fails(2);
    } catch (const std::exception&) {
      ++thrown;
    }
  CHECK(thrown == 3);
  out << "behind " << rank << '\n';
  out.close();
  text << " goes on";
  CHECK(text.str() == "text " + std::to_string(rank) + " goes on");
  std::ifstream in(path);
  std::string first, second;
  std::getline(in, first);
  std::getline(in, second);
  CHECK(first == "before " + std::to_string(rank) && second == "behind " + std::to_string(rank));
  int sum = 0;
  for (const auto& [name, row] : table)
    for (const int value : row) sum += value;
  CHECK(sum == 49 * 50 / 2 * rank && add(3) == 10);
  for (int i = 0; i < 5; ++i) CHECK(shapes[i]->area() == (i + rank) * (i + rank));
  CHECK(g_static.name == "static object of rank " + std::to_string(rank));
  CHECK(t_counted.name == "thread-local object of rank " + std::to_string(rank));
  return finish();
}
