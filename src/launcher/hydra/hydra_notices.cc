// The processes that expect SIGUSR1, found by their signal sets.

#include "launcher/hydra/hydra_notices.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/process_memory.h"

namespace fgmpi::launcher {
namespace {

struct SignalSets {
  unsigned long long caught = 0, blocked = 0;
  char state = 0;  ///< 'S': it sleeps until something happens
};

/// The signal sets and the state of the process's first thread; empty where there is no such
/// process.
SignalSets signal_sets_of(pid_t process) {
  char name[64], line[256];
  std::snprintf(name, sizeof name, "/proc/%d/status", process);
  FILE* file = std::fopen(name, "re");
  SignalSets sets;
  while (file && std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "State: %c", &sets.state) != 1 &&
        std::sscanf(line, "SigBlk: %llx", &sets.blocked) != 1 &&
        std::sscanf(line, "SigCgt: %llx", &sets.caught) == 1)
      break;
  if (file) std::fclose(file);
  return sets;
}

bool has(unsigned long long set, int number) { return set >> (number - 1) & 1; }

/// The signals that the process's first thread waits for in sigwait() or one of its relatives. The
/// kernel does not count them as blocked meanwhile.
unsigned long long awaited_by(pid_t process) {
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%d/syscall", process);
  FILE* file = std::fopen(name, "re");
  long call = -1;
  unsigned long long address = 0, set = 0;
  const bool is_in_call = file && std::fscanf(file, "%ld %llx", &call, &address) == 2;
  if (file) std::fclose(file);
  const bool waits = is_in_call && call == SYS_rt_sigtimedwait;
  return waits && ProcessMemory(process).read(address, &set, sizeof set) ? set : 0;
}

/// True where the process will read or wait for the signal that it has blocked. A shell that forks
/// blocks all signals for a moment, and would die of this one afterwards: that moment has passed
/// when the process sleeps, or when it has been looked at a number of times.
bool blocks_to_wait(pid_t process, int number) {
  constexpr int kLooks = 20;
  for (int look = 0; look < kLooks; ++look) {
    const SignalSets sets = signal_sets_of(process);
    if (!has(sets.blocked, number)) return false;
    if (sets.state == 'S') return true;
    timespec pause = {0, 1'000'000};
    syscall(SYS_nanosleep, &pause, nullptr);
  }
  return true;
}

bool expects(pid_t process, int number) {
  if (is_copy(process)) return false;
  return has(signal_sets_of(process).caught | awaited_by(process), number) ||
         blocks_to_wait(process, number);
}

}  // namespace

bool catches(pid_t process, int number) { return has(signal_sets_of(process).caught, number); }

bool is_copy(pid_t process) {
  char name[64];
  struct stat theirs, own;
  std::snprintf(name, sizeof name, "/proc/%d/exe", process);
  return stat(name, &theirs) != 0 || (stat("/proc/self/exe", &own) == 0 &&
                                      theirs.st_dev == own.st_dev && theirs.st_ino == own.st_ino);
}

void send_to_those_that_expect_it(pid_t group, int number) {
  DIR* all = opendir("/proc");
  while (const dirent* entry = all ? readdir(all) : nullptr) {
    const pid_t process = std::atoi(entry->d_name);
    if (process <= 0 || getpgid(process) != group) continue;
    if (expects(process, number)) syscall(SYS_kill, process, number);
  }
  if (all) closedir(all);
}

}  // namespace fgmpi::launcher
