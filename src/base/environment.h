// The environment: the one place that reads and writes it. The settings of this library (FGMPI_...)
// are in settings.h; here are the variables of others that it heeds, and those by which its own
// programs hand something on.
//
// Thread rule: as getenv's and setenv's. Nothing here switches or allocates, but set() and
// put_first().
#pragma once

#include <cstdint>
#include <string>

namespace fgmpi::environment {

struct Record {
  const char* name;
  const char* owner;  ///< who sets it
  const char* text;   ///< what it is read (or set) for here
};

enum Variable : uint8_t {
#define FGMPI_VARIABLE(id, name, owner, text) id,
#include "base/environment.def"
#undef FGMPI_VARIABLE
  kCount
};

inline constexpr Record kRecords[kCount] = {
#define FGMPI_VARIABLE(id, name, owner, text) {name, owner, text},
#include "base/environment.def"
#undef FGMPI_VARIABLE
};

inline const char* name(Variable variable) { return kRecords[variable].name; }

/// nullptr when unset; may be empty.
const char* raw(const char* name);
inline const char* raw(Variable variable) { return raw(name(variable)); }
/// nullptr when unset or empty.
const char* text(const char* name);
inline const char* text(Variable variable) { return text(name(variable)); }

void set(const char* name, const char* value);
inline void set(Variable variable, const char* value) { set(name(variable), value); }
void unset(const char* name);
inline void unset(Variable variable) { unset(name(variable)); }
/// Puts `first` before what a list separated by colons holds.
void put_first(Variable variable, const std::string& first);

}  // namespace fgmpi::environment
