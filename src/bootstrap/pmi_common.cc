// Numbers of the environment, the inherited connection, and checks of keys and values for both PMI
// clients.

#include "bootstrap/pmi_common.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/stand_still.h"
#include "base/strings.h"

namespace fgmpi::bootstrap {
namespace {

void let_launcher_read(int output) {
  int unread = 0;
  for (int tries = 0; tries < 200 && ioctl(output, FIONREAD, &unread) == 0 && unread > 0; ++tries)
    stand_still(1'000'000);
}

}  // namespace

Status environment_number(environment::Variable variable, int* value) {
  const char* text = environment::text(variable);
  auto number = text ? parse_int(text) : std::nullopt;
  if (!number || *number < 0 || *number > INT32_MAX)
    return error(MPI_ERR_OTHER, "%s=%s: allowed is a number from 0 (set by the launcher)",
                 environment::name(variable), text ? text : "");
  *value = static_cast<int>(*number);
  return {};
}

Status inherited_connection(int* fd) {
  FGMPI_TRY(environment_number(environment::kPmiFd, fd));
  if (fcntl(*fd, F_GETFD) >= 0) return {};
  return error(MPI_ERR_OTHER,
               "PMI_FD=%d: not an open file descriptor (unset PMI_FD to run without launcher)",
               *fd);
}

Status check_pair(const std::string& key, size_t max_key, const std::string& value,
                  size_t max_value) {
  auto bad = [](unsigned char c) { return c <= ' ' || c > '~' || c == '=' || c == ';'; };
  if (key.empty() || key.size() > max_key || std::any_of(key.begin(), key.end(), bad))
    return error(MPI_ERR_OTHER,
                 "key '%s': allowed are 1 to %zu printable characters without space, '=' or ';'",
                 key.c_str(), max_key);
  if (value.size() > max_value || std::any_of(value.begin(), value.end(), bad))
    return error(MPI_ERR_OTHER,
                 "value of '%s' (%zu bytes): allowed are at most %zu printable bytes without "
                 "space, '=' or ';'",
                 key.c_str(), value.size(), max_value);
  return {};
}

void let_launcher_read_output() {
  let_launcher_read(STDOUT_FILENO);
  let_launcher_read(STDERR_FILENO);
}

}  // namespace fgmpi::bootstrap
