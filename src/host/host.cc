// Finding, loading and initialising the hosted MPICH.

#include "host/host.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "base/deep_bound.h"
#include "base/environment.h"
#include "base/error_line.h"
#include "base/installation.h"
#include "base/modules.h"
#include "base/processor.h"
#include "base/settings.h"
#include "host/host_version.h"

extern "C" char** environ;

namespace fgmpi::host {
namespace {

/// The host's library, once it is loaded.
struct HostLibrary {
  Api api{};
  void* handle = nullptr;                ///< of dlopen(); null: not loaded
  const HostVersion* version = nullptr;  ///< of the loaded library; never freed
  bool initialised = false;
};
constinit HostLibrary g_host;

/// True if the file is the library that this code is in.
bool is_this_library(const struct stat& candidate) {
  const auto module = module_at(reinterpret_cast<void*>(&is_this_library));
  struct stat own;
  return module && stat(module->path, &own) == 0 && own.st_dev == candidate.st_dev &&
         own.st_ino == candidate.st_ino;
}

/// Why this file cannot be loaded as the host; nullptr if it can.
const char* reason_not_to_load(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return "no such file";
  if (!S_ISREG(file.st_mode)) return "not a file";
  if (is_this_library(file)) return "this is Finegrain MPI itself";
  return nullptr;
}

/// The environment of the host while it is loaded and initialised: without the launcher's PMI
/// variables, so that it starts as a singleton, and with settings that keep UCX from hooking malloc
/// and from opening devices. The array is never freed: a deep-bound library may read libc's
/// `environ` at any time.
class HostEnvironment {
 public:
  HostEnvironment() : saved_(environ) {
    static std::vector<char*> variables = filtered();

    // A program with a copy relocation of `environ` leaves libc's own slot empty, which deep-bound
    // libraries read.
    void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    slot_ = libc ? static_cast<char***>(dlsym(libc, "environ")) : nullptr;
    environ = variables.data();
    if (slot_ && slot_ != &environ) *slot_ = variables.data();
    if (libc) dlclose(libc);
  }
  ~HostEnvironment() { environ = saved_; }
  HostEnvironment(const HostEnvironment&) = delete;
  HostEnvironment& operator=(const HostEnvironment&) = delete;

 private:
  static std::vector<char*> filtered() {
    std::vector<char*> variables;
    for (char** v = environ; v && *v; ++v)
      if (std::strncmp(*v, "PMI", 3) != 0) variables.push_back(*v);
    static std::string ours[] = {"UCX_MEM_EVENTS=n", "UCX_TLS=self", "UCX_HANDLE_ERRORS=none"};
    constexpr environment::Variable kNames[] = {environment::kUcxMemEvents, environment::kUcxTls,
                                                environment::kUcxHandleErrors};
    for (size_t i = 0; i < std::size(kNames); ++i)
      if (!environment::raw(kNames[i])) variables.push_back(ours[i].data());
    variables.push_back(nullptr);
    return variables;
  }

  char** saved_;
  char*** slot_ = nullptr;
};

/// Asks a loaded library what it is. It may be asked before its MPI_Init.
HostVersion version_of(void* library) {
  // Another library's text may be longer than this header's MPI_MAX_LIBRARY_VERSION_STRING.
  std::vector<char> text(std::max(MPI_MAX_LIBRARY_VERSION_STRING, 1 << 16));
  int length = 0;
  auto* get = reinterpret_cast<decltype(&PMPI_Get_library_version)>(
      dlsym(library, "PMPI_Get_library_version"));
  if (get && get(text.data(), &length) != MPI_SUCCESS) text[0] = 0;
  return read_host_version(text.data());
}

/// Refuses libraries with another ABI than MPICH's; warns once a job of untried ones.
Status check_version(const std::string& path, const HostVersion& version) {
  using Support = HostVersion::Support;
  if (version.support == Support::kStranger)
    return error(MPI_ERR_OTHER,
                 "%s: this is %s; allowed is a library with MPICH's ABI (tried are %s): install "
                 "mpich, or set FGMPI_HOST_MPI to its libmpich.so.12",
                 path.c_str(), version.name.c_str(), kTriedHosts);
  const char* process = environment::raw(environment::kPmiRank);
  if (version.support == Support::kUntried && (!process || std::strcmp(process, "0") == 0))
    std::fprintf(stderr, "fgmpi: warning: the hosted MPI library is %s (%s); tried are %s\n",
                 version.name.c_str(), path.c_str(), kTriedHosts);
  return {};
}

Status load() {
  if (g_host.handle) return {};
  if (dlsym(RTLD_DEFAULT, "__asan_init"))
    return error(
        MPI_ERR_OTHER,
        "the hosted MPI cannot be loaded under the address sanitizer (it refuses RTLD_DEEPBIND)");
  std::string path;
  FGMPI_TRY(find_library(&path));
  HostEnvironment environment;
  void* library = open_deep_bound(path.c_str());
  if (!library) return error(MPI_ERR_OTHER, "the hosted MPI cannot be loaded: %s", dlerror());
  for_each_function([&](auto member, const char* symbol) {
    using Pointer = std::remove_reference_t<decltype(g_host.api.*member)>;
    g_host.api.*member = reinterpret_cast<Pointer>(dlsym(library, symbol));
  });
  if (!g_host.api.Init || !g_host.api.Finalize || !g_host.api.Type_commit ||
      !g_host.api.Reduce_local) {
    dlclose(library);
    return error(MPI_ERR_OTHER, "%s: not an MPI library", path.c_str());
  }
  if (dlsym(library, "fgmpi_functions"))  // another installation, which cannot be a host
    return error(MPI_ERR_OTHER, "%s: this is Finegrain MPI itself", path.c_str());
  g_host.version = new HostVersion(version_of(library));
  FGMPI_TRY(check_version(path, *g_host.version));
  g_host.handle = library;
  return {};
}

Status initialise() {
  if (g_host.initialised) return {};
  FGMPI_TRY(load());
  HostEnvironment environment;
  int code = g_host.api.Init(nullptr, nullptr);
  if (code != MPI_SUCCESS)
    return error(MPI_ERR_OTHER, "the hosted MPI does not start: its MPI_Init returned %d", code);
  // Errors inside the host are returned as codes: the error handlers of this library act on them.
  g_host.api.Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  g_host.api.Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  g_host.initialised = true;
  return {};
}

/// Runs step(), which needs much stack, on the host stack; ends the process when it fails.
void end_unless_ok(Status (*step)()) {
  Status status;
  sched::call_on_host([&] { status = step(); });
  if (status.ok()) return;
  write_error_line(status.what());
  end_process(1);
}

}  // namespace

Status find_library(std::string* path) {
  if (settings::is_set(settings::kHostMpi)) {
    *path = settings::text(settings::kHostMpi);
    const char* why = path->front() == '/' ? reason_not_to_load(*path) : "not an absolute path";
    if (why)
      return error(
          MPI_ERR_OTHER,
          "FGMPI_HOST_MPI=%s: %s; allowed is the absolute path of an MPI library with MPICH's ABI",
          path->c_str(), why);
    return {};
  }
  *path = installed_host_file("lib/libmpich.so.12");
  if (!path->empty()) return {};
  static constexpr std::array kCandidates = {
      FGMPI_HOST_LIBRARY,
      "/usr/lib/" FGMPI_DEBIAN_FOLDER "/libmpich.so.12",
      "/usr/lib64/mpich/lib/libmpich.so.12",
      "/usr/lib64/libmpich.so.12",
      "/usr/lib/libmpich.so.12",
      "/usr/local/lib/libmpich.so.12",
      // The name of upstream's `make install`.
      "/usr/lib64/mpich/lib/libmpi.so.12",
      "/opt/mpich/lib/libmpi.so.12",
      "/usr/local/lib/libmpi.so.12",
  };
  for (const char* candidate : kCandidates) {
    if (reason_not_to_load(candidate)) continue;
    *path = candidate;
    return {};
  }
  std::string looked;
  for (const char* candidate : kCandidates)
    looked += std::string(looked.empty() ? "" : ", ") + candidate;
  return error(MPI_ERR_OTHER,
               "no host MPI found (looked for %s): install mpich, or set FGMPI_HOST_MPI to the "
               "path of an MPI "
               "library with MPICH's ABI",
               looked.c_str());
}

const Api& api() {
  if (__builtin_expect(!g_host.initialised, 0)) end_unless_ok(initialise);
  return g_host.api;
}

const Api& api_uninitialised() {
  if (__builtin_expect(!g_host.handle, 0)) end_unless_ok(load);
  return g_host.api;
}

Status find_version(std::string* name) {
  FGMPI_TRY(load());
  *name = g_host.version->name;
  return {};
}

void* data_symbol(const char* name) { return dlsym(g_host.handle, name); }

bool loaded() { return g_host.handle != nullptr; }
bool initialised() { return g_host.initialised; }

}  // namespace fgmpi::host
