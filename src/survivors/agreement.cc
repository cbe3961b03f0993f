// The agreements of a process: finding and making them, their notices, dropping them.

#include "survivors/agreement.h"

#include <mpi.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/fields.h"
#include "base/strings.h"
#include "pt2pt/lost.h"

namespace fgmpi::survivors {
namespace {

/// The start of a notice; the words of both sets follow, in kinds that have a value.
struct AgreementNotice {
  uint32_t kind;
  uint32_t number;
  uint32_t epoch;
  int32_t flag;
  comm::LeaderCandidate candidate;
  uint32_t words;  ///< number of words of each set
};
static_assert(sizeof(AgreementNotice) == 32, "travels as it is");

struct RunningAgreement final : ConsensusSite {
  explicit RunningAgreement(const AgreementName& its_name)
      : name(its_name), consensus(this, its_name.ctx == kEndContext) {}
  RunningAgreement(const RunningAgreement&) = delete;

  uint32_t me() const override { return g_av.me(); }
  bool is_lost(uint32_t process) const override { return pt2pt::is_lost(process); }
  void send(uint32_t to, ConsensusMessage kind, uint32_t epoch,
            const ConsensusValue* value) override;
  void decided() override {
    if (waiter) sched::ready(std::exchange(waiter, nullptr));
  }

  const AgreementName name;
  Consensus consensus;
  sched::Proclet* waiter = nullptr;
};

void RunningAgreement::send(uint32_t to, ConsensusMessage kind, uint32_t epoch,
                            const ConsensusValue* value) {
  AgreementNotice notice{static_cast<uint32_t>(kind), name.number, epoch, 0, {}, 0};
  std::vector<uint8_t> bytes;
  if (value) {
    notice.flag = value->flag;
    notice.candidate = value->candidate;
    notice.words = static_cast<uint32_t>(value->lost.words().size());
  }
  append(&bytes, notice);
  if (value)
    for (const ProcessSet* set : {&value->lost, &value->acknowledged})
      for (uint64_t word : set->words()) append(&bytes, word);
  pt2pt::notify(to, pt2pt::kNoticeSurvivors, name.ctx, bytes.data(), bytes.size());
}

/// The number of dropped communicators whose last decisions are kept.
constexpr size_t kKeptDropped = 256;

struct Agreements {
  std::map<AgreementName, RunningAgreement> running;
  std::deque<uint64_t> dropped;  ///< context ids of communicators whose decisions are kept
};
Agreements g_agreements;

RunningAgreement& find_or_make(const AgreementName& name) {
  return g_agreements.running.try_emplace(name, name).first->second;
}

/// Drops the agreements of a communicator before this one.
void forget_before(const AgreementName& name) {
  g_agreements.running.erase(g_agreements.running.lower_bound({name.ctx, 0}),
                             g_agreements.running.lower_bound(name));
}

void on_agreement_notice(uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
  FieldReader in(data, bytes);
  const auto notice = in.get<AgreementNotice>();
  ConsensusValue value;
  value.flag = notice.flag;
  value.candidate = notice.candidate;
  if (in.failed() || in.left() != 2 * sizeof(uint64_t) * size_t{notice.words})
    return pt2pt::refuse_notice();
  for (ProcessSet* set : {&value.lost, &value.acknowledged}) {
    set->words().resize(notice.words);
    for (uint64_t& word : set->words()) word = in.get<uint64_t>();
  }
  Consensus& consensus = find_or_make({ctx, notice.number}).consensus;
  const auto kind = static_cast<ConsensusMessage>(notice.kind);
  if (!consensus.on_message(from, kind, notice.epoch, std::move(value))) pt2pt::refuse_notice();
}

void describe_agreement(const sched::WaitSite*, std::string* out) {
  *out += "agreeing with the other processes that are left";
}

/// Checks that a value fits a notice.
Status check_room(const std::vector<uint32_t>& processes, const ConsensusValue& value) {
  size_t room = SIZE_MAX;
  for (uint32_t process : processes)
    if (process != g_av.me()) room = std::min(room, pt2pt::most_notice_bytes(process));
  room = std::max<size_t>(room, 1024);
  constexpr size_t kWordOfBoth = 2 * sizeof(uint64_t);
  if (sizeof(AgreementNotice) + kWordOfBoth * value.lost.words().size() <= room) return {};
  return error(MPI_ERR_UNSUPPORTED_OPERATION,
               "the communicator has members in %zu processes; allowed are %zu", processes.size(),
               (room - sizeof(AgreementNotice)) / kWordOfBoth * 64);
}

}  // namespace

Status join(const AgreementName& name, const std::vector<uint32_t>& processes, ConsensusValue mine,
            const char* call, ConsensusValue* decision) {
  if (processes.size() == 1) {
    *decision = std::move(mine);
    return {};
  }
  FGMPI_TRY(check_room(processes, mine));
  // All processes have decided the agreement before the last: this process has begun the last one,
  // which was decided with all of them.
  if (name.number > 1) forget_before({name.ctx, name.number - 1});
  RunningAgreement& agreement = find_or_make(name);
  agreement.consensus.begin(processes, std::move(mine));
  sched::WaitSite site{call, describe_agreement, true};
  while (!agreement.consensus.has_decided()) {
    agreement.waiter = sched::current();
    sched::park(&site);
  }
  *decision = agreement.consensus.decision();
  return {};
}

bool is_decided(const AgreementName& name) {
  const auto found = g_agreements.running.find(name);
  return found != g_agreements.running.end() && found->second.consensus.has_decided();
}

void on_lost(uint32_t process) {
  for (auto& [name, agreement] : g_agreements.running) agreement.consensus.on_lost(process);
}

void on_dropped(comm::ContextId id) {
  const auto first = g_agreements.running.lower_bound({id.bits, 0});
  if (first == g_agreements.running.end() || first->first.ctx != id.bits) return;
  g_agreements.dropped.push_back(id.bits);
  if (g_agreements.dropped.size() <= kKeptDropped) return;
  forget_before({g_agreements.dropped.front(), ~0u});
  g_agreements.dropped.pop_front();
}

void init_agreements() { pt2pt::set_notice_handler(pt2pt::kNoticeSurvivors, on_agreement_notice); }

}  // namespace fgmpi::survivors
