// The steps of the consensus among processes that may end.

#include "survivors/consensus.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace fgmpi::survivors {
namespace {

void join_values(ConsensusValue* all, const ConsensusValue& one) {
  all->flag &= one.flag;
  all->lost.unite(one.lost);
  all->acknowledged.intersect(one.acknowledged);
  if (one.candidate.before(all->candidate)) all->candidate = one.candidate;
}

}  // namespace

bool Consensus::is_member(uint32_t process) const {
  return std::find(processes_.begin(), processes_.end(), process) != processes_.end();
}

/// Calls f(process) for each other process that is not lost, in order.
template <class F>
void Consensus::for_each_other(F&& f) const {
  for (uint32_t process : processes_)
    if (process != site_->me() && !site_->is_lost(process)) f(process);
}

template <class Set>
bool Consensus::has_all(const Set& set) const {
  bool all = true;
  for_each_other([&](uint32_t process) { all &= set.count(process) > 0; });
  return all;
}

uint32_t Consensus::coordinator() const {
  return *std::find_if(processes_.begin(), processes_.end(),
                       [&](uint32_t process) { return !site_->is_lost(process); });
}

uint32_t Consensus::place_of_me() const {
  return static_cast<uint32_t>(std::find(processes_.begin(), processes_.end(), site_->me()) -
                               processes_.begin());
}

void Consensus::begin(const std::vector<uint32_t>& processes, ConsensusValue mine) {
  processes_ = processes;
  state_.value = std::move(mine);
  continue_epoch();
}

/// Takes all steps that are possible now.
void Consensus::continue_epoch() {
  if (decided_ || processes_.empty()) return;
  const uint32_t leader = coordinator();
  if (leader != site_->me()) {
    if (sent_to_coordinator_ == leader) return;
    sent_to_coordinator_ = leader;
    return site_->send(leader, ConsensusMessage::kState, state_.epoch, &state_.value);
  }
  if (!has_all(states_)) return;
  if (!proposed_) propose();
  if (has_all(acks_)) decide(state_.value);
}

void Consensus::propose() {
  proposed_ = true;
  ProposalState chosen = state_;
  for (auto& [process, state] : states_) {
    if (state.epoch > chosen.epoch)
      chosen = state;
    else if (state.epoch == 0 && chosen.epoch == 0)
      join_values(&chosen.value, state.value);
  }
  if (chosen.epoch == 0)
    for (size_t i = 0; i < processes_.size(); ++i)
      if (site_->is_lost(processes_[i])) chosen.value.lost.add(i);
  state_ = {place_of_me() + 1, std::move(chosen.value)};
  for_each_other([&](uint32_t process) {
    site_->send(process, ConsensusMessage::kProposal, state_.epoch, &state_.value);
  });
}

void Consensus::decide(ConsensusValue value) {
  decided_ = true;
  decision_ = std::move(value);
  auto send_decision = [&](uint32_t process) {
    if (!site_->is_lost(process)) site_->send(process, ConsensusMessage::kDecision, 0, &decision_);
  };
  if (coordinator() == site_->me()) {
    for_each_other(send_decision);
  } else {
    // Processes that sent their state here consider this process the coordinator, so they know of
    // more losses than it does.
    for (const auto& [process, state] : states_) send_decision(process);
    if (passes_on_) pass_on();
  }
  states_.clear();
  acks_.clear();
  site_->decided();
}

/// Passes the decision to the processes 1, 2, 4, ... places behind this one. A process misses it
/// only if all processes at these distances before it have ended, too.
void Consensus::pass_on() {
  const size_t n = processes_.size(), me = place_of_me();
  for (size_t distance = 1; distance < n; distance *= 2) {
    const uint32_t process = processes_[(me + distance) % n];
    if (!site_->is_lost(process)) site_->send(process, ConsensusMessage::kDecision, 0, &decision_);
  }
}

bool Consensus::on_message(uint32_t from, ConsensusMessage kind, uint32_t epoch,
                           ConsensusValue value) {
  if (!processes_.empty() && !is_member(from)) return false;
  if (decided_) {
    if (kind == ConsensusMessage::kState || kind == ConsensusMessage::kProposal)
      site_->send(from, ConsensusMessage::kDecision, 0, &decision_);
    return true;
  }
  switch (kind) {
    case ConsensusMessage::kState:
      states_[from] = {epoch, std::move(value)};
      continue_epoch();
      return true;
    case ConsensusMessage::kProposal:
      // The proposal of a lost coordinator is not adopted, as the next coordinator may have been
      // sent the state already.
      if (processes_.empty() || site_->is_lost(from) || epoch < state_.epoch) return true;
      state_ = {epoch, std::move(value)};
      site_->send(from, ConsensusMessage::kAck, epoch, nullptr);
      return true;
    case ConsensusMessage::kAck:
      if (proposed_ && epoch == state_.epoch) acks_.insert(from);
      continue_epoch();
      return true;
    case ConsensusMessage::kDecision:
      if (!processes_.empty()) decide(std::move(value));
      return true;
  }
  return false;
}

void Consensus::on_lost(uint32_t process) {
  if (processes_.empty() || !is_member(process)) return;
  if (!decided_) return continue_epoch();
  const uint32_t leader = coordinator();
  if (leader != site_->me()) site_->send(leader, ConsensusMessage::kDecision, 0, &decision_);
}

void ProcessSet::unite(const ProcessSet& other) {
  for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    words_[i] |= other.words_[i];
}

void ProcessSet::intersect(const ProcessSet& other) {
  for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    words_[i] &= other.words_[i];
}

bool ProcessSet::contains(const ProcessSet& other) const {
  for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    if (other.words_[i] & ~words_[i]) return false;
  return true;
}

size_t ProcessSet::count() const {
  size_t n = 0;
  for (uint64_t word : words_) n += static_cast<size_t>(std::popcount(word));
  return n;
}

}  // namespace fgmpi::survivors
