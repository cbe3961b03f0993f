// The text of fgmpi-info -bug: processor, system, limits, variables.

#include "info/bug_report.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "base/processors.h"
#include "base/strings.h"

extern char** environ;

namespace fgmpi::tools {
namespace {

/// Returns the first line of a file that begins with `start`, from behind the next `separator` on;
/// "unknown" where there is no such line.
std::string line_of(const char* path, const char* start, char separator) {
  FILE* file = std::fopen(path, "re");
  if (!file) return "unknown";
  char line[512];
  std::string found = "unknown";
  while (found == "unknown" && std::fgets(line, sizeof line, file)) {
    line[std::strcspn(line, "\n")] = 0;
    if (std::strncmp(line, start, std::strlen(start)) != 0) continue;
    const char* value = separator ? std::strchr(line, separator) : line - 1;
    if (!value) continue;
    ++value;
    found = value + std::strspn(value, " \t");
  }
  std::fclose(file);
  return found;
}

std::string row(const char* name, const std::string& value) {
  return format("%-18s %s\n", name, value.c_str());
}

std::string limit(int resource) {
  rlimit value{};
  if (getrlimit(resource, &value) != 0) return "unknown";
  auto text = [](rlim_t n) {
    return n == RLIM_INFINITY ? std::string("unlimited")
                              : format("%llu", static_cast<unsigned long long>(n));
  };
  return text(value.rlim_cur) + " of " + text(value.rlim_max);
}

std::string shared_memory_folder() {
  struct statvfs info {};
  if (statvfs("/dev/shm", &info) != 0) return "none";
  return format("%llu MiB, %llu free",
                static_cast<unsigned long long>(info.f_blocks * info.f_frsize >> 20),
                static_cast<unsigned long long>(info.f_bavail * info.f_frsize >> 20));
}

std::string variables() {
  std::string out;
  for (char** each = environ; each && *each; ++each)
    for (const char* start : {"FGMPI_", "FI_", "HYDRA_", "MPIR_CVAR_", "OMP_",
                              "PMI_SIZE=", "SLURM_STEP_NUM_TASKS=", "UCX_"})
      if (std::strncmp(*each, start, std::strlen(start)) == 0) out += row("variable", *each);
  return out;
}

}  // namespace

std::string bug_report() {
  utsname system{};
  uname(&system);
  std::string out = row("system", line_of("/etc/os-release", "PRETTY_NAME", '='));
  out += row("kernel", std::string(system.release) + " " + system.machine);
  out += row("processor", line_of("/proc/cpuinfo", "model name", ':'));
  out += row("processors", format("%lld usable of %ld", static_cast<long long>(usable_processors()),
                                  sysconf(_SC_NPROCESSORS_ONLN)));
  out += row("memory", line_of("/proc/meminfo", "MemTotal", ':') + ", " +
                           line_of("/proc/meminfo", "MemAvailable", ':') + " available");
  out += row("control group", line_of("/proc/self/cgroup", "", 0));
  out += row("mappings", line_of("/proc/sys/vm/max_map_count", "", 0));
  out += row("overcommit", line_of("/proc/sys/vm/overcommit_memory", "", 0));
  out += row("ptrace_scope", line_of("/proc/sys/kernel/yama/ptrace_scope", "", 0));
  out += row("seccomp", line_of("/proc/self/status", "Seccomp:", ':'));
  out += row("/dev/shm", shared_memory_folder());
  out += row("stack", limit(RLIMIT_STACK) + " bytes (ulimit -s)");
  out += row("address space", limit(RLIMIT_AS) + " bytes (ulimit -v)");
  out += row("open files", limit(RLIMIT_NOFILE) + " (ulimit -n)");
  out += row("processes", limit(RLIMIT_NPROC) + " (ulimit -u)");
  out += row("locked memory", limit(RLIMIT_MEMLOCK) + " bytes (ulimit -l)");
  return out + variables();
}

}  // namespace fgmpi::tools
