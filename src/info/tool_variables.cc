// The text of fgmpi-info -t, printed by a process that has loaded the library.

#include "info/tool_variables.h"

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/environment.h"
#include "base/strings.h"
#include "launcher/mpiexec/paths.h"

namespace fgmpi::tools {
namespace {

/// A function of the library in this process, found by name: this program is not linked with it.
#define FGMPI_OF_LIBRARY(name) reinterpret_cast<decltype(&name)>(dlsym(RTLD_DEFAULT, #name))

struct VariableText {
  char bytes[4096];
  int length = sizeof bytes;
};

const char* class_name(int var_class) {
  constexpr const char* kNames[] = {"state",         "level",        "size",    "percentage",
                                    "highwatermark", "lowwatermark", "counter", "aggregate",
                                    "timer",         "generic"};
  const int at = var_class - MPI_T_PVAR_CLASS_STATE;
  return at >= 0 && at < static_cast<int>(std::size(kNames)) ? kNames[at] : "?";
}

/// Formats a value of one of the types that the tools interface allows.
std::string words_of(MPI_Datatype type, const char* bytes, int count) {
  auto number = [&]<class T>(T) {
    std::string words;
    for (int i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, bytes + static_cast<size_t>(i) * sizeof value, sizeof value);
      if constexpr (std::is_floating_point_v<T>)
        words += format("%s%g", i ? " " : "", value);
      else
        words += (i ? " " : "") + std::to_string(value);
    }
    return words;
  };
  switch (type) {
    case MPI_CHAR:
      return std::string(bytes, strnlen(bytes, static_cast<size_t>(count)));
    case MPI_INT:
      return number(int{});
    case MPI_UNSIGNED:
      return number(unsigned{});
    case MPI_UNSIGNED_LONG:
      return number(0ul);
    case MPI_UNSIGNED_LONG_LONG:
      return number(0ull);
    case MPI_COUNT:
      return number(MPI_Count{});
    case MPI_DOUBLE:
      return number(double{});
  }
  return "?";
}

/// The name of the item of an enumeration whose value these bytes hold.
std::string item_of(MPI_T_enum items, const char* bytes) {
  auto* get_info = FGMPI_OF_LIBRARY(MPI_T_enum_get_info);
  auto* get_item = FGMPI_OF_LIBRARY(MPI_T_enum_get_item);
  int number = 0, value, mine;
  std::memcpy(&mine, bytes, sizeof mine);
  get_info(items, &number, nullptr, nullptr);
  for (int i = 0; i < number; ++i) {
    VariableText name;
    if (get_item(items, i, &value, name.bytes, &name.length) == MPI_SUCCESS && value == mine)
      return name.bytes;
  }
  return std::to_string(mine);
}

void print_control_variables() {
  int number = 0;
  FGMPI_OF_LIBRARY(MPI_T_cvar_get_num)(&number);
  std::printf("Control variables: %d\n", number);
  for (int i = 0; i < number; ++i) {
    VariableText name, text;
    int verbosity, bind, scope, count;
    MPI_Datatype type;
    MPI_T_enum items;
    MPI_T_cvar_handle handle;
    if (FGMPI_OF_LIBRARY(MPI_T_cvar_get_info)(i, name.bytes, &name.length, &verbosity, &type,
                                              &items, text.bytes, &text.length, &bind, &scope))
      continue;
    std::string value = "(of an object)";
    if (bind == MPI_T_BIND_NO_OBJECT &&
        FGMPI_OF_LIBRARY(MPI_T_cvar_handle_alloc)(i, nullptr, &handle, &count) == MPI_SUCCESS) {
      std::vector<char> bytes(static_cast<size_t>(count) * sizeof(double) + 4096);
      FGMPI_OF_LIBRARY(MPI_T_cvar_read)(handle, bytes.data());
      value = type == MPI_INT && items != MPI_T_ENUM_NULL ? item_of(items, bytes.data())
                                                          : words_of(type, bytes.data(), count);
      FGMPI_OF_LIBRARY(MPI_T_cvar_handle_free)(&handle);
    }
    std::printf("  %-44s %s\n", name.bytes, value.empty() ? "(empty)" : value.c_str());
  }
}

void print_performance_variables() {
  int number = 0;
  FGMPI_OF_LIBRARY(MPI_T_pvar_get_num)(&number);
  std::printf("Performance variables: %d\n", number);
  for (int i = 0; i < number; ++i) {
    VariableText name, text;
    int verbosity, var_class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum items;
    if (FGMPI_OF_LIBRARY(MPI_T_pvar_get_info)(i, name.bytes, &name.length, &verbosity, &var_class,
                                              &type, &items, text.bytes, &text.length, &bind,
                                              &readonly, &continuous, &atomic) == MPI_SUCCESS)
      std::printf("  %-32s %-14s %s%s\n", name.bytes, class_name(var_class),
                  bind == MPI_T_BIND_MPI_COMM ? "of a communicator: " : "", text.bytes);
  }
}

void print_events() {
  int number = 0;
  FGMPI_OF_LIBRARY(MPI_T_event_get_num)(&number);
  std::printf("Events: %d\n", number);
  for (int i = 0; i < number; ++i) {
    VariableText name, text;
    if (FGMPI_OF_LIBRARY(MPI_T_event_get_info)(i, name.bytes, &name.length, nullptr, nullptr,
                                               nullptr, nullptr, nullptr, nullptr, text.bytes,
                                               &text.length, nullptr) == MPI_SUCCESS)
      std::printf("  %-32s %s\n", name.bytes, text.bytes);
  }
}

void print_categories() {
  int number = 0;
  FGMPI_OF_LIBRARY(MPI_T_category_get_num)(&number);
  std::printf("Categories: %d\n", number);
  for (int i = 0; i < number; ++i) {
    VariableText name, text;
    int cvars, pvars, categories;
    if (FGMPI_OF_LIBRARY(MPI_T_category_get_info)(i, name.bytes, &name.length, text.bytes,
                                                  &text.length, &cvars, &pvars,
                                                  &categories) == MPI_SUCCESS)
      std::printf("  %-32s %3d control, %3d performance: %s\n", name.bytes, cvars, pvars,
                  text.bytes);
  }
}

Status execute_with_library(char* const* argv) {
  std::string prefix;
  FGMPI_TRY(launcher::find_prefix(&prefix));
  environment::put_first(environment::kLibraryPath, prefix + "/lib");
  environment::put_first(environment::kPreload, "libmpich.so.12");
  execv("/proc/self/exe", argv);
  return error(MPI_ERR_ACCESS, "this program cannot be executed again: %s", std::strerror(errno));
}

}  // namespace

Status list_variables(char* const* argv) {
  auto* init = FGMPI_OF_LIBRARY(MPI_T_init_thread);
  if (!init) {
    const char* preloaded = environment::text(environment::kPreload);
    if (!preloaded || !std::strstr(preloaded, "libmpich.so.12")) return execute_with_library(argv);
    return error(MPI_ERR_ACCESS, "libmpich.so.12 cannot be loaded (%s=%s)",
                 environment::name(environment::kPreload), preloaded);
  }
  int provided;
  if (init(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
    return error(MPI_ERR_OTHER, "the tools interface cannot be initialised");
  print_control_variables();
  print_performance_variables();
  print_events();
  print_categories();
  FGMPI_OF_LIBRARY(MPI_T_finalize)();
  return {};
}

}  // namespace fgmpi::tools
