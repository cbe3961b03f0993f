// The parser of mpiexec's command line, and the plan for hydra that it makes.

#include "launcher/mpiexec/command_line.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/count_words.h"
#include "base/environment.h"
#include "base/settings.h"
#include "base/strings.h"
#include "launcher/mpiexec/allowed_options.h"
#include "launcher/mpiexec/config_file.h"
#include "launcher/mpiexec/hydra_options.h"
#include "launcher/mpiexec/own_options.h"
#include "launcher/mpiexec/shares.h"

namespace fgmpi::launcher {
namespace {

constexpr int64_t kMaxNumber = 1 << 30;

bool in(std::string_view name, const auto& list) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// An option as it stands on the command line: -name, --name, -name=value or --name=value.
struct Option {
  std::string word;   ///< all of it
  std::string name;   ///< without dashes and value
  std::string value;  ///< behind "=", or the next word once value_of() has read it
  bool attached = false;

  explicit Option(std::string_view text) : word(text) {
    text.remove_prefix(text.starts_with("--") ? 2 : 1);
    const size_t equals = text.find('=');
    attached = equals != text.npos;
    name = text.substr(0, equals);
    if (attached) value = text.substr(equals + 1);
  }
  bool is_double() const { return word.starts_with("--"); }
  /// The option with its value, for errors.
  std::string text() const { return attached ? word : word + " " + value; }
};

bool is_option(std::string_view word) { return word.starts_with('-') && word.size() >= 2; }

class Parser {
 public:
  Parser(const Words& arguments, const Setting& setting) : words_(arguments), setting_(setting) {}

  Status parse(LaunchPlan* plan) {
    while (at_ < words_.size() && plan->action == LaunchPlan::kRun) FGMPI_TRY(section(plan));
    if (plan->action != LaunchPlan::kRun) return {};
    if (sections_.empty() || (sections_.back().program.empty() && !programless_))
      return error(MPI_ERR_ARG, "no program given (see mpiexec -help)");
    if (sections_.empty()) sections_.emplace_back();
    FGMPI_TRY(prepare_prediction(plan));
    FGMPI_TRY(prepare_checkpoints(plan));
    for (auto& s : sections_) FGMPI_TRY(compute_processes(&s));
    const bool explored =
        plan->explore.wanted || (!plan->replay.empty() && plan->record.file.empty());
    const bool recorded = !plan->record.file.empty() || !plan->rewind.file.empty();
    FGMPI_TRY(check_recording(*plan, sections_, !track_.empty()));
    if (!explored && !recorded && plan->predict.machine.empty()) share_processes(plan);
    plan->check = plan->check || (setting_.checked && !recorded) || explored;
    if (plan->report.file.empty() && !explored && !recorded && plan->predict.ranks.empty())
      plan->report.file = setting_.report_file;
    FGMPI_TRY(check_balance(*plan, !track_.empty()));
    FGMPI_TRY(check_tools(*plan));
    if (!track_.empty()) FGMPI_TRY(set_up_tool(setting_.track, track_, setting_.tracker));
    if (plan->check) FGMPI_TRY(set_up_tool(setting_.check, check_kinds_, setting_.checker));
    // The reporter is in front of the meter: it comes later.
    if (!plan->predict.machine.empty())
      FGMPI_TRY(set_up_tool(setting_.predict, plan->predict, setting_.meter));
    if (plan->balance) {
      FGMPI_TRY(set_up_tool(setting_.balance, plan->report.summary, setting_.checkpointer));
      plan->report.summary &= !plan->report.file.empty();  // its own line needs no reporter
    }
    // The reporter stands in front of the library of -balance, so it is set up later.
    if (plan->report.any() && !recorded)
      FGMPI_TRY(set_up_tool(setting_.report, plan->report, setting_.reporter));
    if (!plan->rewind.file.empty()) {
      plan->rewind.debugger = sections_[0].program;
      return {};
    }
    if (!plan->record.file.empty()) return set_up_recording(plan);
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
  /// Parses options, then a program and its arguments, up to ":" or the end.
  Status section(LaunchPlan* plan) {
    ProgramSection s;
    for (;;) {
      while (at_ < words_.size() && is_option(words_[at_])) {
        const Option o(words_[at_++]);
        FGMPI_TRY(option(o, &s, plan));
        if (plan->action != LaunchPlan::kRun) return {};
      }
      if (config_ != Config::kNamed) break;
      FGMPI_TRY(insert_config_file());
    }
    if (sections_.empty())
      plan->checkpoint.options.assign(words_.begin(),
                                      words_.begin() + static_cast<std::ptrdiff_t>(at_));
    while (at_ < words_.size() && words_[at_] != ":") s.program.push_back(words_[at_++]);
    const bool more = at_ < words_.size();
    if (more && s.program.empty()) return error(MPI_ERR_ARG, "no program given before ':'");
    if (more && ++at_ == words_.size()) return error(MPI_ERR_ARG, "no program given after ':'");
    sections_.push_back(std::move(s));
    return {};
  }

  /// Inserts the words of -configfile behind the options of the command line.
  Status insert_config_file() {
    config_ = Config::kRead;
    if (at_ < words_.size() && words_[at_] != ":")
      return error(MPI_ERR_ARG, "-configfile %s: %s stands behind it; allowed are options and ':'",
                   config_file_.c_str(), words_[at_].c_str());
    Words words;
    FGMPI_TRY(read_config_file(config_file_, &words));
    words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(at_), words.begin(), words.end());
    return {};
  }

  Status option(Option o, ProgramSection* s, LaunchPlan* plan) {
    const std::string& name = o.name;
    if (in(name, kSwitches)) {
      if (o.attached)
        return error(MPI_ERR_ARG, "%s: allowed is -%s without a value", o.word.c_str(),
                     name.c_str());
      return turn_on(name, s, plan);
    }
    if (name == "check") return checks(o, plan);
    if (name == "events") return events(&o, plan);
    if (name == "goto") return visited_event(&o, plan);
    if (name == "call") return filter(&o, &plan->rewind.call);
    if (name == "comm") return filter(&o, &plan->rewind.comm);
    if (name == "partner") return rank_of(&o, &plan->rewind.partner);
    if (name == "explore") return exploration(o, plan);
    if (name == "n" || name == "np" || name == "c") return number(&o, &s->processes);
    if (name == "nfg") return number(&o, &s->nfg);
    if (name == "ranks") return ranks(&o, s, plan);
    if (name == "predict-compute") return compute_model(&o, plan);
    if (name == "predict-contention") return contention_model(&o, plan);
    if (name == "fuzz") return fuzzing(&o, plan);
    if (name == "resize" || name == "leave") return resizing(&o, plan);
    if (name == "checkpoint-every") return interval(&o, &plan->checkpoint.every_ms);
    if (name == "x") return exported_variable(&o, s);
    if (name == "initial-errhandler") return initial_errhandler(&o, s);
    // All kinds of memory that there are can be used in any case.
    if (name == "memory-alloc-kinds") return value_of(&o);
    if (!in(name, kNamesOfFiles)) return pass_on(&o, s, plan);
    FGMPI_TRY(value_of(&o));
    if (o.value.empty() || (!o.attached && o.value.starts_with('-')))
      return error(MPI_ERR_ARG, "%s: allowed is the name of a %s behind it", o.word.c_str(),
                   name == "track" ? "folder" : "file");
    return name_of_file(o, plan);
  }

  /// Sets the error handler that MPI_COMM_WORLD and MPI_COMM_SELF have at first (MPI-4.0 section
  /// 11.5).
  Status initial_errhandler(Option* o, ProgramSection* s) {
    FGMPI_TRY(value_of(o));
    constexpr std::string_view kHandlers[] = {"mpi_errors_are_fatal", "mpi_errors_abort",
                                              "mpi_errors_return"};
    if (!in(o->value, kHandlers))
      return error(MPI_ERR_ARG,
                   "%s: allowed is mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return",
                   o->text().c_str());
    add_words(s, {"-env", environment::name(environment::kInitialErrhandler), o->value});
    return {};
  }

  /// Applies an option of kSwitches.
  Status turn_on(std::string_view name, ProgramSection* s, LaunchPlan* plan) {
    if (name[0] == 'h') plan->action = LaunchPlan::kHelp;
    if (name == "version" || name == "V") plan->action = LaunchPlan::kVersion;
    if (name == "dry-run") dry_run_ = true;
    if (name == "ft" || name == "disable-auto-cleanup") plan->survives = true;
    if (name == "restart-on-failure") plan->checkpoint.on_failure = true;
    if (name == "record-inputs") plan->record.keeps_inputs = true;
    if (name == "summary") plan->report.summary = true;
    if (name == "balance") plan->balance = true;
    if (name == "progress") plan->report.progress = true;
    if (name == "predict-explain") plan->predict.explains = true;
    // The library writes the prefix: hydra cannot tell the ranks of a process apart.
    if (name == "prepend-rank" || name == "l") add_words(s, {"-genv", "FGMPI_PREPEND_RANK", "1"});
    // -v is an option of hydra, which allows it once; it also makes the processes verbose.
    if (name == "v" || name == "verbose") {
      add_words(s, {"-genv", "FGMPI_VERBOSE", "1"});
      if (!std::exchange(verbose_, true)) add_words(s, {"-v"});
    }
    return {};
  }

  /// Applies an option of kNamesOfFiles.
  Status name_of_file(const Option& o, LaunchPlan* plan) {
    const std::string& name = o.name;
    if (name == "track") return set_name(o, &track_);
    if (name == "report") return set_name(o, &plan->report.file);
    if (name == "predict") return set_name(o, &plan->predict.machine);
    if (name == "predict-plot") return set_name(o, &plan->predict.plot);
    if (name == "check-report") {
      plan->check = true;
      plan->check_reports.push_back(o.value);
    }
    if (name == "explore-files") plan->explore.files.push_back(o.value);
    if (name == "configfile") {
      if (config_ != Config::kNone)
        return error(MPI_ERR_ARG, "%s: allowed is one file, which names no other",
                     o.text().c_str());
      config_ = Config::kNamed;
      config_file_ = o.value;
    }
    if (name == "resume") {
      plan->explore.wanted = programless_ = true;
      return set_name(o, &plan->explore.resumed);
    }
    if (name == "record") return set_name(o, &plan->record.file);
    if (name == "checkpoint") return set_name(o, &plan->checkpoint.folder);
    if (name == "restart") {
      programless_ = true;
      return set_name(o, &plan->checkpoint.restart);
    }
    if (name == "rewind") {
      programless_ = true;
      return set_name(o, &plan->rewind.file);
    }
    if (name == "replay") {
      programless_ = true;
      return set_name(o, &plan->replay);
    }
    return {};
  }

  static Status set_name(const Option& o, std::string* name) {
    if (!name->empty() && *name != o.value)
      return error(MPI_ERR_ARG, "-%s %s and -%s %s: allowed is one %s a job", o.name.c_str(),
                   name->c_str(), o.name.c_str(), o.value.c_str(),
                   o.name == "track"                      ? "folder"
                   : o.name == "call" || o.name == "comm" ? "name"
                                                          : "file");
    *name = o.value;
    return {};
  }

  /// Applies -events or -events RANK.
  Status events(Option* o, LaunchPlan* plan) {
    plan->rewind.lists = true;
    const bool follows = !o->attached && at_ < words_.size() && parse_int(words_[at_]).has_value();
    if (!o->attached && !follows) return {};
    return rank_of(o, &plan->rewind.rank);
  }
  Status rank_of(Option* o, int64_t* rank) {
    FGMPI_TRY(value_of(o));
    const auto number = parse_int(o->value);
    if (!number || *number < 0 || *number > kMaxNumber)
      return error(MPI_ERR_ARG, "%s: allowed is the number of a rank", o->text().c_str());
    *rank = *number;
    return {};
  }
  /// Applies -goto EVENT or -goto last.
  Status visited_event(Option* o, LaunchPlan* plan) {
    FGMPI_TRY(value_of(o));
    const auto event = parse_int(o->value);
    if (o->value != "last" && (!event || *event < 1))
      return error(MPI_ERR_ARG, "%s: allowed is the number of an event, or last",
                   o->text().c_str());
    plan->rewind.visits = true;
    plan->rewind.event = event.value_or(0);
    return {};
  }
  /// Applies -call or -comm.
  Status filter(Option* o, std::string* name) {
    FGMPI_TRY(value_of(o));
    return set_name(*o, name);
  }

  /// Applies -check or -check=KIND,...
  Status checks(const Option& o, LaunchPlan* plan) {
    plan->check = true;
    if (!o.attached) return {};
    if (o.value.empty())
      return error(MPI_ERR_ARG, "%s: allowed are kinds of findings behind it (mpiexec -help)",
                   o.word.c_str());
    check_kinds_ += (check_kinds_.empty() ? "" : ",") + o.value;
    return {};
  }

  /// Applies -explore, -explore=60s or -explore=10000.
  static Status exploration(const Option& o, LaunchPlan* plan) {
    plan->explore.wanted = true;
    if (!o.attached) return {};
    std::string_view bound = o.value;
    const bool time = bound.ends_with('s');
    if (time) bound.remove_suffix(1);
    const auto number = parse_int(bound);
    if (!number || *number < 1 || *number > kMaxNumber)
      return error(MPI_ERR_ARG,
                   "%s: allowed are a number of executions from 1 to %lld, or of seconds with an s "
                   "behind it",
                   o.word.c_str(), static_cast<long long>(kMaxNumber));
    return set_number(o, *number, time ? &plan->explore.seconds : &plan->explore.executions);
  }

  /// Applies -fuzz N. With -explore=60s beside it, the executions end after that time.
  Status fuzzing(Option* o, LaunchPlan* plan) {
    FGMPI_TRY(value_of(o));
    const auto number = parse_int(o->value);
    if (!number || *number < 1 || *number > kMaxNumber)
      return error(MPI_ERR_ARG, "%s: allowed is a number of executions from 1 to %lld",
                   o->text().c_str(), static_cast<long long>(kMaxNumber));
    plan->explore.wanted = true;
    return set_number(*o, *number, &plan->explore.seeds);
  }

  /// Applies -ranks N, or with -predict -ranks N,N,...
  Status ranks(Option* o, ProgramSection* s, LaunchPlan* plan) {
    FGMPI_TRY(value_of(o));
    if (o->value.find(',') == o->value.npos) return set_parsed(*o, &s->ranks);
    std::string_view rest = o->value;
    for (bool more = true; more;) {
      const size_t comma = rest.find(',');
      more = comma != rest.npos;
      const auto parsed = parse_int(rest.substr(0, comma));
      if (!parsed || *parsed < 1 || *parsed > kMaxNumber)
        return error(MPI_ERR_ARG,
                     "%s: allowed is a number from 1 to %lld, with -predict several with commas",
                     o->text().c_str(), static_cast<long long>(kMaxNumber));
      plan->predict.ranks.push_back(*parsed);
      rest.remove_prefix(more ? comma + 1 : rest.size());
    }
    return {};
  }

  Status compute_model(Option* o, LaunchPlan* plan) {
    FGMPI_TRY(value_of(o));
    const bool named = o->value == "measured" || o->value == "typical" || o->value == "none" ||
                       o->value.ends_with(kTimesEnding);
    char* end = nullptr;
    const double factor = std::strtod(o->value.c_str(), &end);
    if (!named && (o->value.empty() || *end || !(factor > 0 && factor <= 1e6)))
      return error(
          MPI_ERR_ARG,
          "%s: allowed are measured, typical, none, a factor above 0 for what is measured, or "
          "FILE.times",
          o->text().c_str());
    return set_name(*o, &plan->predict.compute);
  }

  Status contention_model(Option* o, LaunchPlan* plan) {
    FGMPI_TRY(value_of(o));
    if (o->value != "ends" && o->value != "links")
      return error(MPI_ERR_ARG, "%s: allowed are ends and links", o->text().c_str());
    return set_name(*o, &plan->predict.contention);
  }

  /// -predict: all ranks run in one process.
  Status prepare_prediction(LaunchPlan* plan) {
    if (plan->predict.machine.empty()) {
      const bool given = !plan->predict.ranks.empty() || !plan->predict.compute.empty() ||
                         !plan->predict.contention.empty() || plan->predict.explains ||
                         !plan->predict.plot.empty();
      return given ? error(MPI_ERR_ARG,
                           "-ranks with several numbers and options that begin with -predict-: "
                           "allowed with -predict")
                   : Status();
    }
    ProgramSection& s = sections_[0];
    if (sections_.size() != 1)
      return error(MPI_ERR_ARG, "-predict %s: %zu programs are given; allowed is one",
                   plan->predict.machine.c_str(), sections_.size());
    if (plan->explore.wanted || !plan->replay.empty() || plan->check || plan->report.summary ||
        plan->report.progress || plan->survives || !track_.empty())
      return error(MPI_ERR_ARG,
                   "-predict %s: allowed beside it are -n, -nfg, -ranks, -report, options that "
                   "begin with -predict-, and options that set variables",
                   plan->predict.machine.c_str());
    if (!plan->report.file.empty() && !plan->predict.ranks.empty())
      return error(MPI_ERR_ARG,
                   "-predict %s: -report is allowed with one number of ranks; %zu are given",
                   plan->predict.machine.c_str(), plan->predict.ranks.size());
    s.nfg = s.ranks ? s.ranks : std::max<int64_t>(s.processes, 1) * std::max<int64_t>(s.nfg, 1);
    s.ranks = 0;
    s.processes = 1;
    plan->predict.most_ranks = s.nfg;
    if (const auto& each = plan->predict.ranks; !each.empty())
      plan->predict.most_ranks = *std::max_element(each.begin(), each.end());
    return {};
  }

  /// Prepares -replay. The witness gives the number of ranks, and the program unless the command
  /// line names one (gdb --args program).
  Status set_up_replay(LaunchPlan* plan) {
    const ProgramSection& s = sections_[0];
    if (sections_.size() > 1 || s.processes || s.nfg || s.ranks || !s.options.empty() ||
        plan->explore.wanted || plan->survives || !plan->explore.files.empty())
      return error(MPI_ERR_ARG,
                   "-replay %s: allowed beside it are -check=KIND,..., -check-report and one "
                   "command; the witness says the rest",
                   plan->replay.c_str());
    plan->replay_command = s.program;
    return {};
  }

  /// Applies -resize N PID and -leave HOST PID.
  Status resizing(Option* o, LaunchPlan* plan) {
    const bool leaves = o->name == "leave";
    plan->action = leaves ? LaunchPlan::kLeave : LaunchPlan::kResize;
    FGMPI_TRY(leaves ? value_of(o) : number(o, &plan->checkpoint.processes));
    if (leaves) plan->checkpoint.leaves = o->value;
    const auto pid = at_ < words_.size() ? parse_int(words_[at_]) : std::nullopt;
    if (!pid || *pid < 1 || at_ + 1 != words_.size())
      return error(MPI_ERR_ARG, "%s: allowed is the process id of an mpiexec behind it",
                   o->text().c_str());
    plan->checkpoint.pid = *pid;
    return {};
  }

  /// Applies a time such as 500ms, 30s, 10m or 2h; a number alone is one of seconds.
  Status interval(Option* o, int64_t* ms) {
    FGMPI_TRY(value_of(o));
    const auto time = parse_interval_ms(o->value);
    if (!time)
      return error(MPI_ERR_ARG, "%s: allowed is a time such as 500ms, 30s, 10m or 2h",
                   o->text().c_str());
    return set_number(*o, *time, ms);
  }

  /// -checkpoint and -restart. The program of -restart comes from the checkpoint.
  Status prepare_checkpoints(LaunchPlan* plan) {
    const LaunchPlan::Checkpoint& wishes = plan->checkpoint;
    ProgramSection& s = sections_[0];
    FGMPI_TRY(check_checkpoints(*plan, sections_, !track_.empty()));
    if (!wishes.any() || !setting_.checkpoint) return {};
    RestartedProgram saved;
    const std::function<Status(const LaunchPlan::Checkpoint&)> set_up =
        [&](const LaunchPlan::Checkpoint& w) { return setting_.checkpoint(w, &saved); };
    FGMPI_TRY(set_up_tool(set_up, wishes, setting_.checkpointer));
    if (wishes.restart.empty()) return {};
    s.program = saved.words;
    s.ranks = saved.ranks;
    if (s.processes == 0) s.processes = std::min(saved.processes, saved.ranks);
    return {};
  }

  /// Prepares -record: all ranks run in one process, which hydra does not start.
  Status set_up_recording(LaunchPlan* plan) {
    ProgramSection& s = sections_[0];
    if (!plan->replay.empty()) return set_up_replay(plan);  // the witness says the rest
    s.nfg = s.ranks ? s.ranks : std::max<int64_t>(s.processes, 1) * std::max<int64_t>(s.nfg, 1);
    plan->record.ranks = s.nfg;
    plan->record.program = s.program;
    if (setting_.inspect) FGMPI_TRY(setting_.inspect(s.program, s.nfg, true, &s.options));
    for (size_t i = 0; i < s.options.size(); i += 3) {
      if ((s.options[i] != "-env" && s.options[i] != "-genv") || i + 2 >= s.options.size())
        return error(MPI_ERR_ARG,
                     "%s with -record: allowed beside it are -n, -nfg, -ranks, -env, -genv and -x",
                     s.options[i].c_str());
      plan->record.variables.emplace_back(s.options[i + 1], s.options[i + 2]);
    }
    plan->record.variables.emplace_back("FGMPI_NFG", std::to_string(s.nfg));
    return {};
  }

  /// Checks that nothing stands beside -resume that its file determines.
  static Status check_alone(const ProgramSection& s, const LaunchPlan& plan) {
    if (!s.program.empty() || s.processes || s.nfg || s.ranks || !s.options.empty() ||
        plan.explore.seeds || plan.survives || !plan.explore.files.empty())
      return error(MPI_ERR_ARG,
                   "-resume %s: allowed beside it are -explore=60s, -explore=10000 and "
                   "-check=KIND,...; the file says the rest",
                   plan.explore.resumed.c_str());
    return {};
  }

  static Status not_explored(const std::string& option) {
    return error(MPI_ERR_ARG,
                 "%s with -explore: allowed beside it are -n, -nfg, -ranks, -env, -genv, -x and "
                 "-check=KIND,...",
                 option.c_str());
  }

  /// Prepares -explore: all ranks run in one process, which hydra does not start.
  Status set_up_exploration(LaunchPlan* plan) {
    if (sections_.size() != 1)
      return error(MPI_ERR_ARG, "-explore: %zu programs are given; allowed is one",
                   sections_.size());
    ProgramSection& s = sections_[0];
    if (!plan->explore.resumed.empty()) return check_alone(s, *plan);
    s.nfg = s.ranks ? s.ranks : std::max<int64_t>(s.processes, 1) * std::max<int64_t>(s.nfg, 1);
    s.ranks = 0;
    s.processes = 1;
    plan->explore.ranks = s.nfg;
    plan->explore.program = s.program;
    if (setting_.inspect) FGMPI_TRY(setting_.inspect(s.program, s.nfg, true, &s.options));
    if (plan->survives) return not_explored("-ft");
    for (size_t i = 0; i < s.options.size(); i += 3) {
      if ((s.options[i] != "-env" && s.options[i] != "-genv") || i + 2 >= s.options.size())
        return not_explored(s.options[i]);
      plan->explore.variables.emplace_back(s.options[i + 1], s.options[i + 2]);
    }
    plan->explore.variables.emplace_back("FGMPI_NFG", std::to_string(s.nfg));
    return {};
  }

  /// Checks that only one tool is wanted: each tool defines the MPI functions in front of
  /// the library's.
  Status check_tools(const LaunchPlan& plan) const {
    if (plan.check && !track_.empty())
      return error(MPI_ERR_ARG, "-check and -track %s: allowed is one of them", track_.c_str());
    if (plan.report.any() && (plan.check || !track_.empty()))
      return error(MPI_ERR_ARG, "-report, -summary or -progress with %s: allowed is one of them",
                   plan.check ? "-check" : "-track");
    return {};
  }

  /// Sets up a tool, unless this is a dry run, and preloads its library.
  template <class SetUp, class Wishes>
  Status set_up_tool(const SetUp& set_up, const Wishes& wishes, const std::string& library) {
    if (set_up && !dry_run_) FGMPI_TRY(set_up(wishes));
    preload(library);
    return {};
  }

  /// Adds a library to an LD_PRELOAD that the command line sets for a program: that value would
  /// replace the inherited one, which names the library.
  void preload(const std::string& library) {
    for (auto& s : sections_)
      for (size_t i = 0; i + 2 < s.options.size(); ++i)
        if ((s.options[i] == "-env" || s.options[i] == "-genv") && s.options[i + 1] == "LD_PRELOAD")
          s.options[i + 2] = library + ":" + s.options[i + 2];
  }

  /// Reads the next word as the option's value, unless its value stands behind "=".
  Status value_of(Option* o) {
    if (o->attached) return {};
    if (at_ == words_.size() || words_[at_] == ":")
      return error(MPI_ERR_ARG, "%s: a value is missing behind it", o->word.c_str());
    o->value = words_[at_++];
    return {};
  }

  Status number(Option* o, int64_t* value) {
    FGMPI_TRY(value_of(o));
    return set_parsed(*o, value);
  }
  /// Sets a number from the option's value, which has been read.
  static Status set_parsed(const Option& o, int64_t* value) {
    const auto parsed = parse_int(o.value);
    if (!parsed || *parsed < 1 || *parsed > kMaxNumber)
      return error(MPI_ERR_ARG, "%s: allowed is a number from 1 to %lld", o.text().c_str(),
                   static_cast<long long>(kMaxNumber));
    return set_number(o, *parsed, value);
  }

  static Status set_number(const Option& o, int64_t number, int64_t* value) {
    if (*value && *value != number)
      return error(MPI_ERR_ARG, "%s: %lld has been given before; allowed is one number",
                   o.text().c_str(), static_cast<long long>(*value));
    *value = number;
    return {};
  }

  /// Applies Open MPI's "-x NAME=VALUE". Ignores "-x NAME": hydra passes all variables anyway.
  Status exported_variable(Option* o, ProgramSection* s) {
    FGMPI_TRY(value_of(o));
    const size_t equals = o->value.find('=');
    if (equals == o->value.npos) return {};
    return add_variable(s, "-env", o->value.substr(0, equals), o->value.substr(equals + 1));
  }

  Status add_variable(ProgramSection* s, const std::string& option, const std::string& name,
                      const std::string& value) {
    add_words(s, {option, name, with_library(name, value)});
    return settings::check(name, value);
  }

  static void add_words(ProgramSection* s, const Words& words) {
    s->options.insert(s->options.end(), words.begin(), words.end());
  }

  /// Puts this library's folder first in an LD_LIBRARY_PATH that the command line sets, so that
  /// programs linked with the host's compiler wrappers load this library.
  std::string with_library(const std::string& name, const std::string& value) const {
    return name == "LD_LIBRARY_PATH" ? setting_.library_folder + ":" + value : value;
  }

  /// Passes an option on to hydra. An option with a value is written as "-name value", however the
  /// user wrote it.
  Status pass_on(Option* o, ProgramSection* s, LaunchPlan* plan) {
    if (o->name == "info") programless_ = true;
    const bool variable = in(o->name, kTwoWords);
    if (!variable && !in(o->name, kOneWord)) {
      add_words(s, {o->word});
      return {};
    }
    FGMPI_TRY(value_of(o));
    if (variable) return variable_for_hydra(*o, s);
    plan->names_hosts |= in(o->name, kNamesHosts);
    // Open MPI writes modifiers behind the unit: core:overload-allowed.
    if (o->name == "bind-to" && o->is_double() && !is_binding_unit(o->value, true))
      o->value = o->value.substr(0, o->value.find(':'));
    if (o->name == "bind-to" || o->name == "map-by") FGMPI_TRY(place("-" + o->name, o->value));
    add_words(s, {"-" + o->name, o->value});
    return {};
  }

  /// Passes on -env NAME VALUE, -env NAME=VALUE, and the two forms of -genv.
  Status variable_for_hydra(const Option& o, ProgramSection* s) {
    const size_t equals = o.value.find('=');
    if (equals != o.value.npos)
      return add_variable(s, "-" + o.name, o.value.substr(0, equals), o.value.substr(equals + 1));
    Option value("-" + o.name);
    FGMPI_TRY(value_of(&value));
    return add_variable(s, "-" + o.name, o.value, value.value);
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
  Status compute_processes(ProgramSection* s) {
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

  /// Turns processes into ranks that share processes, where there are more than kProcessesPerCore
  /// processes a core and no option gives the number of ranks in a process. Many more processes
  /// than cores would mostly wait for each other, and some thousands could not be started. Only
  /// programs whose ranks can share a process are changed.
  void share_processes(LaunchPlan* plan) {
    if (plan->survives) return;  // ranks of a process fail together
    int64_t asked = 0, shared = 0, processes = 0;
    for (const auto& s : sections_) asked += s.nfg || s.ranks ? 0 : s.processes;
    if (!setting_.can_share || plan->names_hosts || asked <= kProcessesPerCore * setting_.cores)
      return;
    for (auto& s : sections_) {
      if (s.nfg || s.ranks || s.processes < 2 || !setting_.can_share(s.program, s.options))
        continue;
      shared += s.ranks = s.processes;
      processes += s.processes = std::min<int64_t>(s.processes, setting_.cores);
    }
    if (shared)
      plan->note = format(
          "%lld processes are more than %lld for each of %d cores: %lld ranks run in %s "
          "(-nfg 1: one rank a process)",
          static_cast<long long>(asked), static_cast<long long>(kProcessesPerCore), setting_.cores,
          static_cast<long long>(shared),
          count_words(static_cast<uint64_t>(processes), "process").c_str());
  }

  static std::string description(const ProgramSection& s) {
    const auto processes = static_cast<uint64_t>(std::max<int64_t>(s.processes, 1));
    const std::string program = s.program.empty() ? "" : s.program.front();
    std::string ranks = s.nfg     ? count_words(static_cast<uint64_t>(s.nfg), "rank") + " each"
                        : s.ranks ? count_words(static_cast<uint64_t>(s.ranks), "rank") + " in all"
                                  : "one rank each, or as FGMPI_NFG or FGMPI_RANKS says";
    return format("%s: %s%s, %s", program.c_str(),
                  s.processes ? "" : "as many as there are slots, at least ",
                  count_words(processes, "process").c_str(), ranks.c_str());
  }

  /// The largest number of ranks that one process of the section hosts.
  static int64_t ranks_each(const ProgramSection& s) {
    if (s.ranks) return (s.ranks + s.processes - 1) / s.processes;
    return s.nfg ? s.nfg : 1;
  }

  /// Writes hydra's arguments for all sections.
  void write(LaunchPlan* plan) const {
    std::vector<ProcessShares> shares;
    if (plan->survives) plan->hydra.push_back("-disable-auto-cleanup");
    const ProgramSection& first = sections_[0];
    plan->checkpoint.processes = first.processes;
    plan->checkpoint.ranks =
        first.ranks ? first.ranks : first.processes * std::max<int64_t>(first.nfg, 1);
    for (size_t i = 0; i < sections_.size(); ++i) {
      const ProgramSection& s = sections_[i];
      if (i) plan->hydra.push_back(":");
      append(plan, s.options);
      plan->counted |= s.nfg || s.ranks;
      shares.push_back(
          {s.processes, s.ranks ? s.ranks : s.processes * std::max<int64_t>(s.nfg, 1)});
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
    if (plan->counted) plan->shares = words_of_shares(shares);
  }

  /// Writes a program with -ranks beside other programs. Where its processes cannot all host
  /// equally many ranks, hydra gets two programs: the processes that host one rank more, then the
  /// others. FGMPI_APPNUM gives both the same program number.
  static void run_shares(LaunchPlan* plan, const ProgramSection& s, size_t index) {
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

  static void run(LaunchPlan* plan, const ProgramSection& s, int64_t processes,
                  const Words& variables) {
    if (processes) append(plan, {"-n", std::to_string(processes)});
    append(plan, variables);
    append(plan, s.program);
  }

  static void append(LaunchPlan* plan, const Words& words) {
    plan->hydra.insert(plan->hydra.end(), words.begin(), words.end());
  }

  Words words_;
  const Setting& setting_;
  size_t at_ = 0;
  std::string track_;  ///< the folder of -track
  bool dry_run_ = false;
  std::string check_kinds_;   ///< what follows "-check="
  bool programless_ = false;  ///< -info, -resume, -replay: no program is needed on the command line
  bool verbose_ = false;      ///< hydra's arguments contain -v
  enum class Config : uint8_t { kNone, kNamed, kRead } config_ = Config::kNone;
  std::string config_file_;
  std::vector<ProgramSection> sections_;
};

}  // namespace

Status make_plan(const Words& arguments, const Setting& setting, LaunchPlan* plan) {
  *plan = LaunchPlan();
  plan->names_hosts = setting.names_hosts;
  return Parser(arguments, setting).parse(plan);
}

}  // namespace fgmpi::launcher
