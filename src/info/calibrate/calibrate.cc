// The jobs of fgmpi-info -calibrate.

#include "info/calibrate/calibrate.h"

#include <fcntl.h>
#include <mpi.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/host_name.h"
#include "launcher/mpiexec/paths.h"
#include "launcher/mpiexec/program.h"
#include "readers/prediction/calibration.h"

namespace fgmpi::tools {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kMeasuring = "lib/fgmpi/fgmpi-calibrate";

/// Runs a command. *out: what it writes to standard output.
Status run_command(Words words, std::string* out) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return error(MPI_ERR_OTHER, "a pipe cannot be made: %s", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char bytes[4096];
  for (ssize_t n = 0; !failed && ((n = read(ends[0], bytes, sizeof bytes)) > 0 || errno == EINTR);)
    if (n > 0) out->append(bytes, static_cast<size_t>(n));
  close(ends[0]);
  if (failed)
    return error(MPI_ERR_ARG, "%s cannot be started: %s", words[0].c_str(), std::strerror(failed));
  const int status = launcher::wait_for_child(child);
  if (status == 0) return {};
  std::fwrite(out->data(), 1, out->size(), stderr);
  return error(MPI_ERR_ARG, "the measuring job ended with status %d", status);
}

/// Runs the measuring program on these hosts, one process on each or two on one; "": here.
Status measure(const CalibrateWishes& wishes, const std::string& hosts, int processes,
               predict::MeasuredLinks* out) {
  std::string prefix;
  FGMPI_TRY(launcher::find_prefix(&prefix));
  const std::string program = prefix + "/" + kMeasuring;
  if (access(program.c_str(), X_OK) != 0)
    return error(MPI_ERR_ARG, "%s: %s", program.c_str(), std::strerror(errno));
  Words words = {prefix + "/bin/mpiexec"};
  words.insert(words.end(), wishes.mpiexec_options.begin(), wishes.mpiexec_options.end());
  if (!hosts.empty()) words.insert(words.end(), {"-hosts", hosts});
  words.insert(words.end(), {"-n", std::to_string(processes), "-nfg", "1", program});
  std::string text;
  FGMPI_TRY(run_command(words, &text));
  return predict::read_measured_links(text, out);
}

Status write_machine(const std::string& path, const std::string& text) {
  if (path.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) return error(MPI_ERR_ARG, "-o %s: cannot be written", path.c_str());
  return {};
}

}  // namespace

Status calibrate(const CalibrateWishes& wishes) {
  std::vector<predict::CalibratedHost> hosts;
  if (!wishes.host_file.empty()) {
    std::ifstream in(wishes.host_file);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) return error(MPI_ERR_ARG, "-hosts %s: cannot be read", wishes.host_file.c_str());
    FGMPI_TRY(predict::read_host_file(text.str(), wishes.host_file, &hosts));
  }
  // Measuring takes a while: what cannot be written is said before.
  if (!wishes.out.empty() && !std::ofstream(wishes.out, std::ios::app))
    return error(MPI_ERR_ARG, "-o %s: cannot be written", wishes.out.c_str());
  predict::MeasuredMachine machine;
  machine.name = hosts.empty() ? host_name() : wishes.host_file;
  machine.nodes = std::max<uint32_t>(static_cast<uint32_t>(hosts.size()), 1);
  const long cores = std::max(sysconf(_SC_NPROCESSORS_ONLN), 1l);
  machine.ranks_per_node = static_cast<uint32_t>(cores);
  for (const predict::CalibratedHost& host : hosts)
    if (host.ranks) machine.ranks_per_node = host.ranks;
  FGMPI_TRY(measure(wishes, hosts.empty() ? "" : hosts[0].name + ":2", 2, &machine.inside));
  predict::MeasuredLinks between;
  if (hosts.size() > 1) {
    std::string list;
    for (const predict::CalibratedHost& host : hosts)
      list += (list.empty() ? "" : ",") + host.name + ":1";
    FGMPI_TRY(measure(wishes, list, static_cast<int>(hosts.size()), &between));
    machine.between = &between;
  }
  return write_machine(wishes.out, predict::machine_file_of(machine));
}

}  // namespace fgmpi::tools
