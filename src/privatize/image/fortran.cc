// Constants of MPI's Fortran bindings that are variables (MPI_BOTTOM, MPI_IN_PLACE,
// MPI_STATUS_IGNORE, ...). A call recognises them by their address, which differs from image to
// image.
//
//   mpif.h, module mpi   common blocks of the program. libmpichfort stores their addresses in cells
//                        of its own, once, at the first call that needs them.
//   module mpi_f08       variables of libmpichfort and of this library, one for all ranks; unless
//                        the program was compiled without -fPIC (not by our mpifort): then the
//                        linker has put them into the program (copied_objects.h), and the
//                        libraries' global offset tables hold their addresses.
//
// Cells and table entries are swapped areas (swap.h): while a rank runs, they hold the addresses in
// its image.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/modules.h"
#include "base/page.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"

namespace fgmpi::privatize {
namespace {

void add_cells_of_common_blocks() {
  auto* needed = static_cast<int*>(dlsym(RTLD_DEFAULT, "MPIR_F_NeedInit"));
  auto* note = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "mpirinitf_"));
  if (!needed || !note) return;
  note();
  *needed = 0;
  for (const char* name :
       {"MPIR_F_MPI_BOTTOM", "MPIR_F_MPI_IN_PLACE", "MPIR_F_MPI_UNWEIGHTED",
        "MPIR_F_MPI_WEIGHTS_EMPTY", "MPIR_F_MPI_BUFFER_AUTOMATIC", "MPI_F_ARGVS_NULL",
        "MPI_F_ARGV_NULL", "MPI_F_ERRCODES_IGNORE", "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE"})
    if (void* cell = dlsym(RTLD_DEFAULT, name)) add_swapped_pointer(cell);
}

bool is_constant_of_f08(std::string_view name) {
  return name.starts_with("MPIR_F08_MPI_") || name.starts_with("__mpi_f08_link_constants_MOD_");
}

/// Makes the page of a table entry writable: the dynamic linker makes filled tables read-only.
void make_writable(uintptr_t address) {
  const size_t page = machine_page_bytes();
  FGMPI_CHECK(mprotect(reinterpret_cast<void*>(page_down(address, page)), page,
                       PROT_READ | PROT_WRITE) == 0);
}

/// Registers as swapped pointers the entries of the library's global offset table, and its other
/// pointers, that hold addresses of the program's copies.
void add_pointers_to_copies(const ElfModule& library, const std::vector<std::string>& names) {
  library.for_each_relocation(
      [&](const ElfW(Rela) & r, const ElfW(Sym)&, const char* name, const char*) {
        if (std::find(names.begin(), names.end(), name) == names.end()) return;
        const uintptr_t at = library.base() + r.r_offset;
        if (!g_images.program().contains(*reinterpret_cast<const uintptr_t*>(at))) return;
        make_writable(at);
        add_swapped_pointer(reinterpret_cast<void*>(at));
      });
}

void add_pointers_to_copied_constants() {
  std::vector<std::string> names;
  for (const CopiedObject& object : g_images.copied_objects())
    if (is_constant_of_f08(object.name)) names.push_back(object.name);
  if (names.empty()) return;
  for (const link_map* map : loaded_modules()) {
    if (!file_name(map->l_name).starts_with("libmpi")) continue;
    ElfModule library;
    if (library.read(map, map->l_name, false).ok()) add_pointers_to_copies(library, names);
  }
}

}  // namespace

void add_fortran_constants() {
  add_cells_of_common_blocks();
  add_pointers_to_copied_constants();
}

}  // namespace fgmpi::privatize
