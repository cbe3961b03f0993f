// The deadlock report: who waits for what, of one process or of all of them.
//
// Encoding between processes (all numbers little-endian; text: a length of 4 bytes and the bytes):
//
//   | ranks 8 | past limit 8 |
//   | calls 4 | count 8, name text | ...
//   | edges 4 | from 8, to 8 | ...
//   | lines 4 | call text, line text | ...
//
// Names of communicators and calls are the program's data and may hold any bytes. On the wire they
// have lengths; on the screen every character that is not printable is escaped.
// A rank has a number that is the same in all processes: its world rank, and above it, where it was
// spawned as a proclet, the short name of its group:
//
//   | 0 | short name 31 | rank in its MPI_COMM_WORLD 32 |
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fgmpi::pt2pt {

struct Report {
  static constexpr size_t kMostLines = 20;    ///< that are shown; the others are counted by call
  static constexpr size_t kMostEdges = 4096;  ///< of a process that are searched for a cycle

  uint64_t ranks = 0;  ///< how many ranks wait
  /// Messages that only FGMPI_UNEXPECTED_LIMIT keeps from being taken in (buffer_limit.h).
  uint64_t past_limit = 0;
  std::vector<std::pair<std::string, std::string>> lines;  ///< call, line
  std::map<std::string, uint64_t> calls;                   ///< how many ranks wait in each call
  std::map<int64_t, int64_t> edges;  ///< from a waiting rank to the rank that it waits for

  /// `group`: 0 for the job's own ranks.
  static int64_t name(uint32_t group, uint32_t rank) {
    return static_cast<int64_t>(group & 0x7fffffffu) << 32 | rank;
  }
  static std::string words(int64_t name);

  std::vector<uint8_t> to_bytes() const;
  /// Adds another process's report. False when the bytes are no report; then nothing is added.
  bool add_bytes(const void* bytes, size_t size);
  /// The words for the user, with a cycle if there is one; each line begins with "fgmpi: ".
  std::string to_text() const;
};

}  // namespace fgmpi::pt2pt
