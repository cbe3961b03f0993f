// Counters: what the library counts about itself, in one table (counters.def).
//
// The module that counts owns its counters, where counting costs least, and offers them by
// provide(). MPIX_Stats reads them here. The table has what the performance variables of the MPI
// tool interface need (MPI-4.0 section 15.3.7): name, unit, class, binding and description.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>

namespace fgmpi::counters {

enum class CounterScope : uint8_t { kProcess, kCommunicator };

enum class CounterKind : uint8_t {
  kCounter,        ///< only grows
  kLevel,          ///< grows and shrinks
  kHighWaterMark,  ///< the most that a level has been
};

struct CounterRecord {
  const char* name;
  const char* unit;
  CounterScope scope;
  CounterKind kind;
  const char* text;  ///< what it counts, in one line of Markdown
};

enum CounterId : uint8_t {
#define FGMPI_COUNTER(id, name, unit, scope, kind, text) id,
#include "base/counters.def"
#undef FGMPI_COUNTER
  kCount
};

#define FGMPI_ALGORITHM(...) +1
inline constexpr int kAlgorithms =
#include "base/algorithms.def"
    ;
/// Runs of each algorithm, of the process and of communicators, in the order of algorithms.def.
/// These counters are the last ones of the table.
inline constexpr int kFirstCommRuns = kCount - kAlgorithms;
inline constexpr int kFirstRuns = kFirstCommRuns - kAlgorithms;

inline constexpr CounterRecord kRecords[kCount] = {
#define FGMPI_COUNTER(id, name, unit, scope, kind, text) \
  {name, unit, CounterScope::scope, CounterKind::kind, text},
#include "base/counters.def"
#undef FGMPI_COUNTER
};

/// Reads a counter of `object`: a comm::Comm for those of a communicator, else nullptr.
using Reader = uint64_t (*)(const void* object);

/// Turns on and off a counter that only counts while it is wanted.
struct Switch {
  /// Adds a user of the counter of `object`. Returns the argument for stop(), which is valid also
  /// when the object is gone by then.
  const void* (*start)(const void* object) = nullptr;
  void (*stop)(const void* started) = nullptr;
};

/// Called once for each counter, by initialisers of static objects of the module that counts.
void provide(CounterId id, Reader reader, Switch on_demand = {});

/// Its pointers are null where the counter always counts.
Switch switch_of(CounterId id);

/// The counter's value since the process started; 0 where its module is not part of the program.
uint64_t read(CounterId id, const void* object = nullptr);

}  // namespace fgmpi::counters
