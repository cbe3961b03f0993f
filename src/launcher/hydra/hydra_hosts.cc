// Hosts of proxies, and the file of those that are lost.

#include "launcher/hydra/hydra_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "launcher/hydra/hydra_commands.h"
#include "launcher/hydra/hydra_guard.h"
#include "launcher/hydra/hydra_newcomers.h"

namespace fgmpi::launcher {
namespace {

void append(int fd, const std::string& line) {
  if (syscall(SYS_write, fd, line.data(), line.size()) < 0) return;
}

/// Hydra does not use descriptors from this number on.
constexpr int kLeastDescriptor = 100;

/// The word of a comma-separated list at this place; "": the list is shorter.
std::string word_at(const std::string& list, uint64_t place) {
  std::istringstream words(list);
  std::string word;
  for (uint64_t i = 0; std::getline(words, word, ','); ++i)
    if (i == place) return word;
  return {};
}

}  // namespace

ProxyHosts::ProxyHosts(std::string folder)
    : folder_(std::move(folder)),
      // A process that becomes another program closes its descriptor of the file.
      launches_(memfd_create("fgmpi-launches", MFD_CLOEXEC)) {
  const int high = launches_ < 0 ? -1 : fcntl(launches_, F_DUPFD_CLOEXEC, kLeastDescriptor);
  if (high >= 0) syscall(SYS_close, std::exchange(launches_, high));
}

void ProxyHosts::record_launch(char* const* argv) const {
  // The host stands in front of the proxy's path; one command for all hosts has a list.
  const char *host = nullptr, *list = nullptr, *before = nullptr, *number = nullptr;
  for (int i = 0; argv[i]; ++i) {
    if (!host && i > 0 && std::strstr(argv[i], kProxy)) host = before;
    if (!std::strcmp(argv[i], "--nodelist")) list = argv[i + 1];
    if (!std::strcmp(argv[i], "--proxy-id")) number = argv[i + 1];
    before = argv[i];
  }
  if (list) host = list, number = "-1";
  if (host && number) append(launches_, std::string(number) + " " + host + "\n");
}

std::string ProxyHosts::name_of(uint64_t proxy) const {
  struct stat file;
  if (launches_ < 0 || fstat(launches_, &file) != 0) return {};
  std::string text(static_cast<size_t>(file.st_size), '\0');
  if (pread(launches_, text.data(), text.size(), 0) < 0) return {};
  std::istringstream lines(text);
  long long number;
  std::string name;
  while (lines >> number >> name) {
    if (number == static_cast<long long>(proxy)) return name;
    if (number < 0) return word_at(name, proxy);
  }
  return {};
}

void ProxyHosts::record_read(int fd, const void* bytes, ssize_t got) {
  const int failure = errno;
  if (got == 0 || (got < 0 && failure != EAGAIN && failure != EINTR)) record_loss(fd);
  if (got > 0 && newcomers_.erase(fd) > 0)
    if (const auto proxy = find_greeter(static_cast<const char*>(bytes), static_cast<size_t>(got)))
      proxies_[fd] = *proxy;
  if (got > 0 && proxies_.contains(fd)) {
    const auto count = static_cast<size_t>(got) / sizeof(int);
    std::vector<int>& last = last_read_[fd];
    last.assign(static_cast<size_t>(got) % sizeof(int) == 0 ? count : 0, 0);
    std::memcpy(last.data(), bytes, last.size() * sizeof(int));
  }
  errno = failure;
}

void ProxyHosts::record_close(int fd) {
  newcomers_.erase(fd);
  if (proxies_.erase(fd) == 0) return;
  for (const int status : last_read_[fd]) {
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) any_exited_badly_ = true;
    if (WIFSIGNALED(status) && killed_by_ == 0) killed_by_ = WTERMSIG(status);
  }
  last_read_.erase(fd);
  // Where a process has ended with a status, its proxy has killed the others.
  const std::string file = folder_ + "/" + kReportedPrefix + std::to_string(killed_by_);
  if (any_exited_badly_ && killed_by_ != 0) unlink(file.c_str());
  if (any_exited_badly_ || killed_by_ == 0) return;
  const int made = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (made >= 0) syscall(SYS_close, made);
}

void ProxyHosts::record_loss(int fd) {
  const auto found = proxies_.find(fd);
  if (found == proxies_.end()) return;
  record(std::to_string(found->second) + " " + name_of(found->second) + "\n");
  proxies_.erase(found);
}

void ProxyHosts::record_unreachable(int process) const {
  record(kLostProcess + std::to_string(process) + "\n");
}

void ProxyHosts::record(const std::string& line) const {
  const std::string path = folder_ + "/" + kLostHosts;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  append(file, line);
  syscall(SYS_close, file);
}

}  // namespace fgmpi::launcher
