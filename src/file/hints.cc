// The table of hints: which are known, their values and defaults.

#include "file/hints.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/environment.h"
#include "base/file_text.h"
#include "base/split.h"
#include "base/strings.h"
#include "file/aggregators.h"
#include "file/file.h"

namespace fgmpi::file {
namespace {

/// Stands for a hint that is no number.
constexpr int64_t kSieveBytes = 4 << 20;

enum class HintForm : uint8_t { kSize, kSwitch, kOctal, kTruth, kHosts, kStyle };
struct HintRow {
  const char* key;
  HintForm form;
  bool at_open;          ///< heeded by MPI_File_open alone
  const char* fallback;  ///< in use unless given; nullptr: then there is none
};
constexpr HintRow kHints[] = {
    {"cb_buffer_size", HintForm::kSize, false, "16777216"},
    {"cb_nodes", HintForm::kSize, true, nullptr},
    {"striping_unit", HintForm::kSize, true, nullptr},
    {"romio_cb_read", HintForm::kSwitch, false, "automatic"},
    {"romio_cb_write", HintForm::kSwitch, false, "automatic"},
    {"romio_ds_read", HintForm::kSwitch, false, "automatic"},
    {"romio_ds_write", HintForm::kSwitch, false, "automatic"},
    {"ind_rd_buffer_size", HintForm::kSize, false, "4194304"},
    {"ind_wr_buffer_size", HintForm::kSize, false, "524288"},
    {"romio_no_indep_rw", HintForm::kTruth, true, "false"},
    {"cb_config_list", HintForm::kHosts, true, nullptr},
    {"access_style", HintForm::kStyle, false, nullptr},
    {"file_perm", HintForm::kOctal, true, nullptr},
};

const HintRow* find_hint(const std::string& key) {
  for (const HintRow& k : kHints)
    if (key == k.key) return &k;
  return nullptr;
}

bool is_octal(const std::string& value) {
  return !value.empty() && value.size() <= 6 &&
         value.find_first_not_of("01234567") == std::string::npos;
}

/// The advice for posix_fadvise() that `access_style` means (MPI-4.0 section 14.2.8), a list of
/// words; nothing for words that are not the standard's.
std::optional<int> advice_of(const std::string& style) {
  constexpr std::pair<const char*, int> kStyles[] = {
      {"read_once", POSIX_FADV_NOREUSE},     {"write_once", POSIX_FADV_NOREUSE},
      {"read_mostly", POSIX_FADV_NORMAL},    {"write_mostly", POSIX_FADV_NORMAL},
      {"sequential", POSIX_FADV_SEQUENTIAL}, {"reverse_sequential", POSIX_FADV_RANDOM},
      {"random", POSIX_FADV_RANDOM}};
  int advice = POSIX_FADV_NORMAL;
  bool any = false;
  for (std::string_view left = style; !left.empty();) {
    const std::string_view word = split_word(&left, ',');
    auto known = std::find_if(std::begin(kStyles), std::end(kStyles),
                              [&](const auto& s) { return word == s.first; });
    if (known == std::end(kStyles)) return {};
    // The way in which the file is read ahead matters most.
    if (advice == POSIX_FADV_NORMAL || known->second != POSIX_FADV_NOREUSE) advice = known->second;
    any = true;
  }
  return any ? std::optional<int>(advice) : std::nullopt;
}

bool is_good(const HintRow& known, const std::string& value) {
  switch (known.form) {
    case HintForm::kSize: {
      const auto number = parse_int(value);
      return number && *number > 0;
    }
    case HintForm::kSwitch:
      return value == "enable" || value == "disable" || value == "automatic";
    case HintForm::kOctal:
      return is_octal(value);
    case HintForm::kTruth:
      return value == "true" || value == "false";
    case HintForm::kHosts:
      return is_config_list(value);
    case HintForm::kStyle:
      return advice_of(value).has_value();
  }
  return false;
}

const std::string* value_of(const comm::Hints& hints, const char* key) {
  for (const auto& [k, value] : hints)
    if (k == key) return &value;
  return nullptr;
}

/// Removes and returns the first word of a line, which blanks end.
std::string_view first_word(std::string_view* line) {
  constexpr const char* kBlanks = " \t\r\f\v";
  line->remove_prefix(std::min(line->find_first_not_of(kBlanks), line->size()));
  const std::string_view word = line->substr(0, line->find_first_of(kBlanks));
  line->remove_prefix(word.size());
  return word;
}

/// The lines of the file that ROMIO_HINTS names.
const comm::Hints& hints_of_environment() {
  static const auto* hints = [] {
    auto* read = new comm::Hints;
    const char* path = environment::text(environment::kRomioHints);
    if (!path) return read;
    const std::string text = text_of_file(path);
    for (std::string_view line : split(text, '\n')) {
      const std::string_view key = first_word(&line), value = first_word(&line);
      if (!value.empty() && key[0] != '#') read->emplace_back(key, value);
    }
    return read;
  }();
  return *hints;
}

}  // namespace

comm::Hints default_hints() {
  comm::Hints hints;
  for (const HintRow& k : kHints)
    if (k.fallback) hints.emplace_back(k.key, k.fallback);
  use_hints(hints_of_environment(), &hints, false);
  return hints;
}

void use_hints(const comm::Hints& given, comm::Hints* used, bool opened) {
  for (const auto& hint : given) {
    const HintRow* known = find_hint(hint.first);
    if (known && !(opened && known->at_open) && is_good(*known, hint.second))
      comm::put_hint(used, hint);
  }
}

int64_t octal(const comm::Hints& hints, const char* key, int64_t fallback) {
  const std::string* value = value_of(hints, key);
  return value && is_octal(*value) ? std::strtol(value->c_str(), nullptr, 8) : fallback;
}

int advice(const comm::Hints& hints) {
  const std::string* style = value_of(hints, "access_style");
  return style ? advice_of(*style).value_or(POSIX_FADV_NORMAL) : POSIX_FADV_NORMAL;
}

std::string text(const comm::Hints& hints, const char* key) {
  const std::string* value = value_of(hints, key);
  return value ? *value : "";
}

void print_hints_if_requested(const comm::Hints& hints) {
  if (!environment::raw(environment::kRomioPrintHints)) return;
  for (const auto& [key, value] : hints)
    std::printf("key = %-25s value = %-10s\n", key.c_str(), value.c_str());
  std::fflush(stdout);
}

int64_t SharedFile::sieve(bool write) const {
  if (!write) return is("romio_ds_read", "disable") ? 0 : number("ind_rd_buffer_size", kSieveBytes);
  // Sieving reads what is not written; no other rank may write that meanwhile.
  if (!(amode & MPI_MODE_RDWR) || is("romio_ds_write", "disable")) return 0;
  if (!is("romio_ds_write", "enable") && !short_pieces) return 0;
  return number("ind_wr_buffer_size", kSieveBytes);
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
