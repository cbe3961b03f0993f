// Parsing and checking of all settings, in one pass over the environment at the start of the
// process.

#include "base/settings.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/assert.h"
#include "base/environment.h"
#include "base/error_line.h"
#include "base/split.h"
#include "base/strings.h"

namespace fgmpi::settings {
namespace detail {
constinit Value* g_values = nullptr;
}

namespace {

constinit Check g_checks[kCount] = {};

/// Words for a size: 65536 as "64k".
std::string size_text(int64_t bytes) {
  std::string suffix;
  for (const char* larger : {"k", "m", "g"}) {
    if (bytes == 0 || bytes % 1024 != 0) break;
    bytes /= 1024;
    suffix = larger;
  }
  return std::to_string(bytes) + suffix;
}

std::string range(const char* what, const std::string& min, const std::string& max, bool bounded) {
  if (!bounded) return format("%s of %s or more", what, min.c_str());
  return format("%s from %s to %s", what, min.c_str(), max.c_str());
}

/// Sets value->number when `text` is a number in the record's range.
bool parse_number(const SettingRecord& record, std::string_view text, Value* value) {
  auto number = record.type == SettingType::kSize ? parse_size(text) : parse_int(text);
  if (!number || *number < record.min || *number > record.max) return false;
  value->number = *number;
  return true;
}

bool parse_switch(std::string_view text, Value* value) {
  value->number = text == "on" || text == "1" || text == "yes";
  return value->number || text == "off" || text == "0" || text == "no";
}

bool parse_choice(const SettingRecord& record, std::string_view text, Value* value) {
  for (std::string_view choice : choices(record)) {
    ++value->choice;
    if (text == choice) return true;
    if (!choice.ends_with('#') || !text.starts_with(choice.substr(0, choice.size() - 1))) continue;
    auto number = parse_int(text.substr(choice.size() - 1));
    value->number = number.value_or(0);
    return number.has_value();
  }
  return false;
}

bool parse(const SettingRecord& record, const std::string& text, Value* value) {
  value->text = text;
  switch (record.type) {
    case SettingType::kNumber:
    case SettingType::kSize:
      return parse_number(record, text, value);
    case SettingType::kSwitch:
      return parse_switch(text, value);
    case SettingType::kChoice:
      return parse_choice(record, text, value);
    case SettingType::kText:
      return true;
  }
  return false;
}

Status refused(const SettingRecord& record, const std::string& text,
               const std::string& what_is_allowed) {
  return error(MPI_ERR_OTHER, "%s=%s: allowed is %s", record.name, text.c_str(),
               what_is_allowed.c_str());
}

Status parse_value(SettingId id, const std::string& text, Value* value) {
  const SettingRecord& record = kRecords[id];
  value->source = Source::kEnvironment;
  if (!parse(record, text, value)) return refused(record, text, allowed(record));
  const std::string otherwise = g_checks[id] ? g_checks[id](text) : "";
  return otherwise.empty() ? Status() : refused(record, text, otherwise);
}

}  // namespace

Status load() {
  auto* values = new Value[kCount];  // never freed: the program's last acts may read a setting
  for (int i = 0; i < kCount; ++i) {
    const SettingId id = static_cast<SettingId>(i);
    const SettingRecord& record = kRecords[id];
    const char* given = environment::text(record.name);
    Status status;
    if (given)
      status = parse_value(id, given, &values[i]);
    else if (*record.fallback)
      FGMPI_CHECK(parse(record, record.fallback, &values[i]));
    if (status.ok()) continue;
    delete[] values;
    return status;
  }
  delete[] std::exchange(detail::g_values, values);
  return {};
}

void load_or_end() {
  Status status = load();
  if (status.ok()) return;
  write_error_line(status.what());
  end_process(1);
}

Status set(SettingId id, const std::string& text) {
  Value value;
  FGMPI_TRY(parse_value(id, text, &value));
  value.source = Source::kTool;
  detail::g_values[id] = std::move(value);
  return {};
}

void set_check(SettingId id, Check check) { g_checks[id] = check; }

Status check(std::string_view name, const std::string& text) {
  Value ignored;
  for (int i = 0; i < kCount && !text.empty(); ++i)
    if (name == kRecords[i].name) return parse_value(static_cast<SettingId>(i), text, &ignored);
  return {};
}

std::string allowed(const SettingRecord& record) {
  switch (record.type) {
    case SettingType::kNumber:
      return range("a number", std::to_string(record.min), std::to_string(record.max),
                   record.max != INT64_MAX);
    case SettingType::kSize:
      return range("a size", size_text(record.min), size_text(record.max), record.max != INT64_MAX);
    case SettingType::kSwitch:
      return "on or off";
    case SettingType::kChoice:
      break;
    case SettingType::kText:
      return "any text";
  }
  std::string words;
  const auto all = choices(record);
  for (size_t i = 0; i < all.size(); ++i) {
    words += i == 0 ? "" : i + 1 < all.size() ? ", " : " or ";
    words += all[i].ends_with('#') ? std::string(all[i].substr(0, all[i].size() - 1)) + "NUMBER"
                                   : std::string(all[i]);
  }
  return words;
}

std::vector<std::string_view> choices(const SettingRecord& record) {
  if (!*record.choices) return {};
  return split(record.choices, '|');
}

std::vector<std::string> unknown_variables() {
  std::vector<std::string> out;
  for (char** each = environ; each && *each; ++each) {
    const std::string_view name(*each, std::strcspn(*each, "="));
    auto is_it = [&](const auto& record) { return name == record.name; };
    if (name.starts_with("FGMPI_") && std::none_of(kRecords, std::end(kRecords), is_it) &&
        std::none_of(environment::kRecords, std::end(environment::kRecords), is_it))
      out.emplace_back(name);
  }
  return out;
}

void reload() { delete[] std::exchange(detail::g_values, nullptr); }

}  // namespace fgmpi::settings
