// What a reader of this process's memory (fgmpi-info -job) needs to name communicators: the names
// that members have given, by context id, and where members wait for each other. Exported as
// fgmpi_comm_table. Thread rule: one thread; the reader reads the memory without any lock.
#pragma once

#include <cstdint>
#include <string>

#include "comm/comm.h"

namespace fgmpi::comm {

struct Meeting;

/// A communicator that a member has named; owned by the member's Extras. `words` is the member's
/// own string.
struct ShownName {
  ShownName() = default;
  ShownName(const ShownName&) = delete;
  ShownName& operator=(const ShownName&) = delete;
  ~ShownName() { hide(); }
  /// Enters the name in the list; called again when the string is a new one.
  void show(ContextId of, const char* name);
  void hide();

  ShownName* next = nullptr;
  ShownName* previous = nullptr;
  uint64_t id = 0;
  const char* words = nullptr;  ///< nullptr: not in the list
};

/// Where a member waits for the others of its process.
struct MeetingSite : sched::WaitSite {
  static void describe_site(const sched::WaitSite* site, std::string* out);
  const Comm* comm;
  const Meeting* meeting;
};

struct CommTable {
  static constexpr uint64_t kVersion = 1;
  uint64_t version = kVersion;
  uint64_t comm_bytes = sizeof(Comm), shared_bytes = sizeof(SharedComm);
  void (*meeting)(const sched::WaitSite*, std::string*) = nullptr;  ///< MeetingSite::describe_site
  ShownName* first = nullptr;
};

}  // namespace fgmpi::comm

extern "C" __attribute__((visibility("default"))) fgmpi::comm::CommTable fgmpi_comm_table;
