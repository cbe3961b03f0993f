#include "transport/registry.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <string>

// transports.def has one line FGMPI_TRANSPORT(FOLDER) for each folder: made by CMakeLists.txt.
#define FGMPI_TRANSPORT(folder)           \
  namespace fgmpi::transport::folder {    \
  extern const Registration registration; \
  }
#include "transports.def"
#undef FGMPI_TRANSPORT

namespace fgmpi::transport {
namespace {

using List = std::vector<const Registration*>;

/// In the order of preference. Made at the first use: registrations may be added by constructors
/// of libraries.
List& registered() {
  static List list = [] {
    List all = {
#define FGMPI_TRANSPORT(folder) &folder::registration,
#include "transports.def"
#undef FGMPI_TRANSPORT
    };
    std::sort(all.begin(), all.end(),
              [](auto* a, auto* b) { return a->preference < b->preference; });
    return all;
  }();
  return list;
}

std::string names(size_t most) {
  std::string text;
  for (const Registration* r : registered())
    if (most-- > 0)
      text += (text.empty() ? "" : ",") + std::string(r->name);
    else
      break;
  return text;
}

}  // namespace

void add(const Registration& registration) {
  List& list = registered();
  auto later = std::find_if(list.begin(), list.end(), [&](auto* other) {
    return other->preference > registration.preference;
  });
  list.insert(later, &registration);
}

std::unique_ptr<Transport> make(std::string_view name) {
  for (const Registration* r : registered())
    if (r->name == name) return r->make();
  return nullptr;
}

std::string describe(const Transport& transport, const std::string& address) {
  for (const Registration* r : registered())
    if (r->name == transport.name()) return r->describe(address);
  return transport.name();
}

Status make_all(std::vector<std::unique_ptr<Transport>>* out) {
  const char* text = std::getenv("FGMPI_TRANSPORT");
  const std::string setting = text && *text ? text : names(kMostTransports);
  for (std::string_view rest = setting;;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    const bool again = std::any_of(out->begin(), out->end(),
                                   [&](const auto& made) { return word == made->name(); });
    auto made = again || out->size() == kMostTransports ? nullptr : make(word);
    if (!made)
      return error(MPI_ERR_OTHER,
                   "FGMPI_TRANSPORT=%s: allowed is a list of at most %zu different names out of %s",
                   setting.c_str(), kMostTransports, names(SIZE_MAX).c_str());
    out->push_back(std::move(made));
    if (word.size() == rest.size()) return {};
    rest.remove_prefix(word.size() + 1);
  }
}

}  // namespace fgmpi::transport
