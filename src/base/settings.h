// Settings: what a user may set by environment variables FGMPI_..., in one table (settings.def).
//
// All settings are parsed and checked together, at the start of the process, and do not change
// afterwards. load() does this; the first read of a setting calls it at the latest. A value that is
// not allowed is one error that names the variable, the value and what is allowed. An empty value
// counts as unset.
//
// The table has what the control variables of the MPI tool interface need (MPI-4.0 section 15.3.6):
// name, type, choices (an enumeration), description, scope and verbosity.
//
// Thread rule: load() by one thread, before there are others; the rest by any. Nothing here
// switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fgmpi::settings {

enum class SettingType : uint8_t {
  kNumber,  ///< a decimal integer from min to max
  kSize,    ///< bytes from min to max; suffixes k, m, g (powers of 1024)
  kSwitch,  ///< on or 1, off or 0
  kChoice,  ///< one of `choices`
  kText,
};

/// A section of docs/settings.md and, later, a category of the tool interface.
enum class Component : uint8_t {
  kJob,
  kRanks,
  kMessages,
  kTransports,
  kCollectives,
  kWindows,
  kFiles
};
inline constexpr size_t kComponents = 7;

/// Which processes must have the same value.
enum class Scope : uint8_t {
  kProcess,   ///< processes of a job may have different values
  kJob,       ///< all processes of a job must have the same value
  kLauncher,  ///< read by mpiexec or the compiler wrappers only
};

/// The users whom a setting is for (verbosity in the tool interface).
enum class SettingLevel : uint8_t { kUser, kTuner, kDeveloper };

struct SettingRecord {
  const char* name;
  Component component;
  SettingType type;
  const char* fallback = "";    ///< the default, as a user would write it; "": none, or computed
  const char* worked_out = "";  ///< without `fallback`: words for how the default is computed
  int64_t min = 0, max = 0;     ///< kNumber, kSize
  const char* choices = "";     ///< kChoice: separated by |; one that ends with # takes a number
  const char* unit = "";
  Scope scope = Scope::kProcess;
  SettingLevel level = SettingLevel::kUser;
  const char* text;  ///< what the setting does, in one line of Markdown
};

enum SettingId : uint8_t {
#define FGMPI_SETTING(id, ...) id,
#include "base/settings.def"
#undef FGMPI_SETTING
  kCount
};

// kAlgorithms_bcast is "|binomial|chain..." and so on: the algorithms that the setting of a
// collective may name, each behind a |.
#define FGMPI_NAME_kMessages(algorithm) "|" #algorithm
#define FGMPI_NAME_kMulticast(algorithm) "|" #algorithm
#define FGMPI_NAME_kBoard(algorithm) "|" #algorithm
#define FGMPI_NAME_kTree(algorithm)
#define FGMPI_COLLECTIVE(collective, ...) inline constexpr char kAlgorithms_##collective[] = ""
#define FGMPI_ALGORITHM(collective, algorithm, way, ...) FGMPI_NAME_##way(algorithm)
#define FGMPI_COLLECTIVE_END ;
#include "base/algorithms.def"
#undef FGMPI_NAME_kMessages
#undef FGMPI_NAME_kMulticast
#undef FGMPI_NAME_kBoard
#undef FGMPI_NAME_kTree

inline constexpr SettingRecord kRecords[kCount] = {
#define FGMPI_SETTING(id, ...) {__VA_ARGS__},
#include "base/settings.def"
#undef FGMPI_SETTING
};

enum class Source : uint8_t { kDefault, kEnvironment, kTool };

struct Value {
  std::string text;  ///< as the user has set it, else the fallback
  /// kNumber, kSize: the value; kSwitch: 0 or 1; kChoice: the number behind a choice with #.
  int64_t number = 0;
  int choice = -1;  ///< kChoice: index in `choices`; -1: unset, and there is no fallback
  Source source = Source::kDefault;
};

/// Parses all variables. The error (MPI_ERR_OTHER) is that of the first bad variable in the order
/// of the table.
Status load();
/// Like load(); a bad value ends the process with one line.
void load_or_end();
/// Sets one variable of this process after load(). Error: MPI_ERR_OTHER for a bad value; then
/// nothing has changed. REQUIRES: no code has used the setting's value yet.
Status set(SettingId id, const std::string& text);

namespace detail {
extern Value* g_values;  ///< of all settings, after load()
}

inline const Value& value(SettingId id) {
  if (__builtin_expect(!detail::g_values, 0)) load_or_end();
  return detail::g_values[id];
}
/// True when the user has set it; otherwise it has its default.
inline bool is_set(SettingId id) { return value(id).source != Source::kDefault; }
inline const std::string& text(SettingId id) { return value(id).text; }
inline int64_t number(SettingId id) { return value(id).number; }
inline size_t size(SettingId id) { return static_cast<size_t>(value(id).number); }
inline bool on(SettingId id) { return value(id).number != 0; }
/// For REQUIRES of choice(): is `choices` the same as in the table?
constexpr bool has_choices(SettingId id, std::string_view choices) {
  return choices == kRecords[id].choices;
}
/// The choice as an enumeration, whose enumerators are in the order of the table's `choices`.
template <class Enum>
Enum choice(SettingId id) {
  return static_cast<Enum>(value(id).choice);
}

/// A check for a kText setting whose allowed values a layer above defines. Returns words for what
/// is allowed when `text` is not allowed, else "". Set by initialisers of static objects, so that
/// it exists before load().
using Check = std::string (*)(std::string_view text);
void set_check(SettingId id, Check check);

/// Checks one value without setting it. Returns the error that load() would return; ok also for an
/// unknown name (mpiexec's -genv).
Status check(std::string_view name, const std::string& text);

/// Words for what is allowed: "a number from 0 to 1000000".
std::string allowed(const SettingRecord& record);
/// The choices of a setting: "fifo", "lifo", "random:#".
std::vector<std::string_view> choices(const SettingRecord& record);
/// Names of variables of the environment that begin with FGMPI_ and are no settings.
std::vector<std::string> unknown_variables();

/// For tests that change the environment: the next read of a setting parses anew.
void reload();

}  // namespace fgmpi::settings
