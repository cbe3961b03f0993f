// The info keys that communicators support, and what they set.

#include "comm/hints.h"

#include <algorithm>

#include "comm/info.h"

namespace fgmpi::comm {
bool is_supported_hint(const std::string& key) {
  constexpr const char* kKnown[] = {
      "mpi_assert_no_any_tag",         "mpi_assert_no_any_source", "mpi_assert_exact_length",
      "mpi_assert_allow_overtaking",   "mpi_hw_resource_type",     "fgmpi_groupmap",
      "fgmpi_system_ranked_algorithm", "fgmpi_system_ranked_k",    "fgmpi_system_ranked_filler"};
  return std::any_of(std::begin(kKnown), std::end(kKnown), [&](const char* k) { return key == k; });
}

Status read_info(MPI_Info info, Hints* all) {
  return info == MPI_INFO_NULL ? Status() : entries_of_info(info, all);
}

Status read_info_key(MPI_Info info, const char* key, std::string* value) {
  value->clear();
  bool found = false;
  return info == MPI_INFO_NULL ? Status() : find_in_info(info, key, value, &found);
}

Status read_hints(MPI_Info info, Hints* hints) {
  Hints all;
  FGMPI_TRY(read_info(info, &all));
  for (auto& [key, value] : all) {
    if (!is_supported_hint(key)) continue;
    if (key == "fgmpi_groupmap") {
      groupmap::Strategy strategy;
      Status status = groupmap::parse_strategy(value, &strategy);
      if (!status.ok())
        return error(MPI_ERR_INFO_VALUE, "info key fgmpi_groupmap: %s", status.what().c_str());
    }
    put_hint(hints, {key, value});
  }
  return {};
}

void put_hint(Hints* hints, std::pair<std::string, std::string> hint) {
  auto it = std::find_if(hints->begin(), hints->end(),
                         [&](const auto& h) { return h.first == hint.first; });
  if (it == hints->end())
    hints->push_back(std::move(hint));
  else
    it->second = std::move(hint.second);
}

std::optional<groupmap::Strategy> strategy_of(const Hints& hints) {
  for (const auto& [key, value] : hints) {
    groupmap::Strategy strategy;
    if (key == "fgmpi_groupmap" && groupmap::parse_strategy(value, &strategy).ok()) return strategy;
  }
  return std::nullopt;
}

}  // namespace fgmpi::comm
