// fgmpi-info: which Finegrain MPI this is, what it found on this machine, and which MPI functions
// it has.

#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/environment.h"
#include "base/split.h"
#include "base/standard_files.h"
#include "base/strings.h"
#include "host/function_table.h"
#include "host/host.h"
#include "info/bug_report.h"
#include "info/calibrate/calibrate.h"
#include "info/here.h"
#include "info/job_ranks.h"
#include "info/settings_page.h"
#include "info/tool_variables.h"
#include "launcher/mpiexec/paths.h"
#include "launcher/mpiexec/program.h"
#include "readers/prediction/machine_file.h"

namespace {

constexpr const char* kHelp =
    "Usage: fgmpi-info [-a] [-v] [-s [-markdown]] [-t] [-libs PROGRAM] [-job PID] [-predict] "
    "[-calibrate ...]\n"
    "                  [-bug] [-help] [-version]\n"
    "\n"
    "Prints the version, where things are, and how many MPI functions are there.\n"
    "  -a   also each function: owned (our own code), forwarded (to the hosted MPICH) or pending "
    "(it fails\n"
    "       with MPI_ERR_UNSUPPORTED_OPERATION)\n"
    "  -v   also where this process is bound, on which host, and which transport reaches which "
    "process;\n"
    "       under mpiexec each process says this of itself\n"
    "  -s   instead all settings, their present values and where each comes from\n"
    "  -markdown   with -s: the page docs/settings.md, whatever the environment\n"
    "  -t   instead the variables of the tools interface (MPI_T): control variables with their "
    "values,\n"
    "       performance variables, categories; this library's, then the hosted MPICH's\n"
    "  -libs PROGRAM   instead the libraries of which each rank of the program would have its own "
    "copy, why,\n"
    "       and what that costs. The program is loaded, but does not run\n"
    "  -job PID   instead what the ranks of a running job do now, those that do the same together: "
    "PID is "
    "that of\n"
    "       mpiexec or of a process of the job, on this host. The job is not stopped\n"
    "  -predict   instead the machines that mpiexec -predict knows by name\n"
    "  -calibrate [-hosts FILE] [-o FILE] [-mpiexec OPTIONS]   instead measures this machine, or "
    "the "
    "hosts of a\n"
    "       host file, and writes a machine for mpiexec -predict to the file of -o or to standard "
    "output;\n"
    "       OPTIONS, in one word: further options for the mpiexec that starts the measuring "
    "program\n"
    "  -bug   also what a bug report needs: system, limits, memory, variables that are set\n";

const char* kind_name(fgmpi_function::FunctionKind kind) {
  switch (kind) {
    case fgmpi_function::kOwned:
      return "owned";
    case fgmpi_function::kForwarded:
      return "forwarded";
    case fgmpi_function::kPending:
      return "pending";
  }
  return "";
}

/// The optional parts that this build has, and those that it lacks.
void print_parts() {
  struct BuildPart {
    const char* name;
    bool here;
    const char* gives;
    const char* why;
  };
  static constexpr BuildPart kParts[] = {
#define FGMPI_BUILD_PART(name, here, gives, why) {name, here, gives, why},
#include "build_parts.def"
#undef FGMPI_BUILD_PART
  };
  std::string here;
  for (const BuildPart& part : kParts)
    if (part.here) here += std::string(here.empty() ? "" : ", ") + part.name;
  std::printf("%-18s %s\n", "optional parts", here.empty() ? "none" : here.c_str());
  for (const BuildPart& part : kParts)
    if (!part.here) std::printf("%-18s %s: %s; %s\n", "  missing", part.name, part.gives, part.why);
}

void print_found(const char* what, fgmpi::Status (*find)(std::string*)) {
  std::string path;
  fgmpi::Status status = find(&path);
  std::printf("%-18s %s\n", what,
              status.ok() ? path.c_str() : ("not found: " + status.what()).c_str());
}

void print_functions(bool each) {
  int counts[3] = {};
  for (const fgmpi_function* f = fgmpi_functions; f->name; ++f) ++counts[f->kind];
  std::printf("%-18s %d owned, %d forwarded to the host, %d pending\n", "MPI functions",
              counts[fgmpi_function::kOwned], counts[fgmpi_function::kForwarded],
              counts[fgmpi_function::kPending]);
  for (const fgmpi_function* f = fgmpi_functions; each && f->name; ++f)
    std::printf("  %-9s %s\n", kind_name(f->kind), f->name);
}

/// Prints the settings by one write, so that the lines of several processes do not mix.
int print_settings(bool markdown) {
  bool good = true;
  const std::string text =
      markdown ? fgmpi::tools::settings_page() : fgmpi::tools::list_settings(&good);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return good ? 0 : 1;
}

/// Executes the program. The library in it prints the list and ends the process before main().
int list_libraries(const char* name) {
  std::string path, prefix;
  fgmpi::Status status = fgmpi::launcher::find_dynamic_program(name, &path);
  if (status.ok()) status = fgmpi::launcher::find_prefix(&prefix);
  if (status.ok()) {
    fgmpi::environment::put_first(fgmpi::environment::kLibraryPath, prefix + "/lib");
    // The library is preloaded, in case the program is not linked with it. The variable has its
    // name, not its path, which may hold spaces.
    fgmpi::environment::put_first(fgmpi::environment::kPreload, "libmpich.so.12");
    fgmpi::environment::set(fgmpi::environment::kListLibraries, "1");
    execl(path.c_str(), name, static_cast<char*>(nullptr));
    status = fgmpi::error(MPI_ERR_ACCESS, "%s: %s", path.c_str(), std::strerror(errno));
  }
  std::fprintf(stderr, "fgmpi-info: -libs: %s\n", status.what().c_str());
  return 1;
}

int show_job(const char* number) {
  const auto pid = fgmpi::parse_int(number);
  if (!pid || *pid < 1 || *pid > INT32_MAX) {
    std::fprintf(stderr, "fgmpi-info: -job %s: allowed is the number of a process\n", number);
    return 1;
  }
  std::string text;
  const fgmpi::Status status = fgmpi::tools::describe_job(static_cast<pid_t>(*pid), &text);
  if (!status.ok()) {
    std::fprintf(stderr, "fgmpi-info: -job %s\n", status.what().c_str());
    return 1;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

/// Prints this host's answer to a fgmpi-info -job on another host.
int show_part(const char* control_port, const char* proxy_id) {
  std::string text;
  if (!fgmpi::tools::describe_part(control_port, proxy_id, &text).ok()) return 1;
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

/// The arguments behind -calibrate.
int calibrate_machine(char** words) {
  fgmpi::tools::CalibrateWishes wishes;
  for (; *words; words += 2) {
    const char* option = *words + (std::strncmp(*words, "--", 2) == 0);
    const bool known = std::strcmp(option, "-hosts") == 0 || std::strcmp(option, "-o") == 0 ||
                       std::strcmp(option, "-mpiexec") == 0;
    if (!known || !words[1] || !*words[1]) {
      std::fprintf(stderr,
                   "fgmpi-info: -calibrate: %s%s; allowed are -hosts FILE, -o FILE and -mpiexec "
                   "OPTIONS\n",
                   *words, known ? ": nothing is behind it" : "");
      return 1;
    }
    if (option[1] == 'h') wishes.host_file = words[1];
    if (option[1] == 'o') wishes.out = words[1];
    if (option[1] != 'm') continue;
    for (std::string_view word : fgmpi::split(words[1], ' '))
      if (!word.empty()) wishes.mpiexec_options.emplace_back(word);
  }
  const fgmpi::Status status = fgmpi::tools::calibrate(wishes);
  if (status.ok()) return 0;
  std::fprintf(stderr, "fgmpi-info: -calibrate: %s\n", status.what().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  fgmpi::open_standard_files();
  bool each = false, verbose = false, settings = false, markdown = false, bug = false;
  for (int i = 1; i < argc; ++i) {
    const char* option = argv[i];
    if (std::strncmp(option, "--", 2) == 0) ++option;
    if (std::strcmp(option, "-a") == 0) {
      each = true;
    } else if (std::strcmp(option, "-v") == 0) {
      verbose = true;
    } else if (std::strcmp(option, "-s") == 0) {
      settings = true;
    } else if (std::strcmp(option, "-bug") == 0) {
      bug = true;
    } else if (std::strcmp(option, "-markdown") == 0) {
      markdown = true;
    } else if (std::strcmp(option, "-t") == 0) {
      const fgmpi::Status status = fgmpi::tools::list_variables(argv);
      if (status.ok()) return 0;
      std::fprintf(stderr, "fgmpi-info: -t: %s\n", status.what().c_str());
      return 1;
    } else if (std::strcmp(option, "-libs") == 0) {
      if (i + 1 < argc) return list_libraries(argv[i + 1]);
      std::fputs("fgmpi-info: -libs: the name of a program is missing behind it\n", stderr);
      return 1;
    } else if (std::strcmp(option, "-job") == 0) {
      return show_job(i + 1 < argc ? argv[i + 1] : "");
    } else if (std::strcmp(option, "-predict") == 0) {
      for (const auto& preset : fgmpi::predict::machine_presets())
        std::printf("%-16s %s\n%s\n\n", preset.name, preset.text, preset.json);
      std::fputs(fgmpi::predict::machine_keys(), stdout);
      return 0;
    } else if (std::strcmp(option, "-calibrate") == 0) {
      return calibrate_machine(argv + i + 1);
    } else if (std::strcmp(option, "-job-part") == 0 && i + 2 < argc) {
      return show_part(argv[i + 1], argv[i + 2]);
    } else if (std::strcmp(option, "-help") == 0 || std::strcmp(option, "-h") == 0) {
      std::fputs(kHelp, stdout);
      return 0;
    } else if (std::strcmp(option, "-version") == 0) {
      std::printf("Finegrain MPI %s\n", FGMPI_VERSION);
      return 0;
    } else {
      std::fprintf(stderr,
                   "fgmpi-info: %s: allowed are -a, -v, -s, -markdown, -t, -libs PROGRAM, -job "
                   "PID, -predict, -calibrate, -bug, -help "
                   "and -version\n",
                   argv[i]);
      return 1;
    }
  }
  if (settings) return print_settings(markdown);
  std::string here;
  if (verbose) {
    int rank = 0;
    here = fgmpi::tools::describe_process(&rank);
    if (rank > 0) {
      // One write prints all, so that the lines of several processes do not mix.
      std::fwrite(here.data(), 1, here.size(), stdout);
      return 0;
    }
  }
  std::printf("%-18s %s\n", "Finegrain MPI", FGMPI_VERSION);
  std::printf("%-18s %s\n", "built with", FGMPI_BUILD);
  std::printf("%-18s MPI %d.%d, ABI of MPICH %s\n", "interface", MPI_VERSION, MPI_SUBVERSION,
              MPICH_VERSION);
  print_found("prefix", fgmpi::launcher::find_prefix);
  print_found("host library", fgmpi::host::find_library);
  print_found("host version", fgmpi::host::find_version);
  print_found("launcher", fgmpi::launcher::find_hydra);
  print_parts();
  print_functions(each);
  std::fwrite(here.data(), 1, here.size(), stdout);
  if (bug) std::fputs(fgmpi::tools::bug_report().c_str(), stdout);
  return 0;
}
