// The replay of ranks' steps without buffering, and the search for ranks that wait for one another.

#include "check/findings/unbuffered.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"

namespace fgmpi::findings {
namespace {

/// The most cycles that are reported: those of a loop are all the same.
constexpr size_t kMostCycles = 100'000;

/// How many numbers a step has, the call aside.
int numbers_of(char kind) {
  return kind == 'r' ? 3 : kind == 'e' || kind == 'a' || kind == 'm' ? 2 : 1;
}
bool waits(char kind) { return kind == 'n' || kind == 'g' || kind == 'a' || kind == 'r'; }

}  // namespace

bool UnbufferedRun::read_step(std::string_view text, RankSteps* rank) {
  SpooledStep s{};
  const std::string_view kind = split_word(&text, '.');
  if (kind.size() != 1 || std::string_view(kSteps).find(kind[0]) == std::string_view::npos)
    return false;
  s.kind = kind[0];
  uint64_t* const places[] = {&s.id, &s.number, &s.root};
  for (int i = 0; i < numbers_of(s.kind); ++i)
    if (!read_number(split_word(&text, '.'), places[i], 16)) return false;
  if (!text.empty() && !(waits(s.kind) && read_number(text, &s.call, 16))) return false;
  if (s.kind == 'm')
    rank->matches[s.id] = s.number;
  else
    rank->steps.push_back(s);
  return true;
}

void UnbufferedRun::add_steps(std::string_view line) {
  uint64_t world = 0;
  if (!read_number(split_word(&line, ' '), &world, 10)) return;
  auto [at, fresh] = by_world_.try_emplace(static_cast<int64_t>(world), ranks_.size());
  if (fresh) ranks_.emplace_back().world = static_cast<int64_t>(world);
  while (!line.empty()) read_step(split_word(&line, ' '), &ranks_[at->second]);
}

void UnbufferedRun::index() {
  for (size_t r = 0; r < ranks_.size(); ++r)
    for (size_t i = 0; i < ranks_[r].steps.size(); ++i) {
      const SpooledStep& s = ranks_[r].steps[i];
      if (s.kind == 't') taken_[s.id] = {r, i};
      if (s.kind == 'b') begun_[s.id] = {r, i};
      if (s.kind == 'e') entered_[{s.id, s.number}].places.push_back({r, i});
      if (s.kind != 'p') continue;
      if (auto match = ranks_[r].matches.find(s.id); match != ranks_[r].matches.end())
        taken_[match->second] = {r, i};
    }
}

int64_t UnbufferedRun::blocked_by(size_t rank) const {
  const SpooledStep& s = ranks_[rank].steps[ranks_[rank].next];
  auto of = [&](const auto& places) {
    auto found = places.find(s.id);
    return found == places.end() || made(found->second) ? -1
                                                        : static_cast<int64_t>(found->second.rank);
  };
  if (s.kind == 'n') return of(taken_);
  if (s.kind == 'g') return of(begun_);
  if (s.kind != 'a' && s.kind != 'r') return -1;
  auto found = entered_.find({s.id, s.number});
  if (found == entered_.end()) return -1;
  const std::vector<StepPosition>& places = found->second.places;
  size_t& first = found->second.made;
  while (first < places.size() && made(places[first])) ++first;
  for (size_t i = first; i < places.size(); ++i)
    if (!made(places[i]) &&
        (s.kind == 'a' || ranks_[places[i].rank].world == static_cast<int64_t>(s.root)))
      return static_cast<int64_t>(places[i].rank);
  return -1;
}

void UnbufferedRun::go_on(size_t first) {
  std::vector<size_t> awake = {first};
  while (!awake.empty()) {
    const size_t r = awake.back();
    awake.pop_back();
    RankSteps& rank = ranks_[r];
    const size_t before = rank.next;
    while (rank.next < rank.steps.size()) {
      const int64_t other = blocked_by(r);
      if (other >= 0) {
        if (rank.listed_at != other) ranks_[static_cast<size_t>(other)].waiting.push_back(r);
        rank.listed_at = other;
        break;
      }
      ++rank.next;
    }
    if (rank.next == before) continue;
    for (size_t other : std::exchange(rank.waiting, {})) {
      ranks_[other].listed_at = -1;
      awake.push_back(other);
    }
  }
}

std::vector<size_t> UnbufferedRun::cycle_from(size_t rank) const {
  std::vector<size_t> path;
  std::set<size_t> seen;
  for (size_t at = rank; seen.insert(at).second; at = static_cast<size_t>(blocked_by(at)))
    path.push_back(at);
  const auto closes = static_cast<size_t>(blocked_by(path.back()));
  path.erase(path.begin(), std::find(path.begin(), path.end(), closes));
  return path;
}

std::vector<Participant> UnbufferedRun::calls_of(size_t rank) const {
  const RankSteps& r = ranks_[rank];
  auto found = calls_->find(r.steps[r.next].call);
  std::vector<Participant> calls;
  if (found == calls_->end())
    calls.push_back({0, "?", "", 0, ""});
  else
    calls = found->second;
  for (Participant& p : calls) p.rank = r.world;
  return calls;
}

void UnbufferedRun::report_cycle(const std::vector<size_t>& cycle,
                                 std::vector<Finding>* found) const {
  for (size_t i = 0; i < cycle.size(); ++i) {
    const RankSteps& rank = ranks_[cycle[i]];
    if (rank.steps[rank.next].kind != 'n') continue;
    Finding f;
    f.kind = FindingKind::kBuffering;
    f.sentence =
        "the program depends on buffering: unless MPI buffers a standard send, ranks wait for one "
        "another";
    f.allowed = "MPI may buffer a standard send or not: the receive has to begin either way";
    f.calls = calls_of(cycle[i]);
    const size_t next = cycle[(i + 1) % cycle.size()];
    if (next != cycle[i]) {
      Participant other = calls_of(next).front();
      other.role = "is to return before the receive begins";
      f.calls.push_back(std::move(other));
    }
    found->push_back(std::move(f));
  }
}

std::vector<Finding> UnbufferedRun::find(const NamedCalls& calls) {
  calls_ = &calls;
  std::vector<Finding> found;
  index();
  for (size_t r = 0; r < ranks_.size(); ++r) go_on(r);
  size_t cycles = 0;
  for (size_t r = 0; r < ranks_.size();) {
    if (ranks_[r].next == ranks_[r].steps.size() || cycles == kMostCycles) {
      ++r;
      continue;
    }
    ++cycles;
    // These sends count as buffered from here on, so that later cycles are found as well.
    const std::vector<size_t> cycle = cycle_from(r);
    report_cycle(cycle, &found);
    for (size_t member : cycle) ++ranks_[member].next;
    for (size_t member : cycle) {
      go_on(member);
      for (size_t other : std::exchange(ranks_[member].waiting, {})) {
        ranks_[other].listed_at = -1;
        go_on(other);
      }
    }
  }
  return found;
}

}  // namespace fgmpi::findings
