// Questions to, and answers from, a target's process whose table is out of reach.

#include "rma/check_message.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/strings.h"
#include "pt2pt/engine.h"
#include "rma/internal.h"

namespace fgmpi::rma {
namespace {

constexpr uint32_t kKeeps = 1, kKeepsConflicting = 2;

/// A rank that waits for an answer; it lies on the rank's stack.
struct ComparisonWait : sched::WaitSite {
  ComparisonWait(const char* name, int32_t r, uint32_t p)
      : WaitSite{name, words, true}, rank(r), process(p) {}
  static void words(const WaitSite* site, std::string* out) {
    *out += format("for the process of rank %d to compare its accesses (FGMPI_RMA_CHECK)",
                   static_cast<const ComparisonWait*>(site)->rank);
  }
  int32_t rank;
  uint32_t process;
  std::vector<Conflict>* found = nullptr;
  sched::Proclet* parked = nullptr;
  bool answered = false;
};
pt2pt::Cookies<ComparisonWait>& questions() {
  static auto* all = new pt2pt::Cookies<ComparisonWait>;
  return *all;
}

/// Sends a question and waits for the answer. May switch.
void request_comparison(Win* win, const Reach& reach, RmaHeader what, const void* data,
                        size_t bytes, ComparisonWait* question) {
  what.rank = win->comm->rank;
  what.member = reach.member;
  what.cookie = questions().put(question);
  send_rma_message(win->shared, reach.part->process, what, data, bytes);
  while (!question->answered) {
    question->parked = sched::current();
    sched::park(question);
  }
}

}  // namespace

void enter_far(Win* win, int32_t rank, const AccessRecord& pattern, const AddressRuns& runs,
               bool keeps, bool keeps_conflicting, std::vector<Conflict>* found) {
  const Reach reach = reach_of(win, rank);
  const auto room = static_cast<size_t>(most_data(reach.part->process));
  const size_t most = (room - sizeof(AccessRecord)) / sizeof(AddressRun);
  RmaHeader what{};
  what.kind = static_cast<uint64_t>(RmaMessageKind::kCheck);
  what.op = (keeps ? kKeeps : 0) | (keeps_conflicting ? kKeepsConflicting : 0);
  for (size_t first = 0; first < runs.size(); first += most) {
    const size_t count = std::min(most, runs.size() - first);
    std::vector<uint8_t> bytes(sizeof pattern + count * sizeof(AddressRun));
    std::memcpy(bytes.data(), &pattern, sizeof pattern);
    std::memcpy(bytes.data() + sizeof pattern, &runs[first], count * sizeof(AddressRun));
    ComparisonWait question(pattern.call, rank, reach.part->process);
    question.found = found;
    request_comparison(win, reach, what, bytes.data(), bytes.size(), &question);
  }
}

void end_far(Win* win, int32_t rank) {
  const Reach reach = reach_of(win, rank);
  ComparisonWait question("MPI_Win_flush", rank, reach.part->process);
  RmaHeader what{};
  what.kind = static_cast<uint64_t>(RmaMessageKind::kCheckEnd);
  request_comparison(win, reach, what, nullptr, 0, &question);
}

void on_check(SharedWin* shared, uint32_t from, const RmaHeader& header, const uint8_t* data,
              size_t bytes) {
  WindowPart& own = shared->own();
  if (header.member >= own.locals.size()) return pt2pt::refuse_notice();
  std::vector<Conflict> found;
  if (static_cast<RmaMessageKind>(header.kind) == RmaMessageKind::kCheckEnd) {
    if (own.table)
      own.table->erase_if([&](const AccessRecord& r) {
        return r.kind == EpochKind::kPassive && r.origin == header.rank &&
               r.member == header.member && !r.done;
      });
    // A lock may be released next, which processes with the table do not notice.
    if (own.table) own.table->set_released(true, stamp_ns());
  } else {
    AccessRecord pattern;
    if (bytes < sizeof pattern || (bytes - sizeof pattern) % sizeof(AddressRun))
      return pt2pt::refuse_notice();
    std::memcpy(&pattern, data, sizeof pattern);
    AddressRuns runs((bytes - sizeof pattern) / sizeof(AddressRun));
    if (!runs.empty()) std::memcpy(runs.data(), data + sizeof pattern, bytes - sizeof pattern);
    const bool ascend =
        std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r.low < r.high; });
    if (!ascend || pattern.member != header.member || pattern.origin != header.rank ||
        pattern.use > MemoryUse::kSwap || pattern.kind > EpochKind::kPassive || pattern.done ||
        pattern.call[sizeof pattern.call - 1])
      return pt2pt::refuse_notice();
    const auto room = static_cast<size_t>(most_data(from));
    if (own.table)
      own.table->enter(pattern, runs, header.op & kKeeps, header.op & kKeepsConflicting,
                       room / sizeof(Conflict), &found);
  }
  RmaHeader answer{};
  answer.kind = static_cast<uint64_t>(RmaMessageKind::kChecked);
  answer.cookie = header.cookie;
  send_rma_message(shared, from, answer, found.data(), found.size() * sizeof(Conflict));
}

void on_checked(uint32_t from, const RmaHeader& header, const uint8_t* data, size_t bytes) {
  ComparisonWait* question = questions().get(header.cookie);
  if (!question || question->process != from || bytes % sizeof(Conflict) ||
      (bytes && !question->found))
    return pt2pt::refuse_notice();
  questions().take(header.cookie);
  for (size_t at = 0; at < bytes; at += sizeof(Conflict)) {
    Conflict conflict;
    std::memcpy(&conflict, data + at, sizeof conflict);
    for (AccessRecord* r : {&conflict.first, &conflict.second}) r->call[sizeof r->call - 1] = '\0';
    question->found->push_back(conflict);
  }
  question->answered = true;
  if (question->parked) sched::ready(std::exchange(question->parked, nullptr));
}

}  // namespace fgmpi::rma
