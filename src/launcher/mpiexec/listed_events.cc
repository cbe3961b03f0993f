// The lines of events, with lines of the program.

#include "launcher/mpiexec/listed_events.h"

#include <mpi.h>
#include <sys/socket.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "readers/findings/report.h"
#include "rewind/control.h"

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
  report->name[sizeof report->name - 1] = 0;
  return true;
}

bool ReportReader::receive(ControlReport* report, int* fd) {
  constexpr uint64_t kMostEvents = 1 << 16;
  while (receive_plain(report, fd)) {
    if (report->kind == ControlReport::kCallName) {
      const auto role = static_cast<rewind::MessageRole>(report->process & 0xff);
      calls_[static_cast<uint32_t>(report->number)] = {
          report->name, role, (report->process & rewind::kPersistentRole) != 0};
      continue;
    }
    if (report->kind == ControlReport::kCommName) {
      comm_names_[report->number] = report->name;
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

RunEvent EventTable::convert(const ListedEvent& listed) {
  if (place_numbers_.empty()) places_.read_mappings();
  const auto [place, new_place] =
      number_of_place_.try_emplace(listed.place, static_cast<uint32_t>(place_numbers_.size()));
  if (new_place) place_numbers_.push_back(listed.place);
  return {listed.rank,
          listed.partner,
          listed.partner_in_job,
          listed.tag,
          listed.count,
          place->second,
          static_cast<uint16_t>(listed.call),
          number_of(listed.context)};
}

uint16_t EventTable::number_of(uint64_t context) {
  // More communicators than numbers share the last one.
  const auto next = static_cast<uint16_t>(std::min<size_t>(contexts_.size(), UINT16_MAX));
  const auto [comm, fresh] = number_of_context_.try_emplace(context, next);
  if (fresh && next < UINT16_MAX) contexts_.push_back(context);
  return comm->second;
}

std::string EventTable::comm_words(uint16_t comm) {
  if (comm >= contexts_.size()) return "another communicator";
  const std::string& name = reader_.comm_name(contexts_[comm]);
  return name.empty() ? "communicator " + std::to_string(comm) : name;
}

std::string EventTable::words(const RunEvent& event) {
  return "rank " + std::to_string(event.rank) + " " + call_words(event) + " at " + place_of(event);
}

std::string EventTable::call_words(const RunEvent& event) {
  std::string words = call_of(event).name;
  if (event.partner == MPI_ANY_SOURCE)
    words += " any rank";
  else if (event.partner == MPI_PROC_NULL)
    words += " no rank";
  else if (event.partner != rewind::kNoPartner)
    words += " rank " + std::to_string(event.partner);
  if (event.tag == MPI_ANY_TAG)
    words += ", any tag";
  else if (event.tag != rewind::kNoTag)
    words += ", tag " + std::to_string(event.tag);
  if (event.count) words += ", count " + std::to_string(event.count);
  if (event.comm && comm_words(event.comm) != "MPI_COMM_WORLD")
    words += " in " + comm_words(event.comm);
  return words;
}

bool EventTable::is_wanted(const RunEvent& event, const LaunchPlan::Rewind& wishes) {
  if (wishes.rank >= 0 && event.rank != wishes.rank) return false;
  if (wishes.partner >= 0 && event.partner_in_job != wishes.partner) return false;
  if (!wishes.call.empty() && wishes.call != call_of(event).name) return false;
  return wishes.comm.empty() || (event.comm && (wishes.comm == comm_words(event.comm) ||
                                                wishes.comm == std::to_string(event.comm)));
}

void print_events(int control, pid_t process, const LaunchPlan::Rewind& wishes) {
  ReportReader reader(control);
  EventTable table(process, &reader);
  ControlReport report;
  uint64_t number = 0;
  for (int fd; reader.receive(&report, &fd);) {
    if (report.kind != ControlReport::kEvents) continue;
    for (const ListedEvent& listed : reader.events()) {
      if (listed.call >= rewind::kFirstDetail) continue;
      ++number;
      const RunEvent event = table.convert(listed);
      if (table.is_wanted(event, wishes))
        std::printf("%" PRIu64 " %s\n", number, table.words(event).c_str());
    }
  }
}

}  // namespace fgmpi::launcher
