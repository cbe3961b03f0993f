#include "file/hints.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/environment.h"
#include "base/strings.h"
#include "file/file.h"

namespace fgmpi::file {
namespace {

enum class Form : uint8_t { kSize, kSwitch, kOctal };
struct Known {
  const char* key;
  Form form;
  bool at_open;          ///< heeded by MPI_File_open alone
  const char* fallback;  ///< in use unless given; nullptr: then there is none
};
constexpr Known kKnown[] = {
    {"cb_buffer_size", Form::kSize, false, "16777216"},
    {"cb_nodes", Form::kSize, true, nullptr},
    {"striping_unit", Form::kSize, true, nullptr},
    {"romio_cb_read", Form::kSwitch, false, "automatic"},
    {"romio_cb_write", Form::kSwitch, false, "automatic"},
    {"romio_ds_read", Form::kSwitch, false, "automatic"},
    {"ind_rd_buffer_size", Form::kSize, false, "4194304"},
    {"file_perm", Form::kOctal, true, nullptr},
};

const Known* find_known(const std::string& key) {
  for (const Known& k : kKnown)
    if (key == k.key) return &k;
  return nullptr;
}

bool is_octal(const std::string& value) {
  return !value.empty() && value.size() <= 6 &&
         value.find_first_not_of("01234567") == std::string::npos;
}

bool is_good(const Known& known, const std::string& value) {
  switch (known.form) {
    case Form::kSize: {
      const auto number = parse_int(value);
      return number && *number > 0;
    }
    case Form::kSwitch:
      return value == "enable" || value == "disable" || value == "automatic";
    case Form::kOctal:
      return is_octal(value);
  }
  return false;
}

const std::string* value_of(const comm::Hints& hints, const char* key) {
  for (const auto& [k, value] : hints)
    if (k == key) return &value;
  return nullptr;
}

/// The lines of the file that ROMIO_HINTS names.
const comm::Hints& hints_of_environment() {
  static const auto* hints = [] {
    auto* read = new comm::Hints;
    const char* path = environment::text(environment::kRomioHints);
    if (!path) return read;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string key, value;
      if (words >> key >> value && key[0] != '#') read->emplace_back(key, value);
    }
    return read;
  }();
  return *hints;
}

}  // namespace

comm::Hints default_hints() {
  comm::Hints hints;
  for (const Known& k : kKnown)
    if (k.fallback) hints.emplace_back(k.key, k.fallback);
  use_hints(hints_of_environment(), &hints, false);
  return hints;
}

void use_hints(const comm::Hints& given, comm::Hints* used, bool opened) {
  for (const auto& hint : given) {
    const Known* known = find_known(hint.first);
    if (known && !(opened && known->at_open) && is_good(*known, hint.second))
      comm::put_hint(used, hint);
  }
}

int64_t octal(const comm::Hints& hints, const char* key, int64_t fallback) {
  const std::string* value = value_of(hints, key);
  return value && is_octal(*value) ? std::strtol(value->c_str(), nullptr, 8) : fallback;
}

int64_t SharedFile::number(const char* key, int64_t fallback) const {
  const std::string* value = value_of(hints, key);
  return value ? parse_int(*value).value_or(fallback) : fallback;
}

bool SharedFile::is(const char* key, const char* value) const {
  const std::string* has = value_of(hints, key);
  return has && *has == value;
}

void write_hints(const comm::Hints& hints, Bytes* out) {
  append(out, static_cast<uint32_t>(hints.size()));
  for (const auto& [key, value] : hints) {
    append_text(out, key);
    append_text(out, value);
  }
}

comm::Hints read_hints(FieldReader* in) {
  comm::Hints hints;
  const auto count = in->get<uint32_t>();
  for (uint32_t i = 0; i < count && !in->failed(); ++i) {
    std::string key(in->get_text());
    hints.emplace_back(std::move(key), std::string(in->get_text()));
  }
  return hints;
}

}  // namespace fgmpi::file
