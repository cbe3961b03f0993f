// The lines of events, with lines of the program.

#include "launcher/mpiexec/listed_events.h"

#include <mpi.h>
#include <sys/socket.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "readers/findings/report.h"
#include "rewind/control.h"
#include "rewind/hooks.h"

namespace fgmpi::launcher {
using rewind::ControlReport;
using rewind::ListedEvent;

void PlaceNames::read_mappings() {
  std::ifstream maps("/proc/" + std::to_string(process_) + "/maps");
  std::map<std::string, uint64_t> bases;  // where each file begins, most recently
  files_.clear();
  for (std::string line; std::getline(maps, line);) {
    uint64_t low = 0, high = 0, offset = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &low, &high,
                    &offset, &path) < 3)
      continue;
    const std::string file = line.substr(static_cast<size_t>(path));
    if (!file.starts_with('/')) continue;
    if (offset == 0) bases[file] = low;
    files_.push_back({low, high, bases[file], file});
  }
}

const std::string& PlaceNames::name(uint64_t place) {
  const auto [at, fresh] = names_.try_emplace(place);
  if (fresh) at->second = find(place);
  return at->second;
}

std::string PlaceNames::find(uint64_t place) const {
  for (const MappedFile& file : files_) {
    if (place < file.low || place >= file.high) continue;
    const findings::SourceLine found = findings::find_line({file.path, place - 1 - file.base});
    if (found.line <= 0) return file.path.substr(file.path.rfind('/') + 1);
    return found.file.substr(found.file.rfind('/') + 1) + ":" + std::to_string(found.line) +
           (found.function.empty() ? "" : " (" + found.function + ")");
  }
  return "?";
}

bool ReportReader::receive_plain(ControlReport* report, int* fd) {
  *fd = -1;
  size_t done = 0;
  while (done < sizeof *report) {
    iovec part{reinterpret_cast<char*>(report) + done, sizeof *report - done};
    alignas(cmsghdr) char words[CMSG_SPACE(sizeof *fd)];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = words;
    message.msg_controllen = sizeof words;
    const ssize_t n = recvmsg(control_, &message, MSG_CMSG_CLOEXEC);
    if (n <= 0) return false;
    if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header && header->cmsg_type == SCM_RIGHTS)
      std::memcpy(fd, CMSG_DATA(header), sizeof *fd);
    done += static_cast<size_t>(n);
  }
  report->call[sizeof report->call - 1] = 0;
  return true;
}

bool ReportReader::receive(ControlReport* report, int* fd) {
  constexpr uint64_t kMostEvents = 1 << 16;
  while (receive_plain(report, fd)) {
    if (report->kind == ControlReport::kCallName) {
      calls_[static_cast<uint32_t>(report->number)] = report->call;
      continue;
    }
    if (report->kind != ControlReport::kEvents) return true;
    if (report->number > kMostEvents) return false;
    events_.resize(report->number);
    const size_t bytes = report->number * sizeof(ListedEvent);
    return recv(control_, events_.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
  }
  return false;
}

std::string words_of_event(const ListedEvent& event, const std::string& call) {
  std::string words = "rank " + std::to_string(event.rank) + " " + call;
  if (event.partner == MPI_ANY_SOURCE)
    words += " any rank";
  else if (event.partner == MPI_PROC_NULL)
    words += " no rank";
  else if (event.partner != rewind::kNoPartner)
    words += " rank " + std::to_string(event.partner);
  return event.count ? words + ", count " + std::to_string(event.count) : words;
}

void print_events(int control, pid_t process, const LaunchPlan::Rewind& wishes) {
  PlaceNames places(process);
  ReportReader reader(control);
  ControlReport report;
  uint64_t number = 0;
  for (int fd; reader.receive(&report, &fd);) {
    if (report.kind != ControlReport::kEvents) continue;
    if (number == 0) places.read_mappings();
    for (const ListedEvent& event : reader.events()) {
      ++number;
      const std::string& call = reader.call_name(event.call);
      const bool wanted = (wishes.rank < 0 || event.rank == wishes.rank) &&
                          (wishes.call.empty() || wishes.call == call);
      if (wanted)
        std::printf("%" PRIu64 " %s at %s\n", number, words_of_event(event, call).c_str(),
                    places.name(event.place).c_str());
    }
  }
}

}  // namespace fgmpi::launcher
