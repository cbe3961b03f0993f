// The environment: the only file that reads and writes it. Settings of this library (FGMPI_...) are
// in settings.h. Here are the variables of other software that the library reads, and those by
// which its own programs pass values on.
//
// Thread rule: that of getenv and setenv. Nothing here switches; only set() and
// put_first() allocate.
#pragma once

#include <cstdint>
#include <string>

namespace fgmpi::environment {

struct VariableRecord {
  const char* name;
  const char* owner;  ///< the software that sets it
  const char* text;   ///< what the library reads (or sets) it for
};

enum Variable : uint8_t {
#define FGMPI_VARIABLE(id, name, owner, text) id,
#include "base/environment.def"
#undef FGMPI_VARIABLE
  kCount
};

inline constexpr VariableRecord kRecords[kCount] = {
#define FGMPI_VARIABLE(id, name, owner, text) {name, owner, text},
#include "base/environment.def"
#undef FGMPI_VARIABLE
};

inline const char* name(Variable variable) { return kRecords[variable].name; }

/// Returns nullptr when the variable is unset; the text may be empty.
const char* raw(const char* name);
inline const char* raw(Variable variable) { return raw(name(variable)); }
/// Returns nullptr when the variable is unset or empty.
const char* text(const char* name);
inline const char* text(Variable variable) { return text(name(variable)); }

/// FGMPI_BALANCE: may ranks go from process to process of a host?
bool lets_ranks_move();
/// And do they go where there is less to do (`on`)?
bool balances_load();
/// And do they tell in the end what has moved (`on,summary`)?
bool sums_up_balance();

void set(const char* name, const char* value);
inline void set(Variable variable, const char* value) { set(name(variable), value); }
void unset(const char* name);
inline void unset(Variable variable) { unset(name(variable)); }
/// Puts `first` before the contents of a variable that is a list separated by colons.
void put_first(Variable variable, const std::string& first);

}  // namespace fgmpi::environment
