#include "comm/hints.h"

#include <algorithm>

#include "host/host.h"

namespace fgmpi::comm {
namespace {

Status host_status(int code, const char* what) {
  if (code == MPI_SUCCESS) return {};
  return error(MPI_ERR_INFO, "%s is not a valid info object", what);
}

}  // namespace

bool known_hint(const std::string& key) {
  constexpr const char* kKnown[] = {
      "mpi_assert_no_any_tag",         "mpi_assert_no_any_source", "mpi_assert_exact_length",
      "mpi_assert_allow_overtaking",   "mpi_hw_resource_type",     "fgmpi_groupmap",
      "fgmpi_system_ranked_algorithm", "fgmpi_system_ranked_k",    "fgmpi_system_ranked_filler"};
  return std::any_of(std::begin(kKnown), std::end(kKnown), [&](const char* k) { return key == k; });
}

Status read_info(MPI_Info info, Hints* all) {
  if (info == MPI_INFO_NULL) return {};
  int count = 0;
  FGMPI_TRY(host_status(
      host::call([&](const host::Api& h) { return h.Info_get_nkeys(info, &count); }), "info"));
  for (int i = 0; i < count; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    int code = host::call([&](const host::Api& h) { return h.Info_get_nthkey(info, i, key); });
    FGMPI_TRY(host_status(code, "info"));
    std::string value;
    FGMPI_TRY(read_info_key(info, key, &value));
    all->emplace_back(key, value);
  }
  return {};
}

Status read_info_key(MPI_Info info, const char* key, std::string* value) {
  value->clear();
  if (info == MPI_INFO_NULL) return {};
  int length = 0, flag = 0;
  int code = host::call(
      [&](const host::Api& h) { return h.Info_get_valuelen(info, key, &length, &flag); });
  FGMPI_TRY(host_status(code, "info"));
  if (!flag) return {};
  std::string buffer(static_cast<size_t>(length) + 1, '\0');
  code = host::call(
      [&](const host::Api& h) { return h.Info_get(info, key, length, buffer.data(), &flag); });
  FGMPI_TRY(host_status(code, "info"));
  *value = buffer.c_str();
  return {};
}

Status read_hints(MPI_Info info, Hints* hints) {
  Hints all;
  FGMPI_TRY(read_info(info, &all));
  for (auto& [key, value] : all) {
    if (!known_hint(key)) continue;
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

Status make_info(const Hints& hints, MPI_Info* info) {
  FGMPI_TRY(host_status(host::call([&](const host::Api& h) { return h.Info_create(info); }),
                        "a new info"));
  for (const auto& [key, value] : hints)
    host::call([&](const host::Api& h) { return h.Info_set(*info, key.c_str(), value.c_str()); });
  return {};
}

std::optional<groupmap::Strategy> strategy_of(const Hints& hints) {
  for (const auto& [key, value] : hints) {
    groupmap::Strategy strategy;
    if (key == "fgmpi_groupmap" && groupmap::parse_strategy(value, &strategy).ok()) return strategy;
  }
  return std::nullopt;
}

}  // namespace fgmpi::comm
