#include "transport/registry.h"

#include <mpi.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace fgmpi::transport {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Transport> (*make)();
};

/// In the order of preference.
constexpr Entry kEntries[] = {
    {"shm", make_shm},
#ifdef FGMPI_HAVE_OFI
    {"ofi", make_ofi},
#endif
};

std::string allowed() {
  std::string list;
  for (const Entry& entry : kEntries) list += (list.empty() ? "" : ",") + std::string(entry.name);
  return list;
}

}  // namespace

Status make_all(std::vector<std::unique_ptr<Transport>>* out) {
  const char* text = std::getenv("FGMPI_TRANSPORT");
  std::string setting = text && *text ? text : allowed();
  std::string_view rest = setting;
  while (true) {
    std::string_view word = rest.substr(0, rest.find(','));
    bool found = false;
    for (const auto& made : *out)
      if (word == made->name()) word = "";  // named twice
    for (const Entry& entry : kEntries) {
      if (word != entry.name) continue;
      out->push_back(entry.make());
      found = true;
    }
    if (!found)
      return error(MPI_ERR_OTHER,
                   "FGMPI_TRANSPORT=%s: allowed is a list of different names out of %s",
                   setting.c_str(), allowed().c_str());
    if (word.size() == rest.size()) return {};
    rest.remove_prefix(word.size() + 1);
  }
}

}  // namespace fgmpi::transport
