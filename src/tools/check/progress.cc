#include "tools/check/progress.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "tools/check/extensions.h"
#include "tools/check/rank.h"
#include "tools/check/wire.h"

namespace fgmpi::check {

ToldLater g_told_later;

namespace {

std::map<int, std::vector<Progress>> g_outbox;  ///< by process

void add(int process, const Progress& one, bool now) {
  std::vector<Progress>& list = g_outbox[process];
  list.push_back(one);
  g_told_later.any = true;
  if (now || list.size() >= std::size(WireProgress().list)) g_told_later.now = true;
}

}  // namespace

bool all_tell_all(const Comm& comm) {
  constexpr size_t kMostOthers = 7;
  return comm.others.size() <= kMostOthers;
}

void tell_taken(uint64_t message) {
  const int process = MPIX_Tool_process(static_cast<int>(message >> 32));
  if (process >= 0) add(process, {Progress::kTaken, message, 0}, false);
}

void tell_begun(uint64_t message, int receiver_world) {
  add(MPIX_Tool_process(receiver_world), {Progress::kBegun, message, 0}, false);
}

void tell_entered(const Comm& comm, uint64_t number) {
  const Progress one{Progress::kEntered, comm.key, number};
  if (all_tell_all(comm))
    for (int process : comm.others) add(process, one, true);
  else if (comm.home != g_process.me)
    add(comm.home, one, true);
}

void tell_all_entered(const Comm& comm, uint64_t number) {
  for (int process : comm.others) add(process, {Progress::kEntered, comm.key, number}, true);
}

void send_progress() {
  // MPIX_Tool_notify may poll, and what comes in then waits for the next call, so that nothing is added meanwhile.
  g_told_later = {};
  for (auto& [process, list] : g_outbox) {
    WireProgress wire{WireKind::kProgress, 0, g_process.me, {}};
    for (size_t done = 0; done < list.size(); done += wire.count) {
      wire.count = static_cast<uint32_t>(std::min(list.size() - done, std::size(wire.list)));
      std::copy_n(list.begin() + static_cast<ptrdiff_t>(done), wire.count, wire.list);
      MPIX_Tool_notify(process, &wire, static_cast<int>(bytes_of(wire)));
    }
    list.clear();
  }
}

void on_progress(const void* data, size_t bytes) {
  WireProgress wire;
  if (bytes > sizeof wire || bytes < offsetof(WireProgress, list)) return;
  std::memcpy(static_cast<void*>(&wire), data, bytes);
  if (wire.count > std::size(wire.list) || bytes != bytes_of(wire)) return;
  for (uint32_t i = 0; i < wire.count; ++i) on_step(wire.from, wire.list[i]);
}

}  // namespace fgmpi::check
