// FGMPI_TRACK: what is recorded.
//
//   FGMPI_TRACK="calls:MPI_Bcast,MPI_I*;first:1000;ranks:0-99"      clauses are separated by ';'
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fgmpi::track {

enum class Record : uint8_t { kLocal, kGlobal, kNone };
enum class Keys : uint8_t { kAuto, kBroadcast, kContext };

struct Settings {
  std::string folder;                              ///< FGMPI_TRACK_DIR
  std::string wrong;                               ///< why the text was refused, told in MPI_Init
  std::vector<std::string> calls;                  ///< patterns; "-pattern" takes out; empty: all
  uint64_t first = ~uint64_t{0};                   ///< events a rank
  std::vector<std::pair<int32_t, int32_t>> ranks;  ///< ranges that record events; empty: `sample`
  int32_t sample = 10000;   ///< about so many ranks record events where no ranks are named
  size_t buffer = 1 << 20;  ///< most bytes of a rank's chunk
  Record record = Record::kLocal;
  Keys keys = Keys::kAuto;
  bool short_way = true;           ///< groups from the library's encoded maps where it has them
  bool report = false;             ///< a line about the unification
  bool otf2 = true, json = false;  ///< files written at the end

  /// Does this function pass `calls`?
  bool wants_call(std::string_view name) const;
  /// Refuses ranks that begin behind the last of a job of `size`.
  Status check_ranks(int32_t size) const;
  /// Does this rank of `size` record events?
  bool wants_rank(int32_t rank, int32_t size) const;
};

/// Reads the text of FGMPI_TRACK. Errors name the clause, its value and what is allowed.
Status parse_settings(std::string_view text, Settings* out);

}  // namespace fgmpi::track
