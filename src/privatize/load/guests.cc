// Loading of guests, the checks of what they may be, and their run.

#include "privatize/load/guests.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "base/assert.h"
#include "base/elf_file.h"
#include "base/modules.h"
#include "base/settings.h"
#include "privatize/image/allocator.h"
#include "privatize/image/copied_objects.h"
#include "privatize/image/images.h"
#include "privatize/image/slot_record.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/load/libraries.h"
#include "privatize/load/plugins.h"
#include "privatize/load/real_loader.h"
#include "privatize/processor/machine_code.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::privatize {

bool g_has_guests = false;

class Guest {
 public:
  plugins::Plugin* plugin = nullptr;
  uintptr_t entry = 0;  ///< _start, relative to the base
};

namespace {

/// Identifies a file whatever its name; a file that has been written again has another id.
struct FileId {
  uint64_t device, inode, size;
  int64_t seconds, nanoseconds;
  auto operator<=>(const FileId&) const = default;
};

struct Guests {
  std::map<FileId, std::unique_ptr<Guest>> loaded;
  std::map<uint32_t, std::unique_ptr<Image>> images;  ///< by local index
};
Guests& guests() {
  static auto* all = new Guests;
  return *all;
}

Status refuse(const std::string& path, const char* why) {
  return error(MPI_ERR_SPAWN, "%s cannot be run by proclets: %s; spawn processes instead",
               path.c_str(), why);
}

/// Reads the file's id, and its bytes unless the file is loaded already.
Status read_file(const std::string& path, std::string* bytes, FileId* id) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) {
    Status failed = error(MPI_ERR_SPAWN, "%s cannot be read: %s", path.c_str(), strerror(errno));
    if (fd >= 0) close(fd);
    return failed;
  }
  *id = {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), info.st_mtim.tv_sec,
         info.st_mtim.tv_nsec};
  if (guests().loaded.count(*id) == 0) {
    bytes->resize(static_cast<size_t>(info.st_size));
    size_t done = 0;
    while (done < bytes->size()) {
      const ssize_t n =
          pread(fd, bytes->data() + done, bytes->size() - done, static_cast<off_t>(done));
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    bytes->resize(done);
  }
  close(fd);
  return {};
}

/// Changes the bytes of a program so that the dynamic linker accepts it as a library. *entry:
/// its _start.
Status make_loadable(const std::string& path, std::string* bytes, uintptr_t* entry) {
  constexpr const char* kNoProgram = "it is no dynamically linked program of this machine";
  const ElfView file(bytes->data(), bytes->size());
  const ElfW(Ehdr)* header = file.header();
  if (!file.is_native() || header->e_phentsize != sizeof(ElfW(Phdr)))
    return refuse(path, kNoProgram);
  if (header->e_type == ET_EXEC)
    return refuse(path,
                  "it is not position-independent (link it with mpicc, mpicxx or mpifort of "
                  "Finegrain MPI)");
  bool interpreted = false, whole = true;
  file.for_each_segment([&](const ElfW(Phdr) & segment) {
    interpreted |= segment.p_type == PT_INTERP;
    if (segment.p_type != PT_DYNAMIC) return;
    const uint64_t count = segment.p_filesz / sizeof(ElfW(Dyn));
    // The bytes are the caller's, who lets them be changed.
    auto* dynamic = const_cast<ElfW(Dyn)*>(file.at<ElfW(Dyn)>(segment.p_offset, count));
    whole = whole && dynamic;
    for (uint64_t k = 0; dynamic && k < count && dynamic[k].d_tag != DT_NULL; ++k)
      if (dynamic[k].d_tag == DT_FLAGS_1) dynamic[k].d_un.d_val &= ~uint64_t{DF_1_PIE};
  });
  if (header->e_type != ET_DYN || !interpreted || !whole) return refuse(path, kNoProgram);
  *entry = header->e_entry;
  return {};
}

/// Stores the bytes in a file in memory; *name: the path under which the dynamic linker finds it.
/// The file stays open, since the dynamic linker identifies loaded modules by name.
Status store(const std::string& path, const std::string& bytes, std::string* name) {
  const int fd = memfd_create(std::string(file_name(path)).substr(0, 200).c_str(), MFD_CLOEXEC);
  size_t done = 0;
  while (fd >= 0 && done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  if (fd < 0 || done < bytes.size()) {
    Status failed =
        error(MPI_ERR_NO_MEM, "no memory for a copy of %s: %s", path.c_str(), strerror(errno));
    if (fd >= 0) close(fd);
    return failed;
  }
  *name = "/proc/self/fd/" + std::to_string(fd);
  return {};
}

// ---- Thread-local variables ---------------------------------------------------------------------

Status check_thread_locals(const std::string& path, const ElfModule& module) {
  if (!module.tls()) return {};
  const ElfModule& program = g_images.program();
  const char* place = machine::thread_locals_of_executable(*module.tls());
  const char* begin =
      program.tls() ? static_cast<const char*>(thread_local_block(program)) : nullptr;
  const size_t room = begin ? program.tls()->p_memsz : 0;
  if (begin && place >= begin && place + module.tls()->p_memsz <= begin + room) return {};
  return error(MPI_ERR_SPAWN,
               "%s cannot be run by proclets: its thread-local variables (%llu bytes) do not fit "
               "into the place of those of the program that this process was started with (%zu "
               "bytes); spawn processes instead",
               path.c_str(), static_cast<unsigned long long>(module.tls()->p_memsz), room);
}

// ---- What is refused ----------------------------------------------------------------------------

Status check_copied_objects(const std::string& path, const ElfModule& module) {
  for (const CopiedObject& copy : copied_objects(module))
    if (!copy.library.starts_with("libc.so"))
      return error(MPI_ERR_SPAWN,
                   "%s cannot be run by proclets: it holds a copy of %s of %s; link it with mpicc, "
                   "mpicxx or mpifort of Finegrain MPI, or spawn processes instead",
                   path.c_str(), copy.name.c_str(), copy.library.c_str());
  return {};
}

Status check_libraries(const std::string& path, const ElfModule& module) {
  for (const std::string& name : module.needed())
    if (name.starts_with("libmpichfort") || name.starts_with("libmpifort"))
      return refuse(path, "it uses MPI's Fortran bindings, which tell constants by their address");
  LibraryWishes wishes;
  FGMPI_TRY(parse_library_wishes(settings::text(settings::kPrivatizeLibs), &wishes));
  wishes.added.clear();
  std::vector<PrivateLibrary> wanted;
  FGMPI_TRY(choose_private_libraries(module, wishes, true, &wanted));
  for (const PrivateLibrary& l : wanted)
    if (!plugins::is_plugin(l.map))
      return error(MPI_ERR_SPAWN,
                   "%s cannot be run by proclets: its ranks need their own variables of %s (%s), "
                   "which this process has loaded already; spawn processes instead",
                   path.c_str(), l.map->l_name, l.reason.c_str());
  return {};
}

/// True where the module needs a library of MPI, directly or through others.
bool uses_mpi(const ElfModule& module) {
  const std::vector<const link_map*> loaded = loaded_modules();
  std::vector<std::string> wanted = module.needed();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].starts_with("libmpi")) return true;
    for (const link_map* map : loaded) {
      if (!is_needed_as(map, wanted[i])) continue;
      ElfModule library;
      library.read_symbols(map);
      for (const std::string& name : library.needed())
        if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
      break;
    }
  }
  return false;
}

Status check_guest(const std::string& path, const ElfModule& module) {
  if (!uses_mpi(module)) return refuse(path, "it does not use MPI");
  if (!allocator_functions(module).empty())
    return refuse(path, "it has an allocator of its own (malloc, operator new)");
  FGMPI_TRY(check_thread_locals(path, module));
  FGMPI_TRY(check_copied_objects(path, module));
  return check_libraries(path, module);
}

// ---- Images -------------------------------------------------------------------------------------

char** copy_words(const std::vector<std::string>& words) {
  auto** copy = static_cast<char**>(malloc((words.size() + 1) * sizeof(char*)));
  FGMPI_CHECK(copy);
  for (size_t i = 0; i < words.size(); ++i) copy[i] = strdup(words[i].c_str());
  copy[words.size()] = nullptr;
  return copy;
}

void free_image(Image* image) {
  for (char** word = image->argv; word && *word; ++word) free(*word);
  free(image->argv);
  forget_libc_state(image);
  forget_thread_values(image);
  free_areas(image);
  if (image->record) drop_slot_record(image->index);
}

Status make_image(Guest* guest, uint32_t k, const std::vector<std::string>& words) {
  FGMPI_TRY(plugins::enter_guest(guest->plugin, k));
  auto image = std::make_unique<Image>();
  image->index = k;
  image->guest = guest;
  image->argv = copy_words(words);
  image->record = begin_slot_record(k);
  init_areas(image.get());
  guests().images[k] = std::move(image);
  return {};
}

/// Jumps to the program's first instruction as the kernel would: the stack begins with the number
/// of arguments. The arguments and the environment themselves are missing, since our
/// __libc_start_main reads neither.
[[noreturn]] FGMPI_NOT_SANITIZED void jump_to(uintptr_t entry) {
  alignas(16) uintptr_t words[8] = {1, 0, 0, 0, 0, 0, 0, 0};
  machine::begin_program(entry, words);
}

}  // namespace

bool is_guest(const sched::Proclet* p) {
  return g_has_guests && p && p->image && static_cast<const Image*>(p->image)->guest;
}

Status load_guest(const std::string& path, Guest** out) {
  std::string bytes, name;
  FileId id;
  FGMPI_TRY(read_file(path, &bytes, &id));
  std::unique_ptr<Guest>& slot = guests().loaded[id];
  if (slot) return *out = slot.get(), Status();
  auto guest = std::make_unique<Guest>();
  Status status = make_loadable(path, &bytes, &guest->entry);
  if (status.ok()) status = store(path, bytes, &name);
  if (status.ok()) {
    prepare_for_guests();
    g_has_guests = true;
    char resolved[PATH_MAX];
    const std::string real = realpath(path.c_str(), resolved) ? resolved : path;
    status = plugins::load_guest(
        name, real, [&](const ElfModule& module) { return check_guest(path, module); },
        &guest->plugin);
    if (!status.ok()) close(atoi(name.c_str() + strlen("/proc/self/fd/")));
  }
  if (!status.ok()) {
    guests().loaded.erase(id);
    return status;
  }
  slot = std::move(guest);
  *out = slot.get();
  return {};
}

Status prepare_guests(Guest* guest, uint32_t first, uint32_t count,
                      const std::vector<std::string>& words) {
  Status status = plugins::make_room(guest->plugin, first, count);
  for (uint32_t k = first; k < first + count && status.ok(); ++k)
    status = make_image(guest, k, words);
  if (!status.ok()) forget_guests(first, count);
  return status;
}

void forget_guests(uint32_t first, uint32_t count) {
  auto& images = guests().images;
  const auto low = images.lower_bound(first), high = images.lower_bound(first + count);
  for (auto it = low; it != high; ++it) free_image(it->second.get());
  images.erase(low, high);
  plugins::forget_ranks(first, count);
}

void run_guest() {
  sched::Proclet* p = sched::current();
  Image* image = guests().images.at(p->index).get();
  sched::call_on_host([&] {
    p->image = image;
    load_image(image);
    plugins::load_thread_locals(image->index);
    reset_getopt(true);
  });
  if (sched::threads_enabled()) sched::EngineEntry::leave();
  jump_to(plugins::base_of(image->guest->plugin, image->index) + image->guest->entry);
}

void run_guest_main(Main* main, int, char**, void (*init)(int, char**, char**)) {
  const auto* image = static_cast<const Image*>(sched::running()->image);
  FGMPI_CHECK(image && image->guest);
  int argc = 0;
  while (image->argv[argc]) ++argc;
  plugins::construct_guest(image->index, argc, image->argv, g_program.envp, !init);
  if (init) init(argc, image->argv, g_program.envp);
  exit(main(argc, image->argv, g_program.envp));
}

void copy_thread_locals(const Guest& guest, uint32_t k, const char* live, size_t size, char* to) {
  const ElfModule& module = plugins::module_of(guest.plugin);
  if (!module.tls()) return;
  const char* place = machine::thread_locals_of_executable(*module.tls());
  const char* low = std::max(live, place);
  const char* high = std::min(live + size, place + module.tls()->p_filesz);
  if (low >= high) return;
  const auto* initial =
      reinterpret_cast<const char*>(plugins::base_of(guest.plugin, k) + module.tls()->p_vaddr);
  memcpy(to + (low - live), initial + (low - place), static_cast<size_t>(high - low));
}

void init_thread_locals_of_guest(uint32_t k) {
  auto it = guests().images.find(k);
  if (it == guests().images.end()) return;
  const Guest& guest = *it->second->guest;
  const ElfModule& module = plugins::module_of(guest.plugin);
  if (!module.tls()) return;
  char* place = machine::thread_locals_of_executable(*module.tls());
  memset(place, 0, module.tls()->p_memsz);
  copy_thread_locals(guest, k, place, module.tls()->p_memsz, place);
}

}  // namespace fgmpi::privatize
