// How the process was started and where its code lies, for restarts.
#include <locale.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/build_id.h"
#include "base/environment.h"
#include "base/error_line.h"
#include "base/modules.h"
#include "checkpoint/save.h"

namespace fgmpi::checkpoint {
namespace {

/// Made when it is first used, by a constructor; never destroyed: ranks may save themselves until
/// the process ends.
std::string& words() {
  static auto* made = new std::string;
  return *made;
}

void add(char letter, std::string_view text) {
  words() += letter;
  words() += text;
  words() += '\0';
}

void add_modules() {
  for_each_loaded_module([](const dl_phdr_info& module) {
    const std::string path = path_of(module);
    if (path.find('/') == path.npos) return;  // the kernel's own
    char place[32];
    std::snprintf(place, sizeof place, " %#lx ", static_cast<unsigned long>(module.dlpi_addr));
    add('m', path + place + build_id_of(segments_of(module), module.dlpi_addr));
  });
}

/// The line of a module without its folder: an installation may be at another place.
std::string_view without_folder(std::string_view line) {
  const size_t slash = line.rfind('/');
  return slash == line.npos ? line : line.substr(slash + 1);
}

/// Variables that tell a process its place in its job, which mpiexec and hydra set anew, and the
/// mode of tests, which is that of one run.
bool is_of_launcher(std::string_view variable) {
  for (const std::string_view beginning :
       {"PMI", "HYD", "MPI_LOCAL", "FGMPI_NFG=", "FGMPI_RANKS=", "FGMPI_SHARES=", "FGMPI_RESTART=",
        "FGMPI_HYDRA_INPUT=", "FGMPI_CHECKPOINT=", "FGMPI_PRELOADED=", "GFORTRAN_UNBUFFERED"})
    if (variable.starts_with(beginning)) return true;
  return false;
}

/// Executes the process once more, with the same addresses as each other time, where it has others.
void fix_addresses(char** argv) {
  const int now = personality(0xffffffff);
  if (now < 0 || now & ADDR_NO_RANDOMIZE) return;
  const std::string path = program_path();
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) >= 0 && !path.empty())
    execve(path.c_str(), argv, environ);
  write_error_line(
      std::string("-checkpoint, FGMPI_BALANCE: the system does not let processes have fixed "
                  "addresses: ") +
      std::strerror(errno));
  _exit(1);
}

[[gnu::constructor]] void describe_job(int argc, char** argv, char**) {
  if (!dlsym(RTLD_NEXT, "PMPI_Init")) return;  // not an MPI program: mpiexec.hydra
  read_folders();
  if (!has_folder() && !environment::lets_ranks_move()) return;
  fix_addresses(argv);
  char folder[4096];
  if (getcwd(folder, sizeof folder)) add('c', folder);
  add('x', program_path());
  for (int i = 0; i < argc; ++i) add('a', argv[i]);
  add_modules();
}

}  // namespace

std::string job_words(size_t stack_bytes) {
  std::string all = words();
  const auto add_now = [&](char letter, std::string_view text) {
    all += letter;
    all += text;
    all += '\0';
  };
  char folder[4096];
  if (getcwd(folder, sizeof folder)) add_now('d', folder);
  for (char** variable = environ; *variable; ++variable)
    if (!is_of_launcher(*variable)) add_now('e', *variable);
  add_now('s', std::to_string(stack_bytes));
  add_now('l', setlocale(LC_ALL, nullptr));
  return all;
}

bool same_places(const std::string& saved, std::string* difference) {
  for_each_word(saved, 'm', [&](std::string_view before) {
    bool found = false;
    for_each_word(words(), 'm', [&](std::string_view now) {
      found = found || without_folder(now) == without_folder(before);
    });
    if (!found && difference->empty()) *difference = before;
  });
  return difference->empty();
}

}  // namespace fgmpi::checkpoint
