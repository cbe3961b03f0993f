// The text form of a card.

#include "liveness/card.h"

#include <unistd.h>

#include <cstdio>

#include "base/host_name.h"
#include "base/strings.h"
#include "liveness/end_mark.h"

namespace fgmpi::liveness {

std::string Card::to_string() const {
  return format("%d:%d:%d:%s:%s", pid, launcher_fd, end_mark_fd, host_id.c_str(),
                host_name.c_str());
}

bool Card::parse(const std::string& text) {
  char id[81], name[41], rest;
  if (std::sscanf(text.c_str(), "%d:%d:%d:%80[0-9a-f]:%40[A-Za-z0-9._-]%c", &pid, &launcher_fd,
                  &end_mark_fd, id, name, &rest) != 5)
    return false;
  host_id = id;
  host_name = name;
  return pid > 0;
}

Card own_card(int launcher_fd, const std::string& host_id) {
  Card card;
  card.pid = getpid();
  card.launcher_fd = launcher_fd;
  card.end_mark_fd = liveness::end_mark_fd();
  card.host_id = host_id;
  card.host_name = plain_host_name();
  return card;
}

}  // namespace fgmpi::liveness
