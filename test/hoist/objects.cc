// C++: exceptions, members, references, lambdas, templates, range loops, destructors.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "corpus.h"

namespace {

struct Guard {
  ~Guard() { add_int(++count); }
  static int count;
};
int Guard::count = 0;

void thrown_out_of_the_loop(MPI_Comm comm) {
  int buffer[8];
  try {
    for (int i = 0;; ++i) {
      fill(buffer, 8, 0, i);
      MPI_Bcast(buffer, 8, MPI_INT, 0, comm);  // hoist: must
      add_ints(buffer, 8);
      if (buffer[0] == 4000) throw std::runtime_error("enough");
    }
  } catch (const std::exception&) {
    add_int(1);
  }
}

void caught_in_the_loop(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    try {
      fill(buffer, 8, 0, i);
      MPI_Bcast(buffer, 8, MPI_INT, 0, comm);  // hoist: must
      add_ints(buffer, 8);
      if (buffer[0] % 2000) throw 5;
      add_int(3);
    } catch (int five) {
      add_int(five);
    }
  }
}

void cleaned_up(MPI_Comm comm) {
  int buffer[8];
  try {
    Guard outer;
    for (int i = 0;; ++i) {
      Guard inner;
      std::vector<int> some(4, i);
      fill(buffer, 8, 0, i);
      MPI_Bcast(buffer, 8, MPI_INT, 0, comm);  // hoist: must
      add_ints(buffer, 8);
      if (buffer[0] == 4000) throw some;
    }
  } catch (const std::vector<int>& some) {
    add_ints(some.data(), 4);
  }
}

void leaves_by_an_exception(MPI_Comm comm) {
  int buffer[8];
  for (int i = 0;; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm);  // hoist: must
    add_ints(buffer, 8);
    if (buffer[0] == 3000) throw buffer[1];
  }
}
void passed_on(MPI_Comm comm) {
  for (int i = 0; i < 40; ++i) try {
      leaves_by_an_exception(comm);
    } catch (int value) {
      add_int(value);
    }
}

void thrown_by_unknown() {
  int buffer[8];
  try {
    for (int i = 0;; ++i) {
      fill(buffer, 8, 0, i);
      MPI_Bcast(buffer, 8, MPI_INT, 0, MPI_COMM_WORLD);  // hoist: must
      add_ints(buffer, 8);
      unknown_callback(
          [](void* data) {
            if (*static_cast<int*>(data) == 4000) throw 1L;
          },
          buffer);
    }
  } catch (long) {
    add_int(2);
  }
}

class Solver {
 public:
  explicit Solver(MPI_Comm comm) : comm_(comm), data_(8) {}
  void members() {
    for (int i = 0; i < 5; ++i) {
      fill(data_.data(), 8, root_, i);
      MPI_Bcast(data_.data(), 8, MPI_INT, 0, comm_);  // hoist: must
      add_ints(data_.data(), 8);
    }
  }
  void count_of_a_member() {
    double sum = 0;
    for (int i = 0; i < 5; ++i) {
      int buffer[8];
      for (int& value : buffer) value = g_rank == 0 ? i : -1;
      MPI_Bcast(buffer, count_, MPI_INT, 0, comm_);  // hoist: may
      sum += buffer[2];
    }
    add_int(static_cast<int>(sum));
  }
  void member_changes() {
    for (int i = 0; i < 5; ++i) {
      root_ = i % g_size;
      fill(data_.data(), 8, root_, i);
      MPI_Bcast(data_.data(), 8, MPI_INT, root_, comm_);  // hoist: never
      add_ints(data_.data(), 8);
    }
    root_ = 0;
  }
  virtual void step() {}
  void with_virtual_call() {
    for (int i = 0; i < 5; ++i) {
      step();
      fill(data_.data(), 8, 0, i);
      MPI_Bcast(data_.data(), 8, MPI_INT, 0, comm_);  // hoist: may
      add_ints(data_.data(), 8);
    }
  }
  virtual ~Solver() = default;

 private:
  MPI_Comm comm_;
  int root_ = 0, count_ = 5;
  std::vector<int> data_;
};

void reference(const int& n, MPI_Comm& comm) {
  int buffer[8];
  for (int i = 0; i < 5; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm);  // hoist: must
    add_ints(buffer, 8);
  }
  for (int i = 0; i < 5; ++i) {
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, n, MPI_INT, 0, comm);  // hoist: may
    add_ints(buffer, n);
  }
}

void in_a_lambda(MPI_Comm comm) {
  auto rounds = [comm](int n) {
    int buffer[8];
    for (int i = 0; i < n; ++i) {
      fill(buffer, 8, 0, i);
      MPI_Bcast(buffer, 8, MPI_INT, 0, comm);  // hoist: may
      add_ints(buffer, 8);
    }
  };
  rounds(4);
  rounds(0);
}

void calls_a_function_object(MPI_Comm comm, const std::function<void()>& work) {
  int buffer[8];
  for (int i = 0; i < 5; ++i) {
    work();
    fill(buffer, 8, 0, i);
    MPI_Bcast(buffer, 8, MPI_INT, 0, comm);  // hoist: never
    add_ints(buffer, 8);
  }
}

template <class T>
void in_a_template(MPI_Comm comm, MPI_Datatype type) {
  T buffer[8];
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 8; ++k) buffer[k] = static_cast<T>(g_rank == 0 ? i + k : -1);
    MPI_Bcast(buffer, 8, type, 0, comm);  // hoist: must
    for (T value : buffer) add_int(static_cast<int>(value));
  }
}

void range_loop(MPI_Comm comm) {
  std::vector<int> rounds{3, 1, 4, 1, 5};
  std::vector<int> buffer(8);
  for (int round : rounds) {
    fill(buffer.data(), 8, 0, round);
    std::sort(buffer.begin(), buffer.end());
    MPI_Bcast(buffer.data(), 8, MPI_INT, 0, comm);  // hoist: must
    add_ints(buffer.data(), 8);
  }
}

void size_of_a_vector(MPI_Comm comm) {
  std::vector<int> buffer(8);
  for (int i = 0; i < 5; ++i) {
    fill(buffer.data(), 8, 0, i);
    MPI_Bcast(buffer.data(), static_cast<int>(buffer.size()), MPI_INT, 0, comm);  // hoist: may
    add_ints(buffer.data(), 8);
  }
}

void scatterv_of_vectors(MPI_Comm comm) {
  std::vector<int> counts(static_cast<size_t>(g_size), 2), displs(static_cast<size_t>(g_size));
  for (int r = 0; r < g_size; ++r) displs[static_cast<size_t>(r)] = 2 * (g_size - 1 - r);
  std::vector<int> all(static_cast<size_t>(2 * g_size)), mine(2);
  for (int i = 0; i < 5; ++i) {
    fill(all.data(), 2 * g_size, 0, i);
    MPI_Scatterv(all.data(), counts.data(), displs.data(), MPI_INT, mine.data(), 2, MPI_INT,
                 0,  // hoist: may
                 comm);
    add_ints(mine.data(), 2);
  }
}

void in_a_switch(MPI_Comm comm, int what) {
  int buffer[8];
  for (int i = 0; i < 6; ++i) {
    fill(buffer, 8, 0, i);
    switch ((i + what) % 3) {
      case 0:
        MPI_Bcast(buffer, 8, MPI_INT, 0, comm);
        break;  // hoist: must
      case 1:
        continue;
      default:
        MPI_Bcast(buffer, 4, MPI_INT, 0, comm);  // hoist: must
    }
    add_ints(buffer, 4);
    if (i == 5 && buffer[0] == 5000) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  thrown_out_of_the_loop(comm);
  caught_in_the_loop(comm);
  cleaned_up(comm);
  passed_on(comm);
  thrown_by_unknown();
  Solver solver(comm);
  solver.members();
  solver.count_of_a_member();
  solver.member_changes();
  solver.with_virtual_call();
  reference(6, comm);
  in_a_lambda(comm);
  calls_a_function_object(comm, [] { unknown_work(); });
  in_a_template<int>(comm, MPI_INT);
  in_a_template<double>(comm, MPI_DOUBLE);
  range_loop(comm);
  size_of_a_vector(comm);
  scatterv_of_vectors(comm);
  in_a_switch(comm, 0);
  in_a_switch(comm, 1);
  MPI_Comm_free(&comm);
  return end();
}
