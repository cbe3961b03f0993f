// Observations about a run, in words. Each has a threshold below which it is left out: the report
// of a program that runs well has none.
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/strings.h"
#include "readers/report/run.h"

namespace fgmpi::report {
namespace {

/// The share of the run's time from which an observation is reported.
constexpr double kWorthwhile = 0.05;
/// A rank with a smaller known share of the run's time was looked at too rarely to
/// describe what it did.
constexpr double kKnown = 0.25;

class Observer {
 public:
  explicit Observer(const JobRun& run) : run_(run) {}

  std::vector<Observation> all() {
    if (run_.samples >= kFewSamples || run_.predicted) {
      late_senders();
      late_receivers();
      if (run_.looks >= kFewSamples) serialised_receives();
      imbalance();
      starvation();
      turns();
    }
    small_messages();
    leaked_communicators();
    wildcards();
    std::stable_sort(list_.begin(), list_.end(), [](const Observation& a, const Observation& b) {
      return a.weight > b.weight;
    });
    return std::move(list_);
  }

 private:
  /// `seconds`: the cost, summed over ranks; `share`: the share of the job's time.
  void add(double seconds, double share, std::string title, std::string detail,
           std::string advice) {
    list_.push_back({seconds, share, std::move(title), std::move(detail), std::move(advice)});
  }
  /// The share of a processor that other programs of the machine left to a process that
  /// wanted to compute.
  double processor_share() const {
    double wanted = 0, got = 0;
    for (const ProcessFile& p : run_.processes) {
      wanted += static_cast<double>(p.header().program_ns);
      got += static_cast<double>(p.header().program_cpu_ns);
    }
    return wanted > 0 ? std::min(got / wanted, 1.0) : 1;
  }
  double all_time() const { return std::max(run_.seconds * run_.world_size, 1e-9); }
  /// The site where a rank spent the most time in calls: " (MPI_Recv at a.c:3 (main))" or "".
  std::string at_of(int32_t rank) const {
    const std::string words = costliest_place(run_, rank);
    return words.empty() ? "" : " (" + words + ")";
  }

  /// Finds the rank that others waited for most. Returns false where that time is small, or not
  /// above others'.
  bool worst_awaited(const std::map<int32_t, double>& by_rank, int32_t* rank, double* seconds,
                     double* mean) const {
    double sum = 0;
    *seconds = 0;
    for (const auto& [peer, waited] : by_rank) {
      sum += waited;
      if (waited > *seconds) *rank = peer, *seconds = waited;
    }
    const size_t peers = by_rank.size();
    *mean = peers > 1 ? sum / static_cast<double>(peers) : 0;
    return *seconds >= kWorthwhile * run_.seconds && *seconds >= 1.5 * *mean &&
           static_cast<size_t>(*rank) < run_.ranks.size();
  }
  bool is_known(const RankSum& r) const {
    return r.program + r.mpi + r.turn >= kKnown * run_.seconds;
  }
  std::string what_it_did(int32_t rank, double mean) const {
    const RankSum& r = run_.ranks[static_cast<size_t>(rank)];
    std::string words = format("What rank %d itself did meanwhile was seen too seldom", rank);
    if (is_known(r) && run_.predicted)
      words = format("Rank %d itself ran the program's own code for %s and was in MPI for %s%s",
                     rank, seconds_words(r.program).c_str(), seconds_words(r.mpi).c_str(),
                     at_of(rank).c_str());
    else if (is_known(r))
      words = format(
          "Rank %d itself ran the program's own code for %s, was in MPI for %s%s and waited %s for "
          "its turn in its process",
          rank, seconds_words(r.program).c_str(), seconds_words(r.mpi).c_str(), at_of(rank).c_str(),
          seconds_words(r.turn).c_str());
    if (mean > 0) words += "; the average wait for a rank is " + seconds_words(mean);
    return words + ".";
  }

  void late_senders() {
    int32_t rank = 0;
    double seconds = 0, mean = 0;
    if (!worst_awaited(run_.waited_for, &rank, &seconds, &mean)) return;
    const RankSum& r = run_.ranks[static_cast<size_t>(rank)];
    add(seconds, seconds / all_time(),
        format("Late sender: others waited %s for messages of rank %d",
               seconds_words(seconds).c_str(), rank),
        what_it_did(rank, mean),
        is_known(r) && r.turn > r.program && r.turn > r.mpi
            ? "It could answer, but other ranks of its process compute: give it a process of its "
              "own (mpiexec -n 1 -nfg 1 ./program : ...), or call MPIX_Yield() in what they "
              "compute."
            : "Look for what this rank does before it sends, and for a rank that it waits for "
              "itself: send earlier, or give it less to do.");
  }

  void late_receivers() {
    int32_t rank = 0;
    double seconds = 0, mean = 0;
    if (!worst_awaited(run_.waited_for_target, &rank, &seconds, &mean)) return;
    add(seconds, seconds / all_time(),
        format("Late receiver: others waited %s for rank %d to take their messages",
               seconds_words(seconds).c_str(), rank),
        what_it_did(rank, mean),
        "Large and synchronous sends end when their receive is there: post it earlier (MPI_Irecv), "
        "or send by MPI_Isend and go on.");
  }

  void serialised_receives() {
    const auto worst =
        std::max_element(run_.ranks.begin(), run_.ranks.end(),
                         [](const RankSum& a, const RankSum& b) { return a.behind < b.behind; });
    if (worst == run_.ranks.end() || worst->behind < kWorthwhile * run_.seconds) return;
    // Where most ranks do this, it is an exchange with neighbours.
    const auto like_it = static_cast<size_t>(
        std::count_if(run_.ranks.begin(), run_.ranks.end(),
                      [&](const RankSum& r) { return r.behind >= kWorthwhile * run_.seconds; }));
    if (like_it > std::max<size_t>(1, run_.ranks.size() / 10)) return;
    const auto rank = static_cast<int32_t>(worst - run_.ranks.begin());
    const double seconds = worst->behind;
    add(seconds, seconds / std::max(run_.seconds, 1e-9) * 0.5,
        format("Serialised receives: rank %d waited %s for one rank while messages of others lay "
               "there",
               rank, seconds_words(seconds).c_str()),
        "It names the sources of its receives one after the other" + at_of(rank) + ".",
        "Receive in the order of arrival: MPI_Irecv for all and MPI_Waitany, or MPI_ANY_SOURCE; or "
        "use a collective (MPI_Gather, MPI_Reduce).");
  }

  void imbalance() {
    if (!imbalance_of_processes()) imbalance_of_ranks();
  }

  /// Compares processor times, which other programs of the machine do not change.
  bool imbalance_of_processes() {
    std::vector<double> busy;
    for (const ProcessFile& p : run_.processes)
      busy.push_back(static_cast<double>(p.header().program_cpu_ns) * 1e-9);
    if (busy.size() < 2) return false;
    const auto worst = std::max_element(busy.begin(), busy.end());
    double sum = 0;
    for (double b : busy) sum += b;
    const double mean = sum / static_cast<double>(busy.size());
    if (*worst < 1.2 * mean || *worst - mean < kWorthwhile * run_.seconds * processor_share())
      return false;
    const ProfileHeader& h = run_.processes[static_cast<size_t>(worst - busy.begin())].header();
    const double lost = (*worst - mean) * static_cast<double>(busy.size());
    add(lost, (*worst - mean) / std::max(run_.seconds, 1e-9),
        format("Imbalance: process %d computes %.1f times as long as the average process",
               h.process, *worst / std::max(mean, 1e-9)),
        format("Its ranks (%d-%d) ran the program's own code for %s of a processor, an average "
               "process's for %s; the others wait meanwhile.",
               h.first_rank, h.first_rank + h.ranks - 1, seconds_words(*worst).c_str(),
               seconds_words(mean).c_str()),
        "Give its ranks less work, or spread the heavy ranks over the processes.");
    return true;
  }

  void imbalance_of_ranks() {
    if (run_.ranks.size() < 2) return;
    const auto worst =
        std::max_element(run_.ranks.begin(), run_.ranks.end(),
                         [](const RankSum& a, const RankSum& b) { return a.cpu < b.cpu; });
    double sum = 0;
    for (const RankSum& r : run_.ranks) sum += r.cpu;
    const double mean = sum / static_cast<double>(run_.ranks.size());
    if (worst->cpu < 1.5 * mean ||
        worst->cpu - mean < 4 * kWorthwhile * run_.seconds * processor_share())
      return;
    const auto rank = static_cast<int32_t>(worst - run_.ranks.begin());
    add(worst->cpu - mean, (worst->cpu - mean) / std::max(run_.seconds, 1e-9) * 0.2,
        format("Imbalance: rank %d computes %.1f times as long as the average rank", rank,
               worst->cpu / std::max(mean, 1e-9)),
        format("It ran the program's own code for %s of a processor, the average rank for %s.%s",
               seconds_words(worst->cpu).c_str(), seconds_words(mean).c_str(),
               run_.predicted
                   ? ""
                   : " Processes even that out as long as each has many ranks; with more "
                     "processes the job cannot become faster than this rank."),
        "Divide its work.");
  }

  void starvation() {
    const ProcessFile* worst = nullptr;
    uint64_t all = 0;
    for (const ProcessFile& p : run_.processes) {
      all += p.header().starved_ns;
      if (!worst || p.header().stretch_ns > worst->header().stretch_ns) worst = &p;
    }
    if (!worst || worst->header().stretch_ns < kStretch) return;
    const ProfileHeader& h = worst->header();
    const findings::Site site = worst->place(h.stretch_site);
    const std::string place = site.path.empty() ? "" : run_.words_of({site.path, site.offset});
    const double share = static_cast<double>(all) * 1e-9 /
                         std::max(run_.seconds * static_cast<double>(run_.processes.size()), 1e-9);
    add(static_cast<double>(all) * 1e-9, share,
        format("A rank starves others: rank %d ran for %s without a call of MPI while %u of its "
               "process "
               "could have gone on",
               h.stretch_rank, seconds_words(static_cast<double>(h.stretch_ns) * 1e-9).c_str(),
               h.stretch_ready),
        format("Such stretches of more than %s make up %s in all processes.%s",
               seconds_words(kStretch * 1e-9).c_str(),
               seconds_words(static_cast<double>(all) * 1e-9).c_str(),
               place.empty() ? "" : (" Its last call before was at " + place + ".").c_str()),
        "Ranks of a process take turns at calls of MPI. Call MPIX_Yield() (or MPI_Test) in the "
        "long "
        "loop, or start more processes with fewer ranks each.");
  }

  void turns() {
    const double share = static_cast<double>(run_.turn_ns) * 1e-9 / all_time();
    double idle = 0;
    for (const ProcessFile& p : run_.processes)
      idle += static_cast<double>(p.header().idle_ns) * 1e-9;
    const double idle_share =
        idle / std::max(run_.seconds * static_cast<double>(run_.processes.size()), 1e-9);
    if (idle_share < 0.3 || run_.processes.empty()) return;
    add(idle, idle_share * 0.5,
        format("Processes are idle for %.0f %% of the time", 100 * idle_share),
        format(
            "All ranks of a process wait then; ranks could go on but for others of their process "
            "for %.0f %% of their time.",
            100 * share),
        "Look at the calls in which ranks wait below: what they wait for comes from another "
        "process, or "
        "from a timer.");
  }

  void small_messages() {
    uint64_t repeated = 0, sent = 0;
    int32_t worst = -1;
    for (size_t i = 0; i < run_.ranks.size(); ++i) {
      const RankSum& r = run_.ranks[i];
      repeated += r.repeated;
      sent += r.sent;
      if (r.repeated && (worst < 0 || r.repeated > run_.ranks[static_cast<size_t>(worst)].repeated))
        worst = static_cast<int32_t>(i);
    }
    if (repeated < 1000 || repeated * 4 < sent) return;
    // A small message costs at least about a third of a microsecond.
    const double cost = static_cast<double>(repeated) * 3e-7;
    add(cost, cost / all_time(),
        format("Many small messages: %s of %s could have been part of the one before",
               number_words(repeated).c_str(), number_words(sent).c_str()),
        format("They have at most %llu bytes and go to the rank that the call before had sent to. "
               "Rank %d sends most of them, %s.",
               static_cast<unsigned long long>(kSmall), worst,
               number_words(run_.ranks[static_cast<size_t>(worst)].repeated).c_str()),
        "Pack what goes to one rank into one message: an array, a derived datatype, or a buffer "
        "that "
        "is sent when it is full.");
  }

  void leaked_communicators() {
    for (const Family& f : run_.families) {
      const uint64_t left = f.members_made - std::min(f.members_freed, f.members_made);
      if (f.made < 10 || left * 10 < f.members_made) continue;
      const std::string place = run_.words_of(f.place);
      add(0, 0.02 + static_cast<double>(f.made) * 1e-6,
          format("Communicators are made again and again and not freed: %s by one %s",
                 number_words(f.made).c_str(), f.call.c_str()),
          format("%s%s of %s handles were never freed; each keeps its map and its context.",
                 place.empty() ? "" : ("At " + place + ": ").c_str(), number_words(left).c_str(),
                 number_words(f.members_made).c_str()),
          "Make it once before the loop, or call MPI_Comm_free at the end of each turn.");
    }
  }

  void wildcards() {
    uint64_t received = 0;
    std::vector<int32_t> takers;
    for (size_t i = 0; i < run_.ranks.size(); ++i)
      if (run_.ranks[i].any_received) {
        received += run_.ranks[i].any_received;
        takers.push_back(static_cast<int32_t>(i));
      }
    if (received == 0 || run_.world_size < 3) return;
    std::set<uint32_t> senders;
    for (const auto& [key, flow] : run_.matrix)
      if (key.way != FlowKey::kOneSided &&
          key.to == static_cast<uint32_t>(takers[0]) >> run_.matrix_shift)
        senders.insert(key.from);
    if (senders.size() < 2) return;
    add(0, 0.001,
        format("Races: %s receives from MPI_ANY_SOURCE could have taken another rank's message",
               number_words(received).c_str()),
        format("At rank%s %s; rank %d is sent to by %s%zu others.", takers.size() > 1 ? "s" : "",
               ranks_words(takers).c_str(), takers[0], run_.matrix_shift ? "at least " : "",
               senders.size()),
        "That is right where any order gives the same result. FGMPI_SCHED=random:SEED tries other "
        "orders.");
  }

  const JobRun& run_;
  std::vector<Observation> list_;
};

}  // namespace

std::vector<Observation> observe(const JobRun& run) { return Observer(run).all(); }

std::string costliest_place(const JobRun& run, int32_t rank) {
  const RankSum& sum = run.ranks.at(static_cast<size_t>(rank));
  if (sum.process >= run.processes.size()) return "";
  const ProcessFile& file = run.processes[sum.process];
  const int32_t local = rank - file.header().first_rank;
  if (local < 0 || local >= file.header().ranks) return "";
  const SiteCell* most = nullptr;
  for (const SiteCell& cell : file.rank(local).sites)
    if (cell.site && (!most || cell.ns > most->ns)) most = &cell;
  if (!most) return "";
  const findings::Site where = file.place(most->site);
  const CallSite place{where.path, where.offset};
  const auto known = run.places.find(place);
  const std::string words = run.words_of(place);
  if (known == run.places.end()) return words;
  return std::string(kCalls[known->second.call].name) + (words.empty() ? "" : " at " + words);
}

std::vector<UnfinishedRanks> not_ended(const JobRun& run) {
  std::map<std::string, std::vector<int32_t>> groups;
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    const RankSum& sum = run.ranks[i];
    if (sum.ended || !sum.started) continue;
    const ProcessFile& file = run.processes[sum.process];
    const RankRecord& r = file.rank(static_cast<int32_t>(i) - file.header().first_rank);
    const findings::Site where = file.place_of_last_call(r);
    const std::string place = run.words_of({where.path, where.offset});
    std::string what =
        sum.now ? std::string("in ") + kCalls[sum.now - 1].name : std::string("in the program");
    if (!place.empty()) what += (sum.now ? " at " : ", after its call at ") + place;
    groups[what].push_back(static_cast<int32_t>(i));
  }
  std::vector<UnfinishedRanks> list;
  for (auto& [what, ranks] : groups) list.push_back({what, std::move(ranks)});
  std::stable_sort(list.begin(), list.end(),
                   [](const UnfinishedRanks& a, const UnfinishedRanks& b) {
                     return a.ranks.size() > b.ranks.size();
                   });
  return list;
}

namespace {

/// The signal that ended the job, in words. A process that a signal ends gives the job the signal's
/// number, or 128 more (-ft); so may the program, by MPI_Abort or exit. So the status alone is not
/// enough. Where a rank has called MPI_Abort, signals only ended the remaining processes.
std::string words_of_signal(const JobRun& run) {
  if (run.end.launcher_killed) return "";
  bool aborts = false;
  for (const RankSum& r : run.ranks) aborts |= r.now == kCall_MPI_Abort + 1;
  for (const ProcessFile& p : run.processes) aborts |= (p.header().flags & kAborted) != 0;
  if (aborts) return " (a rank called MPI_Abort)";
  if (const int number = run.end.launcher_signal)
    return format(" (mpiexec was sent signal %d, \"%s\")", number, strsignal(number));
  for (const int number : {run.end.status, run.end.status - 128})
    if (run.end.signals.count(number))
      return format(" (signal %d, \"%s\", ended a process)", number, strsignal(number));
  return "";
}

}  // namespace

std::string words_of_end(const JobRun& run) {
  size_t left = 0, started = 0;
  for (const RankSum& r : run.ranks) left += r.started && !r.ended, started += r.started;
  std::string error;
  bool deadlock = false;
  for (const ProcessFile& p : run.processes) {
    deadlock |= p.header().flags & kDeadlock;
    if (p.header().flags & kError && error.empty())
      error = escaped({p.header().error, strnlen(p.header().error, sizeof p.header().error)});
  }
  const int status = run.end.status;
  std::string text =
      run.end.launcher_killed ? "mpiexec was killed" : format("exit status %d", status);
  if (deadlock)
    text += ": a deadlock";
  else if (!error.empty())
    text += ": an error of MPI: " + error;
  else if (run.ranks.empty())
    text += ": no process came back from MPI_Init";
  else if (left == 0 && status == 0)
    text += ": all ranks ended";
  else if (left > 0)
    text += ": the job was ended before its ranks were" + words_of_signal(run);
  if (left > 0)
    text += format("; %s of %s ranks had not come to MPI_Finalize", number_words(left).c_str(),
                   number_words(started).c_str());
  return text;
}

std::string words_of_refused(const JobRun& run) {
  if (run.refused.empty()) return "";
  const size_t others = run.refused.size() - 1;
  const std::string more = others ? format("; and %zu more", others) : "";
  return format("%zu file%s could not be read: ", others + 1, others ? "s" : "") +
         escaped(run.refused[0]) + more + ".";
}

std::string words_of_looks(const JobRun& run) {
  auto times = [](uint64_t n) { return number_words(n) + (n == 1 ? " time" : " times"); };
  if (run.processes.empty() || run.predicted) return "";
  if (run.samples < kFewSamples)
    return "Looked at only " + times(run.samples) +
           ": times are rough, and only counts can stand out.";
  if (run.looks < kFewSamples)
    return "Each rank was looked at only " + times(run.looks) +
           ": its own times are rough; those of all ranks, calls and processes are right.";
  return "";
}

}  // namespace fgmpi::report
