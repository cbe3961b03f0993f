// Settings: what a user may set by environment variables FGMPI_..., in one table (settings.def).
//
// All are parsed and checked together, at the start of the process (load(), called by the first
// look at any of them at the latest), and do not change afterwards. A value that is not allowed is
// one error that names the variable, the value and what is allowed. An empty value counts as unset.
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

enum class Type : uint8_t {
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

/// Who must agree on a value.
enum class Scope : uint8_t {
  kProcess,   ///< processes of a job may have different ones
  kJob,       ///< all processes must have the same
  kLauncher,  ///< read by mpiexec or the compiler wrappers only
};

/// Whom a setting is for (verbosity in the tool interface).
enum class Level : uint8_t { kUser, kTuner, kDeveloper };

struct Record {
  const char* name;
  Component component;
  Type type;
  const char* fallback = "";    ///< the default, as a user would write it; "": none, or worked out
  const char* worked_out = "";  ///< without `fallback`: where the default comes from, in words
  int64_t min = 0, max = 0;     ///< kNumber, kSize
  const char* choices = "";     ///< kChoice: separated by |; one that ends with # takes a number
  const char* unit = "";
  Scope scope = Scope::kProcess;
  Level level = Level::kUser;
  const char* text;  ///< what it does, in one line of Markdown
};

enum Id : uint8_t {
#define FGMPI_SETTING(id, ...) id,
#include "base/settings.def"
#undef FGMPI_SETTING
  kCount
};

inline constexpr Record kRecords[kCount] = {
#define FGMPI_SETTING(id, ...) {__VA_ARGS__},
#include "base/settings.def"
#undef FGMPI_SETTING
};

enum class Source : uint8_t { kDefault, kEnvironment, kTool };

struct Value {
  std::string text;  ///< as set, else the fallback
  /// kNumber, kSize: the value; kSwitch: 0 or 1; kChoice: the number behind a choice with #.
  int64_t number = 0;
  int choice = -1;  ///< kChoice: index in `choices`; -1: unset, and there is no fallback
  Source source = Source::kDefault;
};

/// Parses all variables. The error (MPI_ERR_OTHER) is about the first bad one in the order of the
/// table.
Status load();
/// The same; a bad value ends the process with one line.
void load_or_end();
/// Sets one variable of this process after load(). REQUIRES: nobody has made anything of its value
/// yet. Errors: MPI_ERR_OTHER for a bad value; then nothing has changed.
Status set(Id id, const std::string& text);

namespace detail {
extern Value* g_values;  ///< of all settings, once loaded
}

inline const Value& value(Id id) {
  if (__builtin_expect(!detail::g_values, 0)) load_or_end();
  return detail::g_values[id];
}
/// Did the user set it? Otherwise it has its default.
inline bool is_set(Id id) { return value(id).source != Source::kDefault; }
inline const std::string& text(Id id) { return value(id).text; }
inline int64_t number(Id id) { return value(id).number; }
inline size_t size(Id id) { return static_cast<size_t>(value(id).number); }
inline bool on(Id id) { return value(id).number != 0; }
/// REQUIRES of choice(): is `choices` that of the table?
constexpr bool has_choices(Id id, std::string_view choices) {
  return choices == kRecords[id].choices;
}
/// A choice as an enumeration whose enumerators are in the order of the table's `choices`.
template <class Enum>
Enum choice(Id id) {
  return static_cast<Enum>(value(id).choice);
}

/// For a kText whose allowed values a module above knows: what is allowed, in words, when `text` is
/// not, else "". Set by initialisers of static objects, so that it is there before load().
using Check = std::string (*)(std::string_view text);
void set_check(Id id, Check check);

/// Checks one value without setting it: the error of load(), or good also for an unknown name
/// (mpiexec's -genv).
Status check(std::string_view name, const std::string& text);

/// What is allowed, in words: "a number from 0 to 1000000".
std::string allowed(const Record& record);
/// "fifo", "lifo", "random:#".
std::vector<std::string_view> choices(const Record& record);
/// Names of variables of the environment that begin with FGMPI_ and are not known here.
std::vector<std::string> unknown_variables();

/// For tests that change the environment: the next look at a setting parses anew.
void reload();

}  // namespace fgmpi::settings
