// dlopen, dlsym and their relatives, as a rank with images calls them (plugins.h).
//
// Each entry point asks whether the call is a rank's. If not, the entry point jumps to the C
// library's function with the stack as it was, since these functions depend on their caller. A call
// is a rank's when a rank runs and the caller is the program, a private library, a plugin, or
// another library that the program has brought in; MPI and what belongs to it are not. Only
// dl_iterate_phdr answers for the rank whoever calls, except this library: unwinders, which find
// frames by it, may be in any library.
#include <dlfcn.h>
#include <link.h>

#include <iterator>

#include "base/modules.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/load/guests.h"
#include "privatize/load/libraries.h"
#include "privatize/load/plugins.h"
#include "privatize/load/real_loader.h"
#include "privatize/load/standard_abi.h"
#include "privatize/load/visitors.h"
#include "privatize/processor/machine_code.h"

namespace fgmpi::privatize {
namespace {

bool image_of(const sched::Proclet* p, uint32_t* k) {
  if (!p || !p->image) return false;
  *k = static_cast<const Image*>(p->image)->index;
  return true;
}

/// Finds the number of the calling rank's image. Returns false where no rank with an image calls.
bool calling_image(uint32_t* k) {
  if (!on_scheduler_thread()) return image_of(sched::rank_of_thread(), k);
  return on_proclet() && image_of(sched::running(), k);
}

/// Finds the image whose code the calling thread may have on its stack. Returns false where there
/// is none but image 0. In contrast to calling_image(), this includes the host stack, on which
/// functions of the running rank are called (user operations).
bool image_on_stack(uint32_t* k) { return image_of(sched::rank_of_thread(), k); }

/// Finds which image of the program, a private library or a plugin holds the code. Returns false
/// where none does.
bool image_of_code(uintptr_t code, uint32_t* k) {
  Images::ImageLocation main;
  if (g_images.locate(code, &main)) {
    *k = main.image;
    return true;
  }
  plugins::PluginLocation plugin;
  if (!plugins::locate(code, &plugin)) return false;
  *k = plugin.image;
  return true;
}

bool is_of_program(uintptr_t caller) {
  uint32_t k = 0;
  if (image_of_code(caller, &k)) return true;
  dl_find_object found{};
  return real::find_object(reinterpret_cast<void*>(caller), &found) == 0 && found.dlfo_link_map &&
         serves_program(found.dlfo_link_map);
}

/// Moves an address of the dynamic linker's copy to the rank's image; 0: the rank has no image of
/// that library.
uintptr_t of_rank(uintptr_t address, uint32_t k) {
  Images::ImageLocation main;
  if (g_images.locate(address, &main) && main.image == g_images.loaded_image())
    return g_images.has(k) ? g_images.move_to(address, k) : address;
  return plugins::of_rank(address, k);
}

void* caller_as_loaded(const void* caller) {
  return reinterpret_cast<void*>(address_in_first_image(reinterpret_cast<uintptr_t>(caller)));
}

void* open_for_rank(const char* file, int mode) {
  if (!(mode & RTLD_NOLOAD)) try_to_bring_home();
  uint32_t k = 0;
  calling_image(&k);
  return plugins::open(k, file, mode, caller_as_loaded(__builtin_return_address(0)));
}

int close_for_rank(void* handle) {
  uint32_t k = 0;
  calling_image(&k);
  return plugins::close(k, handle);
}

void* found_for_rank(void* found) {
  uint32_t k = 0;
  calling_image(&k);
  return reinterpret_cast<void*>(of_rank(reinterpret_cast<uintptr_t>(found), k));
}

void* found_globally(void* found, void* caller) {
  void* result = found_for_rank(found);
  uint32_t k = 0;
  if (result != found && result && calling_image(&k))
    plugins::hold_plugin_for_caller(reinterpret_cast<uintptr_t>(found), k,
                                    reinterpret_cast<uintptr_t>(caller));
  return result;
}

/// The function of MPI that the caller finds by this name in the ABI that it uses; nullptr where
/// the dynamic linker knows better.
void* find_mpi_function(void* handle, const char* name, const void* caller) {
  if (!has_standard_abi() || !name || handle == RTLD_NEXT) return nullptr;
  link_map* map = nullptr;
  const bool anywhere = handle == RTLD_DEFAULT ||
                        (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map == program_module());
  const auto module = anywhere ? module_at(caller) : std::nullopt;
  return module ? find_standard_function(module->map, name) : nullptr;
}

/// dlsym(), and dlvsym() where a version is given, by the ABI that the caller uses. Functions of
/// MPI have no versions: a caller that names one gets them, too.
void* symbol_by_abi(void* handle, const char* name, const char* version, void* caller) {
  static void* const plain = real::function("dlsym");
  static void* const versioned = real::function("dlvsym");
  if (void* function = find_mpi_function(handle, name, caller)) return function;
  return real::call_from(version ? versioned : plain, caller, handle, const_cast<char*>(name),
                         const_cast<char*>(version));
}

void* symbol_for_rank(void* handle, const char* name, const char* version, void* caller) {
  void* found = symbol_by_abi(handle, name, version, caller);
  return handle == RTLD_DEFAULT ? found_globally(found, caller) : found_for_rank(found);
}

void* loaded_handle(void* handle) {
  uint32_t k = 0;
  return calling_image(&k) ? plugins::real_handle(k, handle) : handle;
}

void* dlsym_for_rank(void* handle, const char* name) {
  return symbol_for_rank(loaded_handle(handle), name, nullptr,
                         caller_as_loaded(__builtin_return_address(0)));
}
void* dlvsym_for_rank(void* handle, const char* name, const char* version) {
  return symbol_for_rank(loaded_handle(handle), name, version,
                         caller_as_loaded(__builtin_return_address(0)));
}
int dlinfo_for_rank(void* handle, int request, void* result) {
  static auto* const real = reinterpret_cast<int (*)(void*, int, void*)>(real::function("dlinfo"));
  return real(loaded_handle(handle), request, result);
}

using Address = int(const void*, Dl_info*, void**, int);

/// dladdr() for a rank: asks the dynamic linker about the same offset in its copy of the module,
/// and moves the addresses of the answer to the rank's image.
int describe_for_rank(const void* address, Dl_info* info, void** extra, int flags,
                      bool with_extra) {
  static auto* real = reinterpret_cast<int (*)(const void*, Dl_info*)>(real::function("dladdr"));
  static auto* real1 = reinterpret_cast<Address*>(real::function("dladdr1"));
  const auto given = reinterpret_cast<uintptr_t>(address);
  const uintptr_t loaded = address_in_first_image(given);
  auto* there = reinterpret_cast<const void*>(loaded);
  const int result = with_extra ? real1(there, info, extra, flags) : real(there, info);
  auto move = [&](auto*& pointer) {
    if (pointer)
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
          reinterpret_cast<uintptr_t>(pointer) + (given - loaded));
  };
  if (result) {
    move(info->dli_fbase);
    move(info->dli_saddr);
  }
  return result;
}

int describe_address(const void* address, Dl_info* info) {
  return describe_for_rank(address, info, nullptr, 0, false);
}

int describe_address_more(const void* address, Dl_info* info, void** extra, int flags) {
  return describe_for_rank(address, info, extra, flags, true);
}

using Visit = int(dl_phdr_info*, size_t, void*);
struct Visitor {
  Visit* visit;
  void* data;
  uint32_t image;
};

/// Calls the visitor with the addresses of the module in the rank's image. Skips a module of
/// which the rank has no image and, with `only_moved`, one that the rank uses in the dynamic
/// linker's copy.
int visit_moved(dl_phdr_info* info, size_t size, const Visitor& visitor, bool only_moved) {
  dl_phdr_info moved = *info;
  const auto headers = reinterpret_cast<uintptr_t>(info->dlpi_phdr);
  const uintptr_t there = of_rank(headers, visitor.image);
  if (!there || (only_moved && there == headers)) return 0;
  moved.dlpi_addr += there - headers;
  moved.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(there);
  return visitor.visit(&moved, size, visitor.data);
}

int visit_for_rank(dl_phdr_info* info, size_t size, void* data) {
  return visit_moved(info, size, *static_cast<const Visitor*>(data), false);
}

int visit_images_of_rank(dl_phdr_info* info, size_t size, void* data) {
  return visit_moved(info, size, *static_cast<const Visitor*>(data), true);
}

using Iterate = int(Visit*, void*);
Iterate* real_iterate() {
  static auto* real = reinterpret_cast<Iterate*>(real::function("dl_iterate_phdr"));
  return real;
}

/// dl_iterate_phdr() for code in the calling rank's own images: shows the rank's images of private
/// libraries, and of the plugins that it has open, in place of the dynamic linker's copies.
int iterate_for_rank(Visit* visit, void* data) {
  Visitor visitor{visit, data, 0};
  calling_image(&visitor.image);
  return real_iterate()(visit_for_rank, &visitor);
}

/// dl_iterate_phdr() for any other code: shows all that the dynamic linker has loaded, and then
/// the rank's images. The caller may be an unwinder that all ranks share, or one in image 0 to
/// which shared libraries are bound (libstdc++ to the _Unwind_RaiseException of a library of the
/// program). The stack has frames of image 0, where such an unwinder lies itself, and of the
/// rank's image.
int iterate_for_shared_code(Visit* visit, void* data) {
  Visitor visitor{visit, data, 0};
  if (const int stopped = real_iterate()(visit, data)) return stopped;
  return image_on_stack(&visitor.image) ? real_iterate()(visit_images_of_rank, &visitor) : 0;
}

#define FGMPI_LOADER_FUNCTION(name, number) #name,
constexpr const char* kLoaderFunctions[] = {FGMPI_LOADER_FUNCTIONS(FGMPI_LOADER_FUNCTION)};
#undef FGMPI_LOADER_FUNCTION
constexpr int kOpen = 0, kSymbol = 2, kVersionedSymbol = 3;
constexpr int kIterate = static_cast<int>(std::size(kLoaderFunctions)) - 1;

/// The C library's function of this entry; looked up at the first call.
FGMPI_NOT_SANITIZED void* plain_function(int entry) {
  static constinit void* known[std::size(kLoaderFunctions)] = {};
  void* function = __atomic_load_n(&known[entry], __ATOMIC_RELAXED);
  if (function) return function;
  function = real::function(kLoaderFunctions[entry]);
  __atomic_store_n(&known[entry], function, __ATOMIC_RELAXED);
  return function;
}

template <class F>
void* pointer_to(F* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

namespace {

/// dlopen(), dlsym() and dlvsym() of a program without images that calls the standard ABI.
void* open_and_bind(const char* file, int mode) {
  static void* const real = real::function("dlopen");
  void* handle = real::call_from(real, __builtin_return_address(0), const_cast<char*>(file),
                                 reinterpret_cast<void*>(static_cast<intptr_t>(mode)), nullptr);
  bind_standard_abi();
  return handle;
}
void* dlsym_by_abi(void* handle, const char* name) {
  return symbol_by_abi(handle, name, nullptr, __builtin_return_address(0));
}
void* dlvsym_by_abi(void* handle, const char* name, const char* version) {
  return symbol_by_abi(handle, name, version, __builtin_return_address(0));
}

/// The function of an entry for a caller that is no rank with an image.
FGMPI_NOT_SANITIZED void* plain_function_for(int entry, uintptr_t caller) {
  if (has_standard_abi() && !in_this_library(caller)) {
    if (entry == kOpen) return pointer_to(open_and_bind);
    if (entry == kSymbol) return pointer_to(dlsym_by_abi);
    if (entry == kVersionedSymbol) return pointer_to(dlvsym_by_abi);
  }
  return plain_function(entry);
}

void* iteration_for(uintptr_t caller) {
  uint32_t rank = 0, code = 0;
  if (!image_on_stack(&rank)) return plain_function(kIterate);
  return image_of_code(caller, &code) && code == rank && calling_image(&rank)
             ? pointer_to(iterate_for_rank)
             : pointer_to(iterate_for_shared_code);
}

void* function_for(int entry, uintptr_t caller) {
  static void* const of_rank[] = {pointer_to(open_for_rank),    pointer_to(close_for_rank),
                                  pointer_to(dlsym_for_rank),   pointer_to(dlvsym_for_rank),
                                  pointer_to(describe_address), pointer_to(describe_address_more),
                                  pointer_to(dlinfo_for_rank)};
  uint32_t k = 0;
  if (in_this_library(caller)) return plain_function(entry);
  if (entry == kIterate) return iteration_for(caller);
  if (!calling_image(&k) || !is_of_program(caller)) return plain_function_for(entry, caller);
  return of_rank[entry];
}
}  // namespace

/// The entry points (machine_code.h) call this. Returns the function to jump to.
extern "C" [[gnu::visibility("hidden"), gnu::used]] FGMPI_NOT_SANITIZED void*
fgmpi_choose_loader_function(int entry, const void* caller) {
  return g_mode == ImageMode::kImages || g_has_guests
             ? function_for(entry, reinterpret_cast<uintptr_t>(caller))
             : plain_function_for(entry, reinterpret_cast<uintptr_t>(caller));
}

}  // namespace fgmpi::privatize
