// The host's name, from the system and in characters that protocols allow.

#include "base/host_name.h"

#include <unistd.h>

#include <cctype>
#include <cerrno>

namespace fgmpi {

std::string host_name() {
  const int why = errno;
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  errno = why;
  return *name ? name : "unknown";
}

std::string plain_host_name() {
  std::string name = host_name().substr(0, kMostHostName);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  return name;
}

}  // namespace fgmpi
