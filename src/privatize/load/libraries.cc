// The choice of private libraries, by what they use and define.

#include "privatize/load/libraries.h"

#include <dlfcn.h>
#include <mpi.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_set>

#include "base/modules.h"
#include "base/relocation_kind.h"
#include "base/split.h"
#include "privatize/image/allocator.h"
#include "privatize/image/copied_objects.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"

namespace fgmpi::privatize {
namespace {

/// The file name up to ".so": "libm" of "libm.so.6".
std::string_view stem(std::string_view file) { return file.substr(0, file.find(".so")); }

bool is_compiler_runtime(std::string_view file) {
  return stem(file) == "libgfortran" || stem(file) == "libgomp";
}

/// True for libraries that ranks can share: compression, encryption, the network, linear algebra.
/// They do not use MPI, are made for use by many threads at a time, and no call sees state of an
/// earlier one.
bool is_stateless_service(std::string_view file) {
  static constexpr std::string_view kStems[] = {
      "libz",       "libsz",   "libaec",  "libbz2",    "liblzma", "libzstd",    "liblz4",
      "libblosc",   "libcurl", "libssl",  "libcrypto", "libblas", "libcblas",   "liblapack",
      "liblapacke", "libxml2", "libnuma", "libgmp",    "libmpfr", "libquadmath"};
  return std::find(std::begin(kStems), std::end(kStems), stem(file)) != std::end(kStems) ||
         file.starts_with("libopenblas") || file.starts_with("libcurl-") ||
         file.starts_with("libblis") || file.starts_with("libmkl_");
}

bool names(const std::string& wish, std::string_view file) {
  return file == wish || file.substr(0, wish.size() + 1) == wish + ".";
}

bool any_names(const std::vector<std::string>& wishes, std::string_view file) {
  return std::any_of(wishes.begin(), wishes.end(),
                     [&](const std::string& w) { return names(w, file); });
}

bool is_mpi_name(const char* name) {
  return strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0 ||
         strncmp(name, "MPIX_", 5) == 0 || strncmp(name, "mpi_", 4) == 0 ||
         strncmp(name, "pmpi_", 5) == 0;
}

bool defines(const ElfModule& module, bool (*wanted)(const char* name)) {
  bool found = false;
  module.for_each_definition(
      [&](const ElfW(Sym)&, const char* name) { found = found || wanted(name); });
  return found;
}

/// True for an allocator. A process has one: a library that all ranks share may free memory that a
/// rank has allocated.
bool is_allocator(const ElfModule& module) { return defines(module, is_allocator_function); }

struct CandidateLibrary {
  const link_map* map;
  std::string_view file;
  ElfModule module;
  bool candidate = false;  ///< the program reaches it not only through MPI; it is no allocator
  bool uses_mpi = false;
  bool chosen = false;
  std::string reason;
  enum { kUnknown, kNone, kSome } variables = kUnknown;
};

class LibraryChooser {
 public:
  explicit LibraryChooser(const ElfModule& program) : program_(program) {
    auto maps = loaded_modules();
    for (size_t i = 1; i < maps.size(); ++i) {
      CandidateLibrary library{maps[i], file_name(maps[i]->l_name), {}, false, false, false,
                               {},      CandidateLibrary::kUnknown};
      // The kernel's own library has no file.
      if (maps[i]->l_name[0] != '/' && strchr(maps[i]->l_name, '/') == nullptr) continue;
      if (library.module.read(maps[i], maps[i]->l_name, false).ok())
        libraries_.push_back(std::move(library));
    }
    find_candidates();
    find_users_of_mpi();
  }

  std::vector<CandidateLibrary>& libraries() { return libraries_; }

  void choose_users_of_mpi() {
    for (CandidateLibrary& l : libraries_)
      if (l.uses_mpi && !l.chosen && l.module.has_private_data())
        choose(&l, "uses MPI and has variables");
  }

  /// Applies the rules about symbols until they add no library.
  void choose_by_symbols(bool program_has_images) {
    choose_copied();
    for (bool more = true; more;) {
      more = false;
      if (program_has_images || any_chosen()) more |= choose_referring();
      more |= choose_referred();
      more |= choose_called();
    }
  }

  void choose_runtimes() {
    for (CandidateLibrary& l : libraries_) {
      if (stem(l.file).starts_with("libpython3") && !l.chosen && needs(program_, l))
        choose(&l, "the interpreter of the program");
      if (!is_compiler_runtime(l.file) || l.chosen) continue;
      if (needs(program_, l)) choose(&l, "the compiler's runtime of the program");
      for (const CandidateLibrary& user : libraries_)
        if (!l.chosen && user.chosen && needs(user.module, l))
          choose(&l, "the compiler's runtime of " + std::string(user.file));
    }
  }

  void choose(CandidateLibrary* library, std::string reason) {
    library->chosen = true;
    library->reason = std::move(reason);
  }

  bool any_chosen() const {
    return std::any_of(libraries_.begin(), libraries_.end(),
                       [](const CandidateLibrary& l) { return l.chosen; });
  }

 private:
  CandidateLibrary* find(std::string_view needed) {
    for (CandidateLibrary& l : libraries_)
      if (l.file == needed || DynamicSection(l.map).soname() == needed) return &l;
    return nullptr;
  }

  bool needs(const ElfModule& module, const CandidateLibrary& library) {
    for (const std::string& name : module.needed())
      if (find(name) == &library) return true;
    return false;
  }

  /// Calls mark(library) for the libraries that the module needs, and for what those need in turn;
  /// does not go on from a library for which mark() returns false.
  template <class Mark>
  void walk(const ElfModule& from, Mark mark) {
    std::vector<const ElfModule*> open = {&from};
    while (!open.empty()) {
      const ElfModule* next = open.back();
      open.pop_back();
      for (const std::string& name : next->needed())
        if (CandidateLibrary* l = find(name); l && mark(l)) open.push_back(&l->module);
    }
  }

  void find_candidates() {
    std::set<const CandidateLibrary*> seen;
    auto mark = [&](CandidateLibrary* l) {
      if (is_one_per_process(l->file) || !seen.insert(l).second) return false;
      l->candidate = !is_allocator(l->module);
      return true;
    };
    walk(program_, mark);
    // A library that no other one needs was preloaded (LD_PRELOAD).
    std::set<const CandidateLibrary*> reached;
    walk(program_, [&](CandidateLibrary* l) { return reached.insert(l).second; });
    for (CandidateLibrary& l : libraries_)
      if (!reached.contains(&l) && mark(&l)) walk(l.module, mark);
  }

  void find_users_of_mpi() {
    for (CandidateLibrary& l : libraries_) {
      if (!l.candidate) continue;
      for (const std::string& name : l.module.needed())
        l.uses_mpi = l.uses_mpi || is_mpi_library(file_name(name));
      if (l.uses_mpi) continue;
      l.module.for_each_relocation(
          [&](const ElfW(Rela)&, const ElfW(Sym) & symbol, const char* name, const char*) {
            l.uses_mpi = l.uses_mpi || (symbol.st_shndx == SHN_UNDEF && is_mpi_name(name));
          });
    }
    for (bool more = true; more;) {
      more = false;
      for (CandidateLibrary& l : libraries_) {
        if (!l.candidate || l.uses_mpi) continue;
        for (const std::string& name : l.module.needed())
          if (const CandidateLibrary* other = find(name))
            l.uses_mpi = l.uses_mpi || other->uses_mpi;
        more |= l.uses_mpi;
      }
    }
  }

  /// True where the rules about symbols may still add the library.
  bool open(const CandidateLibrary& l) const {
    return l.candidate && !l.chosen && !is_compiler_runtime(l.file);
  }

  /// Chooses the libraries whose variables the linker has copied into the program, where these
  /// copies cannot be cloned.
  void choose_copied() {
    if (program_.text_relocations() || !program_.position_independent()) return;
    for (const CopiedObject& copy : copies()) {
      if (may_be_cloned(program_, copy)) continue;
      for (CandidateLibrary& l : libraries_)
        if (open(l) && l.module.contains(copy.original))
          choose(&l, "the program holds a copy of its variable " + copy.name);
    }
  }

  const std::vector<CopiedObject>& copies() {
    if (!copies_) copies_ = std::make_unique<std::vector<CopiedObject>>(copied_objects(program_));
    return *copies_;
  }

  /// Names that the program and the private libraries define for others.
  std::unordered_set<std::string_view> exported() {
    std::unordered_set<std::string_view> names;
    auto add = [&](const ElfModule& m) {
      m.for_each_definition([&](const ElfW(Sym)&, const char* name) { names.insert(name); });
    };
    add(program_);
    for (const CandidateLibrary& l : libraries_)
      if (l.chosen && !is_compiler_runtime(l.file)) add(l.module);
    return names;
  }

  /// The address to which the dynamic linker has bound the reference; 0: none, or a relocation that
  /// cannot lead to another module.
  static uintptr_t bound_to(const CandidateLibrary& l, const ElfW(Rela) & r,
                            const ElfW(Sym) & symbol, const char* name) {
    uintptr_t word = 0;
    switch (relocation_kind(r)) {
      case RelocationKind::kAddress:
        memcpy(&word, reinterpret_cast<void*>(l.module.base() + r.r_offset), sizeof word);
        return word - static_cast<uintptr_t>(r.r_addend);
      case RelocationKind::kGlobal:
      case RelocationKind::kJumpSlot:
        memcpy(&word, reinterpret_cast<void*>(l.module.base() + r.r_offset), sizeof word);
        // A slot that has not been bound yet leads into the library itself.
        if (relocation_kind(r) == RelocationKind::kJumpSlot && l.module.contains(word) &&
            word != l.module.base() + symbol.st_value)
          word = reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, name));
        return word;
      case RelocationKind::kThreadModule:
      case RelocationKind::kThreadPointerOffset:
      case RelocationKind::kThreadDescriptor:
        return symbol.st_shndx == SHN_UNDEF && *name
                   ? reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, name))
                   : 0;
      default:
        return 0;
    }
  }

  /// True where a library must have an image because it is bound to this address of the program.
  bool matters_of_program(uintptr_t address, const ElfW(Sym) & symbol, const char* name) {
    const uintptr_t offset = address - program_.base();
    if (program_.read_only_after_relocation(offset)) return false;
    if (is_allocator_function(name)) return false;
    if (program_.is_code(offset)) return symbol.st_shndx == SHN_UNDEF;
    for (const CopiedObject& copy : copies())
      if (offset >= copy.offset && offset < copy.offset + copy.size) return false;
    return program_.is_writable(offset);
  }

  bool choose_referring() {
    const auto names = exported();
    bool more = false;
    for (CandidateLibrary& l : libraries_) {
      if (!open(l)) continue;
      l.module.for_each_relocation([&](const ElfW(Rela) & r, const ElfW(Sym) & symbol,
                                       const char* name, const char*) {
        if (l.chosen || !*name || !names.contains(name)) return;
        const uintptr_t address = bound_to(l, r, symbol, name);
        if (!address || l.module.contains(address)) return;
        if (program_.contains(address)) {
          if (matters_of_program(address, symbol, name))
            choose(&l, "refers to " + std::string(name) + " of the program");
          return;
        }
        for (const CandidateLibrary& other : libraries_) {
          if (!other.chosen || is_compiler_runtime(other.file) || !other.module.contains(address))
            continue;
          // An inline function that both libraries define is the same code in both.
          if (other.module.is_code(address - other.module.base()) && symbol.st_shndx != SHN_UNDEF)
            continue;
          if (other.module.read_only_after_relocation(address - other.module.base())) continue;
          choose(&l, "refers to " + std::string(name) + " of " + std::string(other.file));
          return;
        }
      });
      more |= l.chosen;
    }
    return more;
  }

  /// True where a variable of `l` lies at the address.
  static bool holds_variable(const CandidateLibrary& l, uintptr_t address) {
    if (l.module.contains(address)) {
      const uintptr_t offset = address - l.module.base();
      return l.module.is_writable(offset) && !l.module.read_only_after_relocation(offset);
    }
    const auto block =
        l.module.tls() ? reinterpret_cast<uintptr_t>(thread_local_block(l.module)) : uintptr_t{0};
    return block && address - block < l.module.tls()->p_memsz;
  }

  bool choose_referred() {
    bool more = false;
    for (size_t i = 0; i < libraries_.size(); ++i) {
      if (!libraries_[i].chosen || is_compiler_runtime(libraries_[i].file)) continue;
      libraries_[i].module.for_each_relocation(
          [&](const ElfW(Rela) & r, const ElfW(Sym) & symbol, const char* name, const char*) {
            if (!*name || relocation_kind(r) == RelocationKind::kJumpSlot) return;
            const uintptr_t address = bound_to(libraries_[i], r, symbol, name);
            if (!address || libraries_[i].module.contains(address)) return;
            for (CandidateLibrary& l : libraries_) {
              if (!open(l) || !holds_variable(l, address)) continue;
              choose(&l, std::string(libraries_[i].file) + " uses its variable " + name);
              more = true;
            }
          });
    }
    return more;
  }

  /// Chooses libraries with variables that the program or a private library calls: without an
  /// image, all ranks would share these variables.
  bool choose_called() {
    bool more = false;
    for (CandidateLibrary& l : libraries_) {
      const bool of_program = needs(program_, l);
      if (!open(l) || is_stateless_service(l.file) || !(of_program || any_needs(l)) ||
          !has_variables(&l))
        continue;
      std::unordered_set<std::string_view> names;
      l.module.for_each_definition([&](const ElfW(Sym)&, const char* name) { names.insert(name); });
      if (of_program) choose_if_called(&l, names, program_, "the program");
      for (const CandidateLibrary& user : libraries_)
        if (user.chosen && !is_compiler_runtime(user.file))
          choose_if_called(&l, names, user.module, std::string(user.file));
      more |= l.chosen;
    }
    return more;
  }

  void choose_if_called(CandidateLibrary* l, const std::unordered_set<std::string_view>& names,
                        const ElfModule& user, const std::string& user_name) {
    if (l->chosen) return;
    user.for_each_relocation(
        [&](const ElfW(Rela)&, const ElfW(Sym) & symbol, const char* name, const char*) {
          if (l->chosen || symbol.st_shndx != SHN_UNDEF || !names.contains(name)) return;
          choose(l, user_name + " calls " + name + ", and it has variables");
        });
  }

  bool any_needs(const CandidateLibrary& l) {
    return std::any_of(libraries_.begin(), libraries_.end(), [&](const CandidateLibrary& user) {
      return user.chosen && needs(user.module, l);
    });
  }

  static bool has_variables(CandidateLibrary* l) {
    if (l->variables == CandidateLibrary::kUnknown)
      l->variables =
          l->module.has_private_data() ? CandidateLibrary::kSome : CandidateLibrary::kNone;
    return l->variables == CandidateLibrary::kSome;
  }

  const ElfModule& program_;
  std::vector<CandidateLibrary> libraries_;
  std::unique_ptr<std::vector<CopiedObject>> copies_;
};

std::vector<const link_map*> g_of_program;

}  // namespace

bool serves_program(const link_map* map) {
  return std::find(g_of_program.begin(), g_of_program.end(), map) != g_of_program.end();
}

bool is_needed_as(const link_map* module, std::string_view name) {
  // The kernel's own library has no path, and its dynamic section gives a wrong address of its
  // strings.
  if (std::string_view(module->l_name).find('/') == std::string_view::npos) return false;
  return file_name(module->l_name) == name || DynamicSection(module).soname() == name;
}

bool is_mpi_library(std::string_view file) {
  static constexpr std::string_view kStems[] = {
      "libmpich",   "libmpi",      "libmpi_abi",   "libpmpi",   "libmpicxx", "libmpichcxx",
      "libmpifort", "libmpichf90", "libmpichfort", "libfmpich", "libmpl",    "libopa"};
  return std::find(std::begin(kStems), std::end(kStems), stem(file)) != std::end(kStems);
}

bool is_one_per_process(std::string_view file) {
  static constexpr std::string_view kStems[] = {
      "libc",      "libm",     "libdl",     "libpthread", "librt",       "libutil",   "libanl",
      "libresolv", "libmvec",  "libstdc++", "libgcc_s",   "libquadmath", "libatomic", "libasan",
      "libtsan",   "libubsan", "liblsan",   "libhwasan",  "libunwind",   "libfabric", "libucp",
      "libucs",    "libuct",   "libucm",    "libhwloc",   "libprofiler"};
  return is_mpi_library(file) || file.starts_with("ld-linux") || file.starts_with("libfgmpi") ||
         file.starts_with("vgpreload_") || file.starts_with("libclang_rt.") ||
         file.starts_with("libunwind-") || file.starts_with("libtbbmalloc") ||
         std::find(std::begin(kStems), std::end(kStems), stem(file)) != std::end(kStems);
}

Status parse_library_wishes(std::string_view text, LibraryWishes* wishes) {
  for (std::string_view word : split(text, ',')) {
    if (word.empty() || word == "auto") continue;
    if (word == "none") {
      wishes->automatic = false;
      continue;
    }
    const bool away = word[0] == '-';
    if (away) word.remove_prefix(1);
    std::string name(word);
    if (name.find('/') != name.npos || name.empty())
      return error(MPI_ERR_ARG,
                   "FGMPI_PRIVATIZE_LIBS: '%s': allowed are auto, none, file names of libraries "
                   "without their folder, and -NAME",
                   name.c_str());
    (away ? wishes->removed : wishes->added).push_back(std::move(name));
  }
  return Status();
}

namespace {

Status add_named(const LibraryWishes& wishes, LibraryChooser* chooser) {
  for (const std::string& name : wishes.added) {
    bool loaded = false;
    for (CandidateLibrary& l : chooser->libraries()) {
      if (!names(name, l.file)) continue;
      loaded = true;
      if (is_one_per_process(l.file) || is_allocator(l.module))
        return error(MPI_ERR_ARG,
                     "FGMPI_PRIVATIZE_LIBS names %s, of which a process has one; allowed are "
                     "libraries of the program's own",
                     name.c_str());
      if (!any_names(wishes.removed, l.file)) chooser->choose(&l, "FGMPI_PRIVATIZE_LIBS names it");
    }
    if (!loaded)
      return error(
          MPI_ERR_ARG,
          "FGMPI_PRIVATIZE_LIBS names %s, which the program does not load; allowed are file names "
          "of libraries that it is linked with",
          name.c_str());
  }
  return Status();
}

}  // namespace

Status choose_private_libraries(const ElfModule& program, const LibraryWishes& wishes,
                                bool program_has_images, std::vector<PrivateLibrary>* chosen) {
  LibraryChooser chooser(program);
  FGMPI_TRY(add_named(wishes, &chooser));
  if (wishes.automatic) {
    chooser.choose_users_of_mpi();
    chooser.choose_by_symbols(program_has_images);
  }
  chooser.choose_runtimes();
  for (const CandidateLibrary& l : chooser.libraries())
    if (l.candidate) g_of_program.push_back(l.map);
  for (const CandidateLibrary& l : chooser.libraries())
    if (l.chosen && !any_names(wishes.removed, l.file)) chosen->push_back({l.map, l.reason});
  return Status();
}

std::string shared_libraries_with_state(const LibraryWishes& wishes,
                                        const std::vector<PrivateLibrary>& chosen) {
  ElfModule program;
  std::string list;
  if (!program.read(loaded_modules().front(), "/proc/self/exe", true).ok()) return list;
  LibraryChooser chooser(program);
  for (const CandidateLibrary& l : chooser.libraries()) {
    const bool is_private = std::any_of(chosen.begin(), chosen.end(),
                                        [&](const PrivateLibrary& c) { return c.map == l.map; });
    if (!l.uses_mpi || is_private || any_names(wishes.removed, l.file)) continue;
    if (l.module.has_private_data()) list += (list.empty() ? "" : ",") + std::string(l.file);
  }
  return list;
}

}  // namespace fgmpi::privatize
