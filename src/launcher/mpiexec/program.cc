// The examination of a program's file: its kind, its libraries, its MPI.

#include "launcher/mpiexec/program.h"

#include <fcntl.h>
#include <mpi.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/elf_file.h"
#include "base/environment.h"
#include "base/processor.h"
#include "base/split.h"

extern char** environ;

namespace fgmpi::launcher {
namespace {

/// The folder in which a relative path begins: that of hydra's -wdir, else the present one ("").
std::string working_folder(const Words& options) {
  std::string folder;
  for (size_t i = 0; i + 1 < options.size(); ++i) {
    std::string_view word = options[i];
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    if (word == "wdir" || word == "wd") folder = options[i + 1] + "/";
  }
  return folder;
}

bool executable_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// The file that execvp would execute; if there is none, the first file of that name, though it is
/// not executable; else "".
std::string find(const std::string& name, const Words& options) {
  if (name.find('/') != name.npos) {
    std::string path = name[0] == '/' ? name : working_folder(options) + name;
    return access(path.c_str(), F_OK) == 0 ? path : "";
  }
  const char* variable = environment::raw(environment::kPath);
  const std::string folders = variable ? variable : "/bin:/usr/bin";
  std::string found;
  for (std::string_view folder : split(folders, ':')) {
    const std::string path =
        (folder.empty() ? working_folder(options) : std::string(folder) + "/") + name;
    if (executable_file(path)) return path;
    if (found.empty() && access(path.c_str(), F_OK) == 0) found = path;
  }
  return found;
}

/// Properties of a program's file; all are empty for a script.
struct Elf {
  bool elf = false;
  bool foreign = false;  ///< for another processor architecture
  std::string interpreter;
  bool position_independent = false;
};

Elf read_elf(const std::string& path) {
  constexpr uint64_t kLongestPath = 4096;
  Elf out;
  ElfFile file;
  if (!file.open(path.c_str())) return out;
  out.elf = true;
  out.foreign = !file.is_native();
  out.position_independent = file.header()->e_type == ET_DYN;
  if (out.foreign) return out;
  file.for_each_segment([&](const ElfW(Phdr) & segment) {
    if (segment.p_type != PT_INTERP || segment.p_filesz > kLongestPath) return;
    const char* text = file.at<char>(segment.p_offset, segment.p_filesz);
    out.interpreter.assign(text ? text : "", text ? strnlen(text, segment.p_filesz) : 0);
  });
  return out;
}

/// True if the file contains the text. Recognises a statically linked MPI program, which contains
/// its functions' names.
bool contains_text(const std::string& path, std::string_view text) {
  FILE* file = fopen(path.c_str(), "re");
  if (!file) return false;
  std::string bytes;
  std::vector<char> buffer(1 << 20);
  bool found = false;
  for (size_t n; !found && (n = fread(buffer.data(), 1, buffer.size(), file)) > 0;) {
    bytes.append(buffer.data(), n);
    found = bytes.find(text) != bytes.npos;
    bytes.erase(0, bytes.size() - std::min(bytes.size(), text.size()));
  }
  fclose(file);
  return found;
}

/// The output of `interpreter --list path`: one library a line, "name => path (address)".
std::string list_libraries(const std::string& interpreter, const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string list = "--list", linker = interpreter, program = path;
  char* arguments[] = {linker.data(), list.data(), program.data(), nullptr};
  pid_t child = 0;
  bool spawned = posix_spawn(&child, linker.c_str(), &actions, nullptr, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; spawned && (n = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  if (spawned) waitpid(child, nullptr, 0);
  return text;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat of_a {
  }, of_b{};
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

/// An MPI library that the dynamic linker would load, by one of the names that ours have.
struct MpiLibrary {
  std::string name, path;
};
constexpr std::string_view kStandardAbi = "libmpi_abi.so";

std::vector<MpiLibrary> mpi_libraries(const std::string& listed) {
  std::vector<MpiLibrary> found;
  for (std::string_view line : split(listed, '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    size_t arrow = line.find(" => "), address = line.rfind(" (");
    if (arrow == line.npos || address == line.npos || address < arrow) continue;
    std::string_view name = line.substr(0, arrow);
    if (name == "libmpich.so.12" || name == "libmpi.so.12" || name.starts_with(kStandardAbi))
      found.push_back(
          {std::string(name), std::string(line.substr(arrow + 4, address - arrow - 4))});
  }
  return found;
}

/// The first MPI library that is not one of ours in that folder, or "".
std::string other_library(const std::vector<MpiLibrary>& libraries, const std::string& folder) {
  for (const MpiLibrary& library : libraries)
    if (!same_file(library.path, folder + "/" + library.name)) return library.path;
  return "";
}

}  // namespace

namespace {

constexpr const char* kLibrary = "libmpich.so.12";
constexpr const char* kStandardLibrary = "libmpi_abi.so.1";
constexpr const char* kFortranLibrary = "libmpichfort.so.12";

/// True where LD_PRELOAD can hold the path: it separates paths by spaces and colons.
bool library_folder_is_plain(const std::string& library) {
  return library.find_first_of(" :") == library.npos;
}

/// Adds options of hydra that preload the library. src/privatize/load/preload.cc restores
/// LD_PRELOAD, so that programs started by this one do not inherit it. Libraries that were
/// preloaded already stay in front: profiling tools interpose MPI.
void preload(const std::string& library, Words* additions) {
  const char* before = environment::text(environment::kPreload);
  for (const std::string& word :
       {std::string("-env"), std::string(environment::name(environment::kPreloaded)),
        std::string(before ? before : ""), std::string("-env"),
        std::string(environment::name(environment::kPreload)),
        (before ? std::string(before) + ":" : "") + library})
    additions->push_back(word);
}

}  // namespace

Status find_dynamic_program(const std::string& name, std::string* path) {
  *path = find(name, {});
  if (path->empty())
    return error(MPI_ERR_NO_SUCH_FILE, "%s: no such program; allowed is a program of an MPI job",
                 name.c_str());
  const Elf elf = read_elf(*path);
  if (executable_file(*path) && elf.elf && !elf.foreign && !elf.interpreter.empty()) return {};
  return error(MPI_ERR_ACCESS,
               "%s: allowed is a program for %s that may be executed and is linked dynamically",
               path->c_str(), processor::kName);
}

bool can_share_process(const Words& program, const Words& options) {
  if (program.empty()) return false;
  const std::string path = find(program.front(), options);
  if (path.empty() || !executable_file(path)) return false;
  const Elf elf = read_elf(path);
  return elf.elf && !elf.foreign && elf.position_independent && !elf.interpreter.empty() &&
         !mpi_libraries(list_libraries(elf.interpreter, path)).empty();
}

Status inspect_program(const Words& program, const Words& options, int64_t ranks_each, bool by_nfg,
                       bool elsewhere, const std::string& library_folder, Words* additions) {
  if (program.empty()) return {};
  const char* name = program.front().c_str();
  const std::string path = find(program.front(), options);
  if (path.empty()) {
    if (elsewhere) return {};
    return error(MPI_ERR_NO_SUCH_FILE, "%s: no such program%s", name,
                 strchr(name, '/') ? "" : " in PATH; one of this folder is called ./program");
  }
  if (!executable_file(path)) {
    if (elsewhere) return {};
    struct stat info {};
    bool folder = stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    return error(MPI_ERR_ACCESS, "%s: %s; allowed is a program that may be executed", path.c_str(),
                 folder ? "is a folder" : "may not be executed");
  }
  const Elf elf = read_elf(path);
  if (!elf.elf) return {};  // a script: programs that it starts use LD_LIBRARY_PATH
  if (elf.foreign)
    return error(MPI_ERR_ACCESS, "%s: is for another kind of machine; allowed are programs for %s",
                 path.c_str(), processor::kName);
  if (elf.interpreter.empty()) {
    if (ranks_each > 1 && contains_text(path, "MPI_Init"))
      return error(MPI_ERR_ARG,
                   "%s: %lld ranks a process, but the program is linked statically and has an MPI "
                   "library of its own; "
                   "allowed is one, or link it with mpicc, mpicxx or mpifort",
                   path.c_str(), static_cast<long long>(ranks_each));
    return {};
  }
  const std::string ours = library_folder + "/" + kLibrary;
  const std::string listed = list_libraries(elf.interpreter, path);
  const std::vector<MpiLibrary> libraries = mpi_libraries(listed);
  const std::string other = other_library(libraries, library_folder);
  if (listed.find("libtsan.so") != listed.npos)
    return error(MPI_ERR_ARG,
                 "%s: is built with ThreadSanitizer, which knows threads, but not ranks that take "
                 "turns on one; allowed are -fsanitize=address, leak and undefined",
                 path.c_str());
  // A program that is not linked with MPI may load it while it runs: then its ranks begin
  // (src/privatize/load/late_ranks.h). With -ranks this is not possible: a process asks the
  // launcher for its number of ranks, and could not pass that connection on when it executes
  // another program, as `env` does.
  const bool may_load = ranks_each > 1 && by_nfg && elf.position_independent && libraries.empty();
  const bool plain = library_folder_is_plain(ours);
  if (may_load) return preload(plain ? ours : kLibrary, additions), Status();
  // A program of the standard ABI names libc before the library that interposes it.
  const bool standard = std::any_of(libraries.begin(), libraries.end(), [](const MpiLibrary& l) {
    return l.name.starts_with(kStandardAbi);
  });
  if (standard && (plain || other.empty()))
    return preload(plain ? ours + ":" + library_folder + "/" + kStandardLibrary
                         : std::string(kLibrary) + ":" + kStandardLibrary,
                   additions),
           Status();
  if (other.empty()) return {};
  if (!plain)
    return error(MPI_ERR_ARG,
                 "%s: would load %s instead of %s, by an RPATH of its own, and cannot be kept from "
                 "it while the path of "
                 "ours has a space or colon; link it with mpicc, mpicxx or mpifort",
                 path.c_str(), other.c_str(), ours.c_str());
  // Procedures of Fortran are ours, too, whatever the RPATH finds.
  const bool fortran =
      listed.find("libmpichfort.so") != listed.npos || listed.find("libmpifort.so") != listed.npos;
  preload(fortran ? ours + ":" + library_folder + "/" + kFortranLibrary : ours, additions);
  return {};
}

bool environment_names_hosts() {
  using namespace environment;
  const Variable variables[] = {kHydraHostFile, kSlurmJob, kPbsNodes, kLsfHosts, kGridEngineHosts};
  return std::any_of(std::begin(variables), std::end(variables),
                     [](Variable variable) { return raw(variable) != nullptr; });
}

int exit_status(const Status& status) {
  return status.error_class() == MPI_ERR_NO_SUCH_FILE ? kNotFound
         : status.error_class() == MPI_ERR_ACCESS     ? kNotExecutable
                                                      : 1;
}

std::vector<char*> pointers_to(const Words& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int wait_for_child(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace fgmpi::launcher
