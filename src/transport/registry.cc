// The transports in order, and which of them a process uses.

#include "transport/registry.h"

#include <algorithm>
#include <string>

#include "base/settings.h"
#include "base/split.h"
#include "base/strings.h"

// CMakeLists.txt makes transports.def: one line FGMPI_TRANSPORT(FOLDER) for each folder, or
// FGMPI_LACKING_TRANSPORT(FOLDER, LIBRARY) where the build leaves it out for want of a library.
#define FGMPI_LACKING_TRANSPORT(folder, library)
#define FGMPI_TRANSPORT(folder)           \
  namespace fgmpi::transport::folder {    \
  extern const Registration registration; \
  }
#include "transports.def"
#undef FGMPI_TRANSPORT

namespace fgmpi::transport {
namespace {

using List = std::vector<const Registration*>;

/// All registrations in the order of preference. The list is made at the first use: constructors of
/// libraries may have added registrations before.
List& registered() {
  static List list = [] {
    List all = {
#define FGMPI_TRANSPORT(folder) &folder::registration,
#include "transports.def"
#undef FGMPI_TRANSPORT
#undef FGMPI_LACKING_TRANSPORT
    };
    std::sort(all.begin(), all.end(),
              [](auto* a, auto* b) { return a->preference < b->preference; });
    return all;
  }();
  return list;
}

const Registration* find(std::string_view name) {
  for (const Registration* r : registered())
    if (r->name == name) return r;
  return nullptr;
}

/// Appends the transports that a comma-separated list names; false for an unknown name or one
/// named twice.
bool parse_list(std::string_view text, List* out) {
  for (std::string_view word : split(text, ',')) {
    const Registration* r = find(word);
    if (!r || std::find(out->begin(), out->end(), r) != out->end()) return false;
    out->push_back(r);
  }
  return out->size() <= kMostTransports;
}

std::string allowed_unless_good(std::string_view text) {
  List ignored;
  if (parse_list(text, &ignored)) return "";
  std::string names;
  for (const Registration* r : registered())
    names += (names.empty() ? "" : ",") + std::string(r->name);
  const std::string lacks = lacking();
  return format("a list of at most %zu different names out of %s%s", kMostTransports, names.c_str(),
                lacks.empty() ? "" : (" (" + lacks + ")").c_str());
}

/// The transports of this process, in the order of FGMPI_TRANSPORT.
List wanted() {
  List chosen;
  if (settings::is_set(settings::kTransport)) {
    parse_list(settings::text(settings::kTransport), &chosen);
  } else {
    chosen = registered();
    chosen.resize(std::min(chosen.size(), kMostTransports));
  }
  return chosen;
}

[[maybe_unused]] const bool g_check_set =
    (settings::set_check(settings::kTransport, allowed_unless_good), true);

}  // namespace

std::string lacking() {
  std::string text;
  [[maybe_unused]] auto append = [&](const char* name, const char* library) {
    text +=
        format("%sthis build has no %s, for want of %s", text.empty() ? "" : "; ", name, library);
  };
#define FGMPI_TRANSPORT(folder)
#define FGMPI_LACKING_TRANSPORT(folder, library) append(#folder, library);
#include "transports.def"
#undef FGMPI_LACKING_TRANSPORT
#undef FGMPI_TRANSPORT
  return text;
}

void add(const Registration& registration) {
  List& list = registered();
  auto later = std::find_if(list.begin(), list.end(), [&](auto* other) {
    return other->preference > registration.preference;
  });
  list.insert(later, &registration);
}

std::unique_ptr<Transport> make(std::string_view name) {
  const Registration* r = find(name);
  return r ? r->make() : nullptr;
}

std::string describe(const Transport& transport, const std::string& address) {
  const Registration* r = find(transport.name());
  return r ? r->describe(address) : transport.name();
}

std::vector<std::unique_ptr<Transport>> make_all() {
  std::vector<std::unique_ptr<Transport>> out;
  for (const Registration* r : wanted()) out.push_back(r->make());
  return out;
}

bool is_wanted(std::string_view name) {
  const List list = wanted();
  return std::any_of(list.begin(), list.end(), [&](auto* r) { return name == r->name; });
}

}  // namespace fgmpi::transport
