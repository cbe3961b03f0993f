// The list of named communicators and meetings that fgmpi-info -job reads from this process's
// memory.

#include "comm/debug_names.h"

#include "comm/meeting.h"

constinit fgmpi::comm::CommTable fgmpi_comm_table = {.meeting =
                                                         fgmpi::comm::MeetingSite::describe_site};

namespace fgmpi::comm {

void ShownName::show(ContextId of, const char* name) {
  hide();
  id = of.bits;
  words = name;
  next = fgmpi_comm_table.first;
  if (next) next->previous = this;
  fgmpi_comm_table.first = this;
}

void ShownName::hide() {
  if (!words) return;
  words = nullptr;
  if (next) next->previous = previous;
  (previous ? previous->next : fgmpi_comm_table.first) = next;
  next = previous = nullptr;
}

void MeetingSite::describe_site(const sched::WaitSite* site, std::string* out) {
  const auto* s = static_cast<const MeetingSite*>(site);
  comm::describe(s->comm, s->meeting, out);
}

}  // namespace fgmpi::comm
