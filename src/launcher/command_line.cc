#include "launcher/command_line.h"

#include <mpi.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/settings.h"
#include "base/strings.h"

namespace fgmpi::launcher {
namespace {

constexpr int64_t kMaxNumber = 1 << 30;

/// Hydra's options that take one word, and (kTwoWords) two words; all others take none.
constexpr std::string_view kOneWord[] = {"genvlist",
                                         "envlist",
                                         "f",
                                         "hosts",
                                         "host",
                                         "hostfile",
                                         "machinefile",
                                         "machine",
                                         "wdir",
                                         "wd",
                                         "path",
                                         "configfile",
                                         "launcher",
                                         "launcher-exec",
                                         "bootstrap",
                                         "bootstrap-exec",
                                         "rmk",
                                         "topolib",
                                         "bind-to",
                                         "binding",
                                         "map-by",
                                         "membind",
                                         "demux",
                                         "iface",
                                         "ppn",
                                         "prepend-pattern",
                                         "outfile-pattern",
                                         "outfile",
                                         "errfile-pattern",
                                         "errfile",
                                         "nameserver",
                                         "order-nodes",
                                         "localhost",
                                         "usize",
                                         "gpus-per-proc",
                                         "arch",
                                         "soft",
                                         "file",
                                         "ckpoint-interval",
                                         "ckpoint-prefix",
                                         "ckpointlib",
                                         "timeout"};
constexpr std::string_view kTwoWords[] = {"genv", "env"};

/// Hardware units that hydra can bind processes to (-bind-to) and distribute them over (-map-by). All but those of
/// kBindingUnitsWithoutNumber may be followed by ":N".
constexpr std::string_view kBindingUnits[] = {
    "numa",    "socket",   "core",     "hwthread", "l1cache",  "l1dcache", "l1icache", "l1ucache",
    "l2cache", "l2dcache", "l2icache", "l2ucache", "l3cache",  "l3dcache", "l3icache", "l3ucache",
    "l4cache", "l4dcache", "l4ucache", "l5cache",  "l5dcache", "l5ucache"};
constexpr std::string_view kBindingUnitsWithoutNumber[] = {"none", "rr", "machine"};
constexpr std::string_view kDevices[] = {"pci:", "gpu", "ib", "en", "eth", "hfi"};

/// Options of Open MPI without a value, which hydra does not need: dropped wherever they stand.
constexpr std::string_view kOpenMpiSwitches[] = {"oversubscribe", "allow-run-as-root"};

bool in(std::string_view name, const auto& list) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// "-name" or "--name" without its dashes; empty for a word that is not an option.
std::string_view option_name(std::string_view word) {
  if (!word.starts_with('-') || word.size() < 2) return {};
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  return word;
}

/// "0,2+4,1": the processing units of each process.
bool is_unit_list(std::string_view text) {
  bool digit = false;
  for (char c : text) {
    const bool separator = c == ',' || c == '+' || c == '-';
    if (!(c >= '0' && c <= '9') && !(separator && digit)) return false;
    digit = !separator;
  }
  return digit;
}

/// True if hydra knows this value of -bind-to (`bind`) or -map-by. Checked here because hydra's own message has several
/// lines, and because it treats a list of units that are not numbers as "no binding".
bool is_binding_unit(std::string_view word, bool bind) {
  if (in(word, kBindingUnitsWithoutNumber)) return bind || word == "machine";
  if (bind && word.starts_with("user:")) return is_unit_list(word.substr(5));
  for (std::string_view device : kDevices)
    if (word.starts_with(device)) return true;
  const size_t colon = std::min(word.find(':'), word.size());
  if (!in(word.substr(0, colon), kBindingUnits)) return false;
  if (colon == word.size()) return true;
  auto count = parse_int(word.substr(colon + 1));
  return count && *count >= 1;
}

/// One program of the launch.
struct Section {
  Words options;                              ///< for hydra
  Words program;                              ///< with its arguments
  int64_t processes = 0, nfg = 0, ranks = 0;  ///< 0: not given
};

class Parser {
 public:
  Parser(const Words& arguments, const Setting& setting) : words_(arguments), setting_(setting) {}

  Status parse(Plan* plan) {
    while (at_ < words_.size() && plan->action == Plan::kRun) FGMPI_TRY(section(plan));
    if (plan->action != Plan::kRun) return {};
    if (sections_.empty() || (sections_.back().program.empty() && !programless_))
      return error(MPI_ERR_ARG, "no program given (see mpiexec -help)");
    if (sections_.empty()) sections_.emplace_back();
    for (auto& s : sections_) FGMPI_TRY(settle(&s));
    const bool explored = plan->explore.wanted || !plan->replay.empty();
    if (!explored) share_processes(plan);
    plan->check = plan->check || setting_.checked || explored;
    if (plan->report.file.empty() && !explored) plan->report.file = setting_.report_file;
    FGMPI_TRY(check_tools(*plan));
    if (!track_.empty()) FGMPI_TRY(set_up_tracking());
    if (plan->check) FGMPI_TRY(set_up_checks());
    if (plan->report.any()) FGMPI_TRY(set_up_report(plan));
    if (!plan->replay.empty()) return set_up_replay(plan);
    if (plan->explore.wanted) return set_up_exploration(plan);
    if (!plan->explore.files.empty())
      return error(MPI_ERR_ARG, "-explore-files %s: allowed with -explore and -fuzz",
                   plan->explore.files[0].c_str());
    for (auto& s : sections_)
      if (setting_.inspect)
        FGMPI_TRY(setting_.inspect(s.program, ranks_each(s), s.ranks == 0, &s.options));
    write(plan);
    for (const auto& s : sections_) plan->programs.push_back(description(s));
    plan->dry_run = dry_run_;
    return {};
  }

 private:
  /// Options, then a program and its arguments, up to ":" or the end.
  Status section(Plan* plan) {
    Section s;
    while (at_ < words_.size() && words_[at_] != ":") {
      std::string_view name = option_name(words_[at_]);
      if (name.empty()) break;
      FGMPI_TRY(option(name, &s, plan));
      if (plan->action != Plan::kRun) return {};
    }
    while (at_ < words_.size() && words_[at_] != ":") s.program.push_back(words_[at_++]);
    const bool more = at_ < words_.size();
    if (more && s.program.empty()) return error(MPI_ERR_ARG, "no program given before ':'");
    if (more && ++at_ == words_.size()) return error(MPI_ERR_ARG, "no program given after ':'");
    sections_.push_back(std::move(s));
    return {};
  }

  Status option(std::string_view name, Section* s, Plan* plan) {
    if (name == "help" || name == "h" || name == "version" || name == "V") {
      plan->action = name[0] == 'h' ? Plan::kHelp : Plan::kVersion;
      return {};
    }
    if (name == "n" || name == "np" || name == "c") return number(&s->processes);
    if (name == "nfg") return number(&s->nfg);
    if (name == "ranks") return number(&s->ranks);
    if (in(name, kOpenMpiSwitches)) {
      ++at_;
      return {};
    }
    if (name == "dry-run") {
      ++at_;
      dry_run_ = true;
      return {};
    }
    if (name == "ft" || name == "disable-auto-cleanup") {
      ++at_;
      plan->survives = true;
      s->options.insert(s->options.end(), {"-disable-auto-cleanup"});
      return {};
    }
    if (name == "prepend-rank" ||
        name == "l") {  // ranks share processes: the library puts the prefix
      ++at_;
      s->options.insert(s->options.end(), {"-genv", "FGMPI_PREPEND_RANK", "1"});
      return {};
    }
    if (name == "v" || name == "verbose")  // hydra's; the processes say something, too
      s->options.insert(s->options.end(), {"-genv", "FGMPI_VERBOSE", "1"});
    if (name == "x") return exported_variable(s);
    if (name == "track") return folder_of_trace();
    if (name == "check" || name.starts_with("check=")) return checks(name, plan);
    if (name == "report") return file_of_report(plan);
    if (name == "summary" || name == "progress") {
      ++at_;
      (name == "summary" ? plan->report.summary : plan->report.progress) = true;
      return {};
    }
    if (name == "check-report") return report_of_checks(plan);
    if (name == "replay") return replay(plan);
    if (name == "fuzz") return fuzzing(plan);
    if (name == "resume") return resuming(plan);
    if (name == "explore-files") return files_to_compare(plan);
    if (name == "explore" || name.starts_with("explore=")) return exploration(name, plan);
    if (name == "info" || name == "configfile") programless_ = true;
    return pass_on(name, s);
  }

  Status folder_of_trace() {
    const std::string& option = words_[at_++];
    if (at_ == words_.size()) return missing(option);
    const std::string& folder = words_[at_++];
    if (!track_.empty() && track_ != folder)
      return error(MPI_ERR_ARG, "-track %s and -track %s: allowed is one folder a job",
                   track_.c_str(), folder.c_str());
    if (folder.empty()) return error(MPI_ERR_ARG, "-track: allowed is the name of a folder");
    track_ = folder;
    return {};
  }

  /// -check or -check=KIND,...
  Status checks(std::string_view name, Plan* plan) {
    const std::string kinds(name.substr(std::min(name.find('=') + 1, name.size())));
    ++at_;
    plan->check = true;
    if (name != "check") check_kinds_ += (check_kinds_.empty() ? "" : ",") + kinds;
    if (name != "check" && kinds.empty())
      return error(MPI_ERR_ARG, "-check=: allowed are kinds of findings behind it (mpiexec -help)");
    return {};
  }

  /// -explore, -explore=60s or -explore=10000.
  Status exploration(std::string_view name, Plan* plan) {
    const std::string& option = words_[at_++];
    plan->explore.wanted = true;
    if (name == "explore") return {};
    std::string_view bound = name.substr(name.find('=') + 1);
    const bool time = bound.ends_with('s');
    if (time) bound.remove_suffix(1);
    const auto number = parse_int(bound);
    if (!number || *number < 1 || *number > kMaxNumber)
      return error(MPI_ERR_ARG,
                   "%s: allowed are a number of executions from 1 to %lld, or of seconds with an s "
                   "behind it",
                   option.c_str(), static_cast<long long>(kMaxNumber));
    (time ? plan->explore.seconds : plan->explore.executions) = *number;
    return {};
  }

  /// -explore-files GLOB, as often as wanted.
  Status files_to_compare(Plan* plan) {
    const std::string& option = words_[at_++];
    if (at_ == words_.size()) return missing(option);
    plan->explore.files.push_back(words_[at_++]);
    return {};
  }

  /// -fuzz N; with -explore=60s, too: for so long at most.
  Status fuzzing(Plan* plan) {
    const std::string& option = words_[at_++];
    if (at_ == words_.size()) return missing(option);
    const auto number = parse_int(words_[at_]);
    if (!number || *number < 1 || *number > kMaxNumber)
      return error(MPI_ERR_ARG, "-fuzz %s: allowed is a number of executions from 1 to %lld",
                   words_[at_].c_str(), static_cast<long long>(kMaxNumber));
    ++at_;
    plan->explore.wanted = true;
    plan->explore.seeds = *number;
    return {};
  }

  Status resuming(Plan* plan) {
    const std::string& option = words_[at_++];
    if (at_ == words_.size()) return missing(option);
    plan->explore.wanted = true;
    plan->explore.resumed = words_[at_++];
    if (plan->explore.resumed.empty())
      return error(MPI_ERR_ARG, "-resume: allowed is the name of a file");
    programless_ = true;
    return {};
  }

  Status replay(Plan* plan) {
    const std::string& option = words_[at_++];
    if (at_ == words_.size()) return missing(option);
    plan->replay = words_[at_++];
    if (plan->replay.empty()) return error(MPI_ERR_ARG, "-replay: allowed is the name of a file");
    programless_ = true;
    return {};
  }

  /// The witness says how many ranks there are, and which program, unless a command is given: gdb --args program.
  Status set_up_replay(Plan* plan) {
    const Section& s = sections_[0];
    if (sections_.size() > 1 || s.processes || s.nfg || s.ranks || !s.options.empty() ||
        plan->explore.wanted || !plan->explore.files.empty())
      return error(MPI_ERR_ARG,
                   "-replay %s: allowed beside it are -check=KIND,..., -check-report and one "
                   "command; the witness says the rest",
                   plan->replay.c_str());
    plan->replay_command = s.program;
    return {};
  }

  /// -resume: the file says what there was beside -explore.
  static Status check_alone(const Section& s, const Plan& plan) {
    if (!s.program.empty() || s.processes || s.nfg || s.ranks || !s.options.empty() ||
        plan.explore.seeds || !plan.explore.files.empty())
      return error(MPI_ERR_ARG,
                   "-resume %s: allowed beside it are -explore=60s, -explore=10000 and "
                   "-check=KIND,...; the file says the rest",
                   plan.explore.resumed.c_str());
    return {};
  }

  /// All ranks run in one process, which hydra does not start.
  Status set_up_exploration(Plan* plan) {
    if (sections_.size() != 1)
      return error(MPI_ERR_ARG, "-explore: %zu programs are given; allowed is one",
                   sections_.size());
    Section& s = sections_[0];
    if (!plan->explore.resumed.empty()) return check_alone(s, *plan);
    s.nfg = s.ranks ? s.ranks : std::max<int64_t>(s.processes, 1) * std::max<int64_t>(s.nfg, 1);
    s.ranks = 0;
    s.processes = 1;
    plan->explore.ranks = s.nfg;
    plan->explore.program = s.program;
    if (setting_.inspect) FGMPI_TRY(setting_.inspect(s.program, s.nfg, true, &s.options));
    for (size_t i = 0; i < s.options.size(); i += 3) {
      const std::string_view name = option_name(s.options[i]);
      if ((name != "env" && name != "genv") || i + 2 >= s.options.size())
        return error(
            MPI_ERR_ARG,
            "%s with -explore: allowed beside it are -n, -nfg, -ranks, -env, -genv, -x and "
            "-check=KIND,...",
            s.options[i].c_str());
      plan->explore.variables.emplace_back(s.options[i + 1], s.options[i + 2]);
    }
    plan->explore.variables.emplace_back("FGMPI_NFG", std::to_string(s.nfg));
    return {};
  }

  Status report_of_checks(Plan* plan) {
    const std::string& option = words_[at_++];
    if (at_ == words_.size()) return missing(option);
    plan->check = true;
    plan->check_reports.push_back(words_[at_++]);
    return {};
  }

  Status file_of_report(Plan* plan) {
    const std::string& option = words_[at_++];
    if (at_ == words_.size()) return missing(option);
    const std::string& file = words_[at_++];
    if (file.empty() || (!plan->report.file.empty() && plan->report.file != file))
      return error(MPI_ERR_ARG, "-report %s: allowed is one file a job", file.c_str());
    plan->report.file = file;
    return {};
  }

  /// Each stands in front of the MPI functions.
  Status check_tools(const Plan& plan) const {
    if (plan.check && !track_.empty())
      return error(MPI_ERR_ARG, "-check and -track %s: allowed is one of them", track_.c_str());
    if (plan.report.any() && (plan.check || !track_.empty()))
      return error(MPI_ERR_ARG, "-report, -summary or -progress with %s: allowed is one of them",
                   plan.check ? "-check" : "-track");
    return {};
  }

  Status set_up_report(Plan* plan) {
    if (setting_.report && !dry_run_) FGMPI_TRY(setting_.report(plan->report));
    preload(setting_.reporter);
    return {};
  }

  Status set_up_checks() {
    if (setting_.check && !dry_run_) FGMPI_TRY(setting_.check(check_kinds_));
    preload(setting_.checker);
    return {};
  }

  Status set_up_tracking() {
    if (setting_.track && !dry_run_) FGMPI_TRY(setting_.track(track_));
    preload(setting_.tracker);
    return {};
  }

  /// Adds a library to an LD_PRELOAD that the command line sets for a program, which would replace the inherited one.
  void preload(const std::string& library) {
    for (auto& s : sections_)
      for (size_t i = 0; i + 2 < s.options.size(); ++i)
        if ((s.options[i] == "-env" || s.options[i] == "-genv") && s.options[i + 1] == "LD_PRELOAD")
          s.options[i + 2] = library + ":" + s.options[i + 2];
  }

  Status missing(const std::string& option) {
    return error(MPI_ERR_ARG, "%s: a value is missing behind it", option.c_str());
  }

  Status number(int64_t* value) {
    const std::string& option = words_[at_++];
    if (at_ == words_.size()) return missing(option);
    const std::string& text = words_[at_++];
    auto parsed = parse_int(text);
    if (!parsed || *parsed < 1 || *parsed > kMaxNumber)
      return error(MPI_ERR_ARG, "%s %s: allowed is a number from 1 to %lld", option.c_str(),
                   text.c_str(), static_cast<long long>(kMaxNumber));
    *value = *parsed;
    return {};
  }

  /// Open MPI's "-x NAME" (hydra passes all variables anyway) and "-x NAME=VALUE".
  Status exported_variable(Section* s) {
    const std::string& option = words_[at_++];
    if (at_ == words_.size()) return missing(option);
    const std::string& text = words_[at_++];
    size_t equals = text.find('=');
    if (equals == text.npos) return {};
    add_variable(s, text.substr(0, equals), text.substr(equals + 1));
    return settings::check(text.substr(0, equals), text.substr(equals + 1));
  }

  void add_variable(Section* s, const std::string& name, const std::string& value) {
    s->options.insert(s->options.end(), {"-env", name, with_library(name, value)});
  }

  /// Puts this library's folder first in an LD_LIBRARY_PATH that the command line sets, so that programs linked with the
  /// host's compiler wrappers load this library.
  std::string with_library(const std::string& name, const std::string& value) const {
    return name == "LD_LIBRARY_PATH" ? setting_.library_folder + ":" + value : value;
  }

  Status pass_on(std::string_view name, Section* s) {
    const std::string option = words_[at_++];
    s->options.push_back(option);
    size_t follow = name.find('=') != name.npos ? 0
                    : in(name, kTwoWords)       ? 2
                    : in(name, kOneWord)        ? 1
                                                : 0;
    if (words_.size() - at_ < follow) return missing(option);
    for (size_t i = 0; i < follow; ++i) {
      std::string word = words_[at_++];
      // Open MPI writes modifiers behind the unit: core:overload-allowed.
      if (name == "bind-to" && option.starts_with("--")) word = word.substr(0, word.find(':'));
      if ((name == "bind-to" || name == "map-by") && option.size() == name.size() + 1)
        FGMPI_TRY(place(option, word));
      if (follow == 2 && i == 1) {  // a variable
        FGMPI_TRY(settings::check(words_[at_ - 2], word));
        word = with_library(words_[at_ - 2], word);
      }
      s->options.push_back(std::move(word));
    }
    return {};
  }

  static Status place(const std::string& option, const std::string& word) {
    const bool bind = option == "-bind-to";
    if (word == "-help" || is_binding_unit(word, bind)) return {};
    return error(MPI_ERR_ARG,
                 "%s %s: allowed are %smachine, and numa, socket, core, hwthread, l1cache to "
                 "l5cache, each with :N or without (mpiexec.hydra %s -help)",
                 option.c_str(), word.c_str(), bind ? "none, rr, user:0,1+2,..., " : "",
                 option.c_str());
  }

  /// Turns -ranks into processes, and checks that the two numbers fit.
  Status settle(Section* s) {
    if (!s->ranks) return {};
    if (s->nfg)
      return error(MPI_ERR_ARG, "-nfg %lld and -ranks %lld: allowed is one of them",
                   static_cast<long long>(s->nfg), static_cast<long long>(s->ranks));
    if (!s->processes) s->processes = std::min<int64_t>(setting_.cores, s->ranks);
    if (s->ranks < s->processes)
      return error(MPI_ERR_ARG,
                   "-ranks %lld with -n %lld: allowed is at least one rank for each process",
                   static_cast<long long>(s->ranks), static_cast<long long>(s->processes));
    return {};
  }

  /// Many more processes than cores would mostly wait for each other, and some thousands could not be started: where
  /// nothing says how many ranks share a process, those of programs that can share one do.
  void share_processes(Plan* plan) {
    if (plan->survives) return;  // ranks of a process fail together
    int64_t asked = 0, shared = 0, processes = 0;
    for (const auto& s : sections_) asked += s.nfg || s.ranks ? 0 : s.processes;
    if (!setting_.can_share || asked <= kProcessesPerCore * setting_.cores) return;
    for (auto& s : sections_) {
      if (s.nfg || s.ranks || s.processes < 2 || !setting_.can_share(s.program, s.options))
        continue;
      shared += s.ranks = s.processes;
      processes += s.processes = std::min<int64_t>(s.processes, setting_.cores);
    }
    if (shared)
      plan->note = format(
          "%lld processes are more than %lld for each of %d cores: %lld ranks run in %lld "
          "processes (-nfg 1: one rank a process)",
          static_cast<long long>(asked), static_cast<long long>(kProcessesPerCore), setting_.cores,
          static_cast<long long>(shared), static_cast<long long>(processes));
  }

  static std::string description(const Section& s) {
    const auto processes = static_cast<long long>(std::max<int64_t>(s.processes, 1));
    const std::string program = s.program.empty() ? "" : s.program.front();
    std::string ranks = s.nfg     ? format("%lld ranks each", static_cast<long long>(s.nfg))
                        : s.ranks ? format("%lld ranks in all", static_cast<long long>(s.ranks))
                                  : "one rank each, or as FGMPI_NFG or FGMPI_RANKS says";
    return format("%s: %s%lld processes, %s", program.c_str(),
                  s.processes ? "" : "as many as there are slots, at least ", processes,
                  ranks.c_str());
  }

  /// The largest number of ranks that one process of the section hosts.
  static int64_t ranks_each(const Section& s) {
    if (s.ranks) return (s.ranks + s.processes - 1) / s.processes;
    return s.nfg ? s.nfg : 1;
  }

  void write(Plan* plan) const {
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Section& s = sections_[i];
      if (i) plan->hydra.push_back(":");
      append(plan, s.options);
      plan->counted |= s.nfg || s.ranks;
      if (s.nfg) {
        run(plan, s, s.processes, {"-env", "FGMPI_NFG", std::to_string(s.nfg)});
      } else if (s.ranks && sections_.size() == 1) {
        run(plan, s, s.processes, {"-env", "FGMPI_RANKS", std::to_string(s.ranks)});
      } else if (s.ranks) {
        run_shares(plan, s, i);
      } else {
        run(plan, s, s.processes, {});
      }
    }
  }

  /// Splits a program given by -ranks, if its processes cannot all host the same number: first the processes that host one
  /// rank more, then the others. Hydra sees two programs; FGMPI_APPNUM tells both the same program number.
  static void run_shares(Plan* plan, const Section& s, size_t index) {
    const int64_t share = s.ranks / s.processes, larger = s.ranks % s.processes;
    const Words app = {"-env", "FGMPI_APPNUM", std::to_string(index)};
    if (larger) {
      append(plan, app);
      run(plan, s, larger, {"-env", "FGMPI_NFG", std::to_string(share + 1)});
      plan->hydra.push_back(":");
      append(plan, s.options);
    }
    append(plan, app);
    run(plan, s, s.processes - larger, {"-env", "FGMPI_NFG", std::to_string(share)});
  }

  static void run(Plan* plan, const Section& s, int64_t processes, const Words& variables) {
    if (processes) append(plan, {"-n", std::to_string(processes)});
    append(plan, variables);
    append(plan, s.program);
  }

  static void append(Plan* plan, const Words& words) {
    plan->hydra.insert(plan->hydra.end(), words.begin(), words.end());
  }

  const Words& words_;
  const Setting& setting_;
  size_t at_ = 0;
  std::string track_;  ///< the folder of -track
  bool dry_run_ = false;
  std::string check_kinds_;   ///< what follows "-check="
  bool programless_ = false;  ///< -info, -configfile: hydra needs no program on the command line
  std::vector<Section> sections_;
};

}  // namespace

Status make_plan(const Words& arguments, const Setting& setting, Plan* plan) {
  *plan = Plan();
  return Parser(arguments, setting).parse(plan);
}

}  // namespace fgmpi::launcher
