// Runs lock-free code of the library under many interleavings and reorderings, and finds orders of
// atomics that are too weak for a processor other than the one that runs the tests.
//
// The code itself is what runs: it is compiled with -fsanitize=thread, which makes a call of every
// access to memory, and model.cc has these calls in place of the sanitizer's library. The threads
// of a scenario are coroutines on one thread of the system. At each atomic operation the model
// chooses at random which thread goes on, and which of the values that C++ allows a load returns:
//
//   location   all values that were stored, oldest first, each with what its store has published
//   thread     the oldest value of each location that it may still read, and a vector clock
//
// A release store publishes what its thread knows; an acquire load of that value learns it; fences
// and sequentially consistent operations pass knowledge as C++20 says (section 33.5.4). Plain
// accesses of two threads of which neither happens before the other are a data race. membarrier()
// is a fence in every thread. futex() sleeps without a time limit, so that a lost wake-up is a
// deadlock. Not modelled: loads that take values of later stores, stores that overtake others of
// the same location, and the end of a time limit.
//
// A test explores a scenario, which must not fail. Then it explores it again and again, each time
// with the order of one operation taken away: then it must fail, or the order is not needed here.
//
// Thread rule: one thread of the system. Nothing that a scenario's threads call may allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace fgmpi::model {

/// One execution of the code under test. Its members are shared by the threads.
class Scenario {
 public:
  virtual ~Scenario() = default;
  /// The threads. The first of them may not run first.
  virtual std::vector<std::function<void()>> threads() = 0;
  /// Called when all threads have ended: fail() where the result is wrong.
  virtual void check() {}
};

/// An operation whose order is taken away, "word store": the location's name, and load, store,
/// change, fence or membarrier.
using Operation = std::string;

struct Exploration {
  std::string failure;  ///< of the first execution that failed; empty: none did
  /// The operations that have asked for an order.
  std::set<Operation> ordered;
};

/// Runs `executions` executions, or fewer where one fails. `weakened`: the operation that has no
/// order; empty: none.
Exploration explore(const std::function<std::unique_ptr<Scenario>()>& make, int executions,
                    const Operation& weakened = {});

/// Explores the scenario as it is, and then without each order. Returns what is wrong: a failure,
/// or an order of which nothing shows that it is needed. `not_needed`: operations of which this is
/// known.
std::string judge(const std::function<std::unique_ptr<Scenario>()>& make, int executions,
                  const std::set<Operation>& not_needed = {});

/// Names the location at `atomic`. Called by constructors of scenarios.
void name(const volatile void* atomic, const char* name);
/// Ends the execution as failed.
[[noreturn]] void fail(const std::string& why);
/// Lets the model choose another thread: for loops that wait.
void step();

}  // namespace fgmpi::model
