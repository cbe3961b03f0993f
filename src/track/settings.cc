// The parser of FGMPI_TRACK.

#include "track/settings.h"

#include <fnmatch.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/split.h"
#include "base/strings.h"
#include "track/track_calls.h"

namespace fgmpi::track {
namespace {

/// Calls part(text) for each nonempty piece between separators.
Status for_each_part(std::string_view text, char separator,
                     const std::function<Status(std::string_view)>& part) {
  for (std::string_view each : split(text, separator))
    if (!each.empty()) FGMPI_TRY(part(each));
  return {};
}

Status bad(std::string_view name, std::string_view value, const char* allowed) {
  return error(MPI_ERR_ARG, "FGMPI_TRACK: %.*s:%.*s: allowed is %s", static_cast<int>(name.size()),
               name.data(), static_cast<int>(value.size()), value.data(), allowed);
}

/// As for_each_part() with commas, but refuses an empty list.
Status for_each_of_list(std::string_view name, std::string_view value, const char* allowed,
                        const std::function<Status(std::string_view)>& part) {
  if (value.find_first_not_of(',') == value.npos) return bad(name, value, allowed);
  return for_each_part(value, ',', part);
}

constexpr const char* kAllowedCalls =
    "a list of functions that are recorded and patterns of such: MPI_Bcast,MPI_I*,-MPI_Test*";
constexpr const char* kAllowedRanks = "a list of world ranks and ranges: 0-99,200";
constexpr const char* kAllowedFiles = "a list of raw, otf2, json";

Status read_call(std::string_view call, Settings* out) {
  const std::string pattern(call.substr(call[0] == '-'));
  if (std::none_of(std::begin(kCallNames), std::end(kCallNames),
                   [&](const char* name) { return fnmatch(pattern.c_str(), name, 0) == 0; }))
    return bad("calls", call, kAllowedCalls);
  out->calls.emplace_back(call);
  return {};
}

Status read_range(std::string_view value, Settings* out) {
  const size_t dash = value.find('-');
  auto low = parse_int(value.substr(0, dash));
  auto high = dash == value.npos ? low : parse_int(value.substr(dash + 1));
  if (!low || !high || *low < 0 || *high < *low || *high > 0x7fffffff)
    return bad("ranks", value, kAllowedRanks);
  out->ranks.emplace_back(static_cast<int32_t>(*low), static_cast<int32_t>(*high));
  return {};
}

Status read_files(std::string_view value, Settings* out) {
  out->otf2 = out->json = false;
  return for_each_of_list("files", value, kAllowedFiles, [&](std::string_view file) -> Status {
    if (file == "otf2")
      out->otf2 = true;
    else if (file == "json")
      out->json = true;
    else if (file != "raw")
      return bad("files", file, kAllowedFiles);
    return {};
  });
}

Status read_clause(std::string_view clause, Settings* out) {
  const size_t colon = std::min(clause.find(':'), clause.size());
  const std::string_view name = clause.substr(0, colon);
  const std::string_view value = clause.substr(std::min(colon + 1, clause.size()));
  if (name == "calls")
    return for_each_of_list(name, value, kAllowedCalls,
                            [&](std::string_view call) { return read_call(call, out); });
  if (name == "ranks")
    return for_each_of_list(name, value, kAllowedRanks,
                            [&](std::string_view r) { return read_range(r, out); });
  if (name == "files") return read_files(value, out);
  if (name == "first" || name == "sample") {
    auto number = parse_int(value);
    if (!number || *number < (name == "sample") || *number > 0x7fffffff)
      return bad(name, value, name == "sample" ? "1 to 2147483647" : "0 to 2147483647");
    if (name == "first")
      out->first = static_cast<uint64_t>(*number);
    else
      out->sample = static_cast<int32_t>(*number);
    return {};
  }
  if (name == "buffer") {
    auto bytes = parse_size(value);
    if (!bytes || *bytes < 4096 || *bytes > (1 << 30)) return bad(name, value, "4k to 1g");
    out->buffer = static_cast<size_t>(*bytes);
    return {};
  }
  if (name == "record") {
    if (value != "local" && value != "global" && value != "none")
      return bad(name, value, "local, global or none");
    out->record = value == "local"    ? RecordedCalls::kLocal
                  : value == "global" ? RecordedCalls::kGlobal
                                      : RecordedCalls::kNone;
    return {};
  }
  if (name == "keys") {
    if (value != "auto" && value != "broadcast" && value != "context")
      return bad(name, value, "auto, broadcast or context");
    out->keys = value == "auto"        ? Keys::kAuto
                : value == "broadcast" ? Keys::kBroadcast
                                       : Keys::kContext;
    return {};
  }
  if (name == "report") {
    if (value != "on" && value != "off") return bad(name, value, "on or off");
    out->report = value == "on";
    return {};
  }
  if (name == "groups") {
    if (value != "maps" && value != "gather") return bad(name, value, "maps or gather");
    out->short_way = value == "maps";
    return {};
  }
  return error(MPI_ERR_ARG,
               "FGMPI_TRACK: %.*s: allowed are calls, first, ranks, sample, buffer, record, keys, "
               "groups, report and files",
               static_cast<int>(clause.size()), clause.data());
}

}  // namespace

bool Settings::is_call_recorded(std::string_view name) const {
  const std::string text(name);
  bool any_named = false, in = false, out = false;
  for (const std::string& pattern : calls) {
    if (pattern[0] == '-') {
      out |= fnmatch(pattern.c_str() + 1, text.c_str(), 0) == 0;
    } else {
      any_named = true;
      in |= fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    }
  }
  return (in || !any_named) && !out;
}

bool Settings::is_rank_recorded(int32_t rank, int32_t size) const {
  if (record == RecordedCalls::kNone) return false;
  if (!ranks.empty())
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](const auto& r) { return rank >= r.first && rank <= r.second; });
  const int32_t step = std::max(1, size / sample + (size % sample != 0));
  return rank % step == 0;
}

Status Settings::check_ranks(int32_t size) const {
  for (const auto& [first, last] : ranks)
    if (first >= size)
      return error(MPI_ERR_ARG, "FGMPI_TRACK: ranks: %d is no rank of this job; allowed is 0 to %d",
                   first, size - 1);
  return {};
}

Status parse_settings(std::string_view text, Settings* out) {
  std::set<std::string_view> seen;
  return for_each_part(text, ';', [&](std::string_view clause) -> Status {
    const std::string_view name = clause.substr(0, clause.find(':'));
    if (!seen.insert(name).second)
      return error(MPI_ERR_ARG, "FGMPI_TRACK: %.*s: a second time; allowed is each clause once",
                   static_cast<int>(clause.size()), clause.data());
    return read_clause(clause, out);
  });
}

}  // namespace fgmpi::track
