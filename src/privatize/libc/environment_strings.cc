// getenv() for ranks that may be saved.
#include "privatize/libc/environment_strings.h"

#include <unistd.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "privatize/image/copied_objects.h"
#include "privatize/image/images.h"
#include "privatize/image/slot_record.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/load/rank_heaps.h"

namespace fgmpi::privatize {
namespace {

bool g_keeps = false;

/// The value in "NAME=value", if that is of this name; else nullptr.
char* value_of(char* variable, std::string_view name) {
  const bool is_it =
      std::strncmp(variable, name.data(), name.size()) == 0 && variable[name.size()] == '=';
  return is_it ? variable + name.size() + 1 : nullptr;
}

/// The process's variable of this name, with its name; nullptr: there is none. Looks itself: the C
/// library's function need not be known yet when the first program asks.
char* find_variable(std::string_view name) {
  for (char** variable = environ; variable && *variable; ++variable)
    if (value_of(*variable, name)) return *variable;
  return nullptr;
}

/// The variable as a string of the rank's, made when the rank first asks for it with this value.
char* variable_of_rank(SlotRecord* record, char* variable) {
  for (char* known : record->variables)
    if (std::strcmp(known, variable) == 0) return known;
  const size_t bytes = std::strlen(variable) + 1;
  auto* made = static_cast<char*>(allocate_in_slot_of(record, bytes));
  if (!made) return variable;
  std::memcpy(made, variable, bytes);
  return record->variables.push_back(made) ? made : variable;
}

/// The running rank, where its code calls from this address and where it may be saved; else
/// nullptr. Libraries that all ranks share keep strings that outlive a rank.
SlotRecord* record_of_caller(const void* caller) {
  if (!g_keeps || !on_proclet() || !in_own_process()) return nullptr;
  const auto* image = static_cast<const Image*>(sched::running()->image);
  return image && rank_of_slot(caller) == image->index ? image->record : nullptr;
}

char* get_variable(const char* name, const void* caller) {
  char* variable = find_variable(name);
  if (!variable) return nullptr;
  SlotRecord* record = record_of_caller(caller);
  // setenv() of a rank has made one in a slot already, perhaps another rank's.
  return value_of(record ? variable_of_rank(record, variable) : variable, name);
}

}  // namespace

void keep_environment_strings() { g_keeps = true; }

void restore_environ(uint32_t index) {
  // Read once: the program's relocations are looked through for it.
  static const std::vector<CopiedObject> copies = [] {
    std::vector<CopiedObject> all = copied_objects(g_images.program());
    std::erase_if(all, [](const CopiedObject& object) {
      return object.name != "environ" && object.name != "__environ" && object.name != "_environ";
    });
    return all;
  }();
  for (const CopiedObject& object : copies) {
    auto** of_rank = reinterpret_cast<char***>(g_images.base_of(0, index) + object.offset);
    if (rank_of_slot(*of_rank) != index) *of_rank = environ;
  }
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE char* getenv(const char* name) noexcept {
  return get_variable(name, __builtin_return_address(0));
}
