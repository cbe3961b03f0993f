// A place is the return address of the call, in the program as the linker loaded it, past the
// language bindings.
#include <execinfo.h>

#include <cstring>
#include <unordered_map>

#include "base/elf_file.h"
#include "base/modules.h"
#include "fgmpi.h"
#include "fortran/code_range.h"
#include "watch/places.h"

#pragma weak MPIX_Program_address
#pragma weak fgmpi_fortran_code

namespace fgmpi::findings {

constinit Bindings g_bindings;
bool g_reads_modules = true;

namespace {

/// Stores the range of the module's code where it is a Fortran or C++ binding, or libmpi_abi.
void find_binding(const dl_phdr_info& module) {
  const char* name = std::strrchr(module.dlpi_name, '/');
  name = name ? name + 1 : module.dlpi_name;
  if (std::strncmp(name, "libmpi_abi.so", 13) == 0) {
    const AddressRange range = range_of(module);
    g_bindings.abi_low = range.low;
    g_bindings.abi_high = range.high;
    return;
  }
  const bool cxx = std::strncmp(name, "libmpichcxx", 11) == 0;
  if (!cxx && std::strncmp(name, "libmpichf", 9) != 0 && std::strncmp(name, "libmpifort", 10) != 0)
    return;
  const AddressRange range = range_of(module);
  (cxx ? g_bindings.cxx_low : g_bindings.fortran_low) = range.low;
  (cxx ? g_bindings.cxx_high : g_bindings.fortran_high) = range.high;
}

/// The address in the program as the linker loaded it, of an address in a rank's image.
uintptr_t program_address(uintptr_t address) {
  if (!MPIX_Program_address) return address;
  return reinterpret_cast<uintptr_t>(MPIX_Program_address(reinterpret_cast<const void*>(address)));
}

/// Is the address in a method of MPI-2's C++ binding (namespace MPI), of which a program has copies
/// of its own? The symbol table of the file is read once for each address; few addresses call MPI.
bool is_cxx_method(uintptr_t address) {
  if (!g_reads_modules) return false;
  static std::unordered_map<uintptr_t, bool> known;
  const auto [it, fresh] = known.try_emplace(address, false);
  if (!fresh) return it->second;
  const auto module = module_at(reinterpret_cast<void*>(address));
  if (!module) return false;
  ElfFile file;
  uintptr_t start = 0;
  if (!file.open(*module->map->l_name ? module->map->l_name : "/proc/self/exe")) return false;
  // A return address may lie behind the last instruction of a function, so the address before
  // it is looked up.
  const char* name = file.function_at(address - module->map->l_addr - 1, &start);
  it->second =
      name && (std::strncmp(name, "_ZN3MPI", 7) == 0 || std::strncmp(name, "_ZNK3MPI", 8) == 0);
  return it->second;
}

/// Is the address in a binding: in its library, or in a C++ method that the program has a copy of;
/// or in libmpi_abi?
bool in_binding(uintptr_t address) {
  const Bindings& p = g_bindings;
  if (from_fortran(reinterpret_cast<const void*>(address))) return true;
  if (address - p.abi_low < p.abi_high - p.abi_low) return true;
  if (p.cxx_high == 0) return false;
  if (address >= p.cxx_low && address < p.cxx_high) return true;
  return is_cxx_method(program_address(address));
}

}  // namespace

void find_bindings() {
  for_each_loaded_module(find_binding);
  if (&fgmpi_fortran_code == nullptr) return;
  g_bindings.own_low = reinterpret_cast<uintptr_t>(fgmpi_fortran_code.low);
  g_bindings.own_high = reinterpret_cast<uintptr_t>(fgmpi_fortran_code.high);
}

uint64_t place_of(const void* return_address) {
  auto address = reinterpret_cast<uintptr_t>(return_address);
  if (in_binding(address)) {
    void* frames[16];
    const int n = backtrace(frames, 16);
    bool inside = false;
    for (int i = 0; i < n; ++i) {
      const auto frame = reinterpret_cast<uintptr_t>(frames[i]);
      inside |= frame == address;
      if (!inside || in_binding(frame)) continue;
      address = frame;
      break;
    }
  }
  return program_address(address);
}

uint64_t place_in_first_image(const void* return_address) {
  return program_address(reinterpret_cast<uintptr_t>(return_address));
}

}  // namespace fgmpi::findings
