// State that C++ programs have beside plain globals: inline variables, static members of templates,
// initialisers that wait in MPI, thread_local objects with destructors, exceptions that are kept,
// nested, or thrown out of an error handler.
#include <any>
#include <cerrno>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>

#include "mpitest.h"

static int rank = -1, size;

static void together() { OK(MPI_Barrier(MPI_COMM_WORLD)); }
static std::string mine(const char* text) { return text + std::to_string(rank); }

inline int inline_number = 7;
inline std::string inline_text = "text";
template <class T>
struct Holder {
  static T value;
  static inline int count = 3;
  static thread_local int of_thread;
};
template <class T>
T Holder<T>::value{};
template <class T>
thread_local int Holder<T>::of_thread = 11;

static int destroyed;
struct OfThread {
  std::string text = "new";
  ~OfThread() {
    ++destroyed;
    if (text != mine("of ")) std::abort();
  }
};
static thread_local OfThread of_thread;
static struct AtEnd {
  ~AtEnd() {
    if (destroyed != 1) std::abort();
  }
} at_end;

static void variables() {
  of_thread.text = mine("of ");
  inline_number += rank;
  inline_text = mine("inline ");
  Holder<std::string>::value = mine("held ");
  Holder<int>::count += rank;
  Holder<long>::of_thread += rank;
  together();
  CHECK(inline_number == 7 + rank && inline_text == mine("inline "));
  CHECK(Holder<std::string>::value == mine("held ") && Holder<int>::count == 3 + rank);
  CHECK(Holder<long>::of_thread == 11 + rank && of_thread.text == mine("of "));
  static std::any any = rank;
  static std::mt19937 generator(static_cast<unsigned>(rank));
  auto number = generator();
  together();
  CHECK(std::any_cast<int>(any) == rank);
  CHECK(number == std::mt19937(static_cast<unsigned>(rank))());
}

struct Summing {
  int sum = 0;
  Summing() {
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    together();
  }
};

// Many ranks are within one initialiser at a time.
static void initialisers() {
  auto sum = [] {
    static Summing summing;
    return summing.sum;
  };
  CHECK(sum() == size * (size - 1) / 2);
  static std::once_flag once, failing;
  static int runs = 0;
  for (int i = 0; i < 3; ++i)
    std::call_once(once, [] {
      together();
      ++runs;
      together();
    });
  CHECK(runs == 1);
  int caught = 0;
  try {
    std::call_once(failing, [] {
      together();
      throw rank;
    });
  } catch (int value) {
    caught = value == rank;
  }
  CHECK(caught == 1);
}

static void nested(int depth) {
  try {
    if (depth == 0) throw std::runtime_error(mine("inner "));
    nested(depth - 1);
  } catch (const std::exception&) {
    together();
    try {
      throw std::logic_error(mine("logic "));
    } catch (const std::logic_error& e) {
      together();
      CHECK(e.what() == mine("logic "));
    }
    if (depth < 5) throw;
    std::throw_with_nested(std::runtime_error(mine("outer ")));
  }
}

static void exceptions() {
  std::exception_ptr kept;
  try {
    nested(5);
  } catch (const std::exception& e) {
    together();
    CHECK(e.what() == mine("outer "));
    try {
      std::rethrow_if_nested(e);
    } catch (const std::exception& inner) {
      kept = std::current_exception();
      together();
      CHECK(inner.what() == mine("inner "));
    }
  }
  for (int i = 0; i < 2; ++i) {
    try {
      together();
      std::rethrow_exception(kept);
    } catch (const std::runtime_error& e) {
      together();
      CHECK(e.what() == mine("inner "));
    }
  }
  struct Unwinding {
    ~Unwinding() {
      together();
      CHECK(std::uncaught_exceptions() == rank % 2);
    }
  };
  try {
    Unwinding unwinding;
    if (rank % 2) throw 1;
  } catch (int) {
  }
  CHECK(std::uncaught_exceptions() == 0);
  auto later = std::async(std::launch::deferred, [] {
    together();
    return rank;
  });
  auto thread = std::async(std::launch::async, [] {
    try {
      throw inline_number;
    } catch (int value) {
      return value;
    }
  });
  CHECK(later.get() == rank && thread.get() == 7 + rank);
}

static void throw_code(MPI_Comm*, int* code, ...) { throw *code; }

static void error_handler() {
  MPI_Errhandler handler;
  int code = 0, error_class = 0;
  OK(MPI_Comm_create_errhandler(throw_code, &handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  for (int i = 0; i < 3; ++i) {
    try {
      MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
      CHECK(false);
    } catch (int thrown) {
      code = thrown;
      together();
    }
    OK(MPI_Error_class(code, &error_class));
    CHECK(error_class == MPI_ERR_RANK);
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Errhandler_free(&handler));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  variables();
  initialisers();
  exceptions();
  error_handler();
  return finish();
}
