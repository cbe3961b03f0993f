// FGMPI_TRACK: the choice of what is recorded.
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

enum class RecordedCalls : uint8_t { kLocal, kGlobal, kNone };
enum class Keys : uint8_t { kAuto, kBroadcast, kContext };

struct Settings {
  std::string folder;              ///< FGMPI_TRACK_DIR
  std::string wrong;               ///< why the text was refused; reported in MPI_Init
  std::vector<std::string> calls;  ///< patterns; "-pattern" excludes; empty: all
  uint64_t first = ~uint64_t{0};   ///< events of a rank
  /// Ranges of ranks that record events; empty: see `sample`.
  std::vector<std::pair<int32_t, int32_t>> ranks;
  int32_t sample = 10000;   ///< about so many ranks record events where `ranks` is empty
  size_t buffer = 1 << 20;  ///< the largest chunk of a rank, in bytes
  RecordedCalls record = RecordedCalls::kLocal;
  Keys keys = Keys::kAuto;
  bool short_way = true;           ///< read groups from the library's encoded maps, if it has them
  bool report = false;             ///< print a line about the unification
  bool otf2 = true, json = false;  ///< the files to write at the end

  /// Is this function among those that `calls` selects?
  bool is_call_recorded(std::string_view name) const;
  /// Refuses ranges that begin beyond the last rank of a job of `size` ranks.
  Status check_ranks(int32_t size) const;
  /// Does this rank of `size` ranks record events?
  bool is_rank_recorded(int32_t rank, int32_t size) const;
};

/// Reads the text of FGMPI_TRACK. Errors name the clause, its value and what is allowed.
Status parse_settings(std::string_view text, Settings* out);

}  // namespace fgmpi::track
