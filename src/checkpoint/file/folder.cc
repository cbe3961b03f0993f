// The folder of a job's checkpoints.
#include "checkpoint/file/folder.h"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "checkpoint/file/reader.h"

namespace fgmpi::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char kUnfinished[] = ".tmp";

std::string path_of(const std::string& folder, uint64_t number) {
  return folder + "/" + std::to_string(number);
}

std::string file_of(const std::string& checkpoint, uint32_t process) {
  return checkpoint + "/" + std::to_string(process) + ".ckpt";
}

Status failed(const std::string& path, const char* what, const std::error_code& reason) {
  return error(MPI_ERR_IO, "%s cannot be %s: %s", path.c_str(), what, reason.message().c_str());
}

/// The numbers of checkpoints, the latest first, whose folders have this ending.
std::vector<uint64_t> numbers_of(const std::string& folder, std::string_view ending) {
  std::vector<uint64_t> numbers;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    uint64_t number = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (wrong == std::errc() && std::string_view(name).substr(end - name.data()) == ending)
      numbers.push_back(number);
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}
std::vector<uint64_t> complete_numbers(const std::string& folder) { return numbers_of(folder, ""); }

/// Checks that the files of all processes are there and have all ranks, each once.
Status list_files(const std::string& checkpoint, uint64_t number, std::vector<std::string>* files) {
  uint32_t processes = 1, world = 0, next_rank = 0;
  for (uint32_t process = 0; process < processes; ++process) {
    const std::string path = file_of(checkpoint, process);
    CheckpointReader reader;
    FGMPI_TRY(reader.open(path));
    const CheckpointHeader& h = reader.header();
    if (process == 0) {
      processes = h.processes;
      world = h.world_ranks;
    }
    if (h.number != number || h.process != process || h.processes != processes ||
        h.world_ranks != world)
      return error(MPI_ERR_IO, "%s is of another checkpoint or process", path.c_str());
    if (h.first_rank != next_rank)
      return error(MPI_ERR_IO,
                   "%s begins with rank %u; the ranks up to %u are in the files before it",
                   path.c_str(), h.first_rank, next_rank);
    next_rank += h.ranks;
    files->push_back(path);
  }
  if (next_rank != world)
    return error(MPI_ERR_IO, "%s has %u ranks of %u", checkpoint.c_str(), next_rank, world);
  return {};
}

/// Adds a checkpoint, and those that have pages which its files leave out.
void add_with_bases(const std::string& folder, uint64_t number, std::set<uint64_t>* needed) {
  if (number == 0 || !needed->insert(number).second) return;
  uint32_t processes = 1;
  for (uint32_t process = 0; process < processes; ++process) {
    CheckpointReader reader;
    if (!reader.open(file_of(path_of(folder, number), process)).ok()) continue;
    processes = reader.header().processes;
    add_with_bases(folder, reader.header().base, needed);
  }
}

Status sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  return synced ? Status()
                : failed(folder, "written", std::error_code(reason, std::generic_category()));
}

}  // namespace

std::vector<uint64_t> written_checkpoints(const std::string& folder) {
  std::vector<uint64_t> written;
  for (const uint64_t number : numbers_of(folder, kUnfinished)) {
    const std::string path = path_of(folder, number) + kUnfinished;
    CheckpointReader first;
    std::error_code ignored;
    if (!fs::exists(file_of(path, 0), ignored) || !first.open(file_of(path, 0)).ok()) continue;
    bool all = true;
    for (uint32_t process = 1; all && process < first.header().processes; ++process)
      all = fs::exists(file_of(path, process), ignored);
    if (all) written.push_back(number);
  }
  std::sort(written.begin(), written.end());
  return written;
}

uint64_t next_checkpoint(const std::string& folder) {
  uint64_t last = 0;
  for (const char* ending : {"", kUnfinished})
    for (const uint64_t number : numbers_of(folder, ending)) last = std::max(last, number);
  return last + 1;
}

Status begin_checkpoint(const std::string& folder, uint64_t number) {
  std::error_code reason;
  const std::string path = path_of(folder, number) + kUnfinished;
  fs::remove_all(path, reason);
  if (!reason) fs::create_directories(path, reason);
  return reason ? failed(path, "made", reason) : Status();
}

std::string file_to_write(const std::string& folder, uint64_t number, uint32_t process) {
  return file_of(path_of(folder, number) + kUnfinished, process);
}

std::string complete_file(const std::string& folder, uint64_t number, uint32_t process) {
  return file_of(path_of(folder, number), process);
}

Status complete_checkpoint(const std::string& folder, uint64_t number) {
  const std::string path = path_of(folder, number), unfinished = path + kUnfinished;
  std::vector<std::string> files;
  FGMPI_TRY(list_files(unfinished, number, &files));
  FGMPI_TRY(sync_folder(unfinished));
  std::error_code reason;
  fs::rename(unfinished, path, reason);
  if (reason) return failed(unfinished, "renamed", reason);
  FGMPI_TRY(sync_folder(folder));
  const std::vector<uint64_t> complete = complete_numbers(folder);
  constexpr size_t kKept = 2;
  std::set<uint64_t> needed;
  for (size_t i = 0; i < std::min(kKept, complete.size()); ++i)
    add_with_bases(folder, complete[i], &needed);
  for (const uint64_t each : complete)
    if (!needed.contains(each)) fs::remove_all(path_of(folder, each), reason);
  for (const uint64_t before : numbers_of(folder, kUnfinished))
    if (before < number) fs::remove_all(path_of(folder, before) + kUnfinished, reason);
  return {};
}

Status find_checkpoint(const std::string& folder, uint64_t* number) {
  const std::vector<uint64_t> complete = complete_numbers(folder);
  if (complete.empty()) return error(MPI_ERR_IO, "%s has no complete checkpoint", folder.c_str());
  *number = complete.front();
  return {};
}

Status list_checkpoint(const std::string& folder, uint64_t number,
                       std::vector<std::string>* files) {
  return list_files(path_of(folder, number), number, files);
}

}  // namespace fgmpi::checkpoint
