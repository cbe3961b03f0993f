// Published names as files of a folder, or at the launcher.

#include "dynamic/names.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/environment.h"
#include "base/hash.h"
#include "base/strings.h"
#include "dynamic/inside.h"

namespace fgmpi::dynamic {
namespace {

constexpr size_t kMostBytes = 64 << 10;

/// The names that this process has published: service -> file.
std::map<std::string, std::string>& g_published = *new std::map<std::string, std::string>;

Status folder(std::string* path) {
  const char* runtime = environment::text(environment::kRuntimeFolder);
  *path = runtime ? std::string(runtime) + "/fgmpi-names"
                  : format("/tmp/fgmpi-names-%u", static_cast<unsigned>(geteuid()));
  mkdir(path->c_str(), 0700);
  struct stat is;
  if (lstat(path->c_str(), &is) != 0)
    return error(MPI_ERR_OTHER, "the folder of published names, %s: %s", path->c_str(),
                 std::strerror(errno));
  if (!S_ISDIR(is.st_mode) || is.st_uid != geteuid() || (is.st_mode & 077))
    return error(MPI_ERR_OTHER,
                 "the folder of published names, %s, is refused; allowed is a folder of the "
                 "user's that nobody else can enter",
                 path->c_str());
  return {};
}

Status path_of(const std::string& service, std::string* path) {
  FGMPI_TRY(folder(path));
  *path += format("/%016llx%016llx", static_cast<unsigned long long>(hash_text(service, 1)),
                  static_cast<unsigned long long>(hash_text(service, 2)));
  return {};
}

/// The time when a process started, field 22 of /proc/PID/stat; "" when there is no such process.
std::string start_of(long pid) {
  const int fd = open(format("/proc/%ld/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  char text[1024];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = 0;
  const char* at = std::strrchr(text, ')');  // the program's name may hold anything
  for (int field = 2; at && field < 22; ++field) at = std::strchr(at + 1, ' ');
  if (!at) return "";
  const std::string rest(at + 1);
  return rest.substr(0, rest.find(' '));
}

std::string publisher() {
  return format("%ld %s", static_cast<long>(getpid()), start_of(getpid()).c_str());
}

/// Reads the port that a file gives for this service. Returns false when there is none or its
/// publisher has ended.
bool read_entry(const std::string& path, const std::string& service, std::string* port) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  std::string text(kMostBytes, 0);
  const ssize_t n = read(fd, text.data(), text.size());
  close(fd);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  const size_t first = text.find('\n');
  const size_t second = first == text.npos ? text.npos : text.find('\n', first + 1);
  if (second == text.npos) return false;
  const std::string who = text.substr(0, first);
  const long pid = std::strtol(who.c_str(), nullptr, 10);
  if (who != format("%ld %s", pid, start_of(pid).c_str()) ||
      text.substr(first + 1, second - first - 1) != escaped(service))
    return false;
  *port = text.substr(second + 1);
  return true;
}

Status write_entry(const std::string& path, const std::string& text) {
  const std::string whole = path + format(".%d", getpid());
  const int fd = open(whole.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool written =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int why = errno;
  if (fd >= 0) close(fd);
  // link() fails when the name exists, so the first publisher has it.
  const bool linked = written && link(whole.c_str(), path.c_str()) == 0;
  const int link_error = errno;
  unlink(whole.c_str());
  if (linked) return {};
  if (written && link_error == EEXIST)
    return error(MPI_ERR_SERVICE, "the service is published already; allowed is another name");
  return error(MPI_ERR_OTHER, "%s cannot be written: %s", path.c_str(),
               std::strerror(written ? link_error : why));
}

// ---- The launcher's names -----------------------------------------------------------------------

LauncherNames g_launcher;

/// The service in the launcher's protocol, which carries a hash of services and hexadecimal digits
/// of ports.
std::string name_for_launcher(const std::string& service) {
  return format("fgmpi-%016llx%016llx", static_cast<unsigned long long>(hash_text(service, 1)),
                static_cast<unsigned long long>(hash_text(service, 2)));
}

std::string digits_of(const std::string& text) {
  std::string digits;
  for (unsigned char c : text) digits += format("%02x", c);
  return digits;
}

std::string text_of(const std::string& digits) {
  std::string text;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    text += static_cast<char>(std::strtoul(digits.substr(i, 2).c_str(), nullptr, 16));
  return text;
}

bool find_at_launcher(const std::string& service, std::string* port) {
  std::string digits;
  if (!g_launcher.lookup || !g_launcher.lookup(name_for_launcher(service), &digits)) return false;
  *port = text_of(digits);
  return true;
}

/// The longest port that goes to the launcher, as long as a port's name can be. A longer text is
/// published on the host only.
constexpr size_t kMostForLauncher = 256;

}  // namespace

void set_launcher_names(const LauncherNames& names) { g_launcher = names; }

Status publish_name(const std::string& service, const std::string& port) {
  if (inside::is_on()) return inside::publish_name(service, port);
  std::string path, known;
  FGMPI_TRY(path_of(service, &path));
  // Hydra's name server stores a name a second time, although it answers no.
  if (read_entry(path, service, &known) || find_at_launcher(service, &known))
    return error(MPI_ERR_SERVICE,
                 "service_name is \"%s\", which is published already; allowed is another name",
                 escaped(service).c_str());
  unlink(path.c_str());  // left by a process that was killed
  FGMPI_TRY(write_entry(path, publisher() + "\n" + escaped(service) + "\n" + port));
  g_published[service] = path;
  if (g_launcher.publish && port.size() <= kMostForLauncher)
    g_launcher.publish(name_for_launcher(service), digits_of(port));
  return {};
}

Status unpublish_name(const std::string& service) {
  if (inside::is_on()) return inside::unpublish_name(service);
  auto it = g_published.find(service);
  if (it == g_published.end())
    return error(MPI_ERR_SERVICE,
                 "service_name is \"%s\"; allowed is a name that this process has published",
                 escaped(service).c_str());
  unlink(it->second.c_str());
  if (g_launcher.unpublish) g_launcher.unpublish(name_for_launcher(service));
  g_published.erase(it);
  return {};
}

Status lookup_name(const std::string& service, std::string* port) {
  if (inside::is_on()) return inside::lookup_name(service, port);
  std::string path;
  FGMPI_TRY(path_of(service, &path));
  if (read_entry(path, service, port) || find_at_launcher(service, port)) return {};
  return error(MPI_ERR_NAME,
               "service_name is \"%s\"; allowed is a name that a process of this user on this "
               "host, of this job, or of a job with the same name server (mpiexec -nameserver) has "
               "published",
               escaped(service).c_str());
}

void withdraw_names() {
  for (const auto& [service, path] : g_published) {
    unlink(path.c_str());
    if (g_launcher.unpublish) g_launcher.unpublish(name_for_launcher(service));
  }
  g_published.clear();
}

}  // namespace fgmpi::dynamic
