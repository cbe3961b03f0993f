// Which options may stand beside which others.
#include "launcher/mpiexec/allowed_options.h"

#include <mpi.h>

#include "base/strings.h"

namespace fgmpi::launcher {

Status check_recording(const LaunchPlan& plan, const std::vector<ProgramSection>& sections,
                       bool tracked) {
  const bool records = !plan.record.file.empty(), rewinds = !plan.rewind.file.empty();
  const bool visits = plan.rewind.visits;
  const bool filters =
      !plan.rewind.call.empty() || !plan.rewind.comm.empty() || plan.rewind.partner >= 0;
  if ((!rewinds && (plan.rewind.lists || visits)) || (plan.rewind.lists && visits))
    return error(MPI_ERR_ARG, "-events, -goto: allowed is one of them, with -rewind");
  if (filters && !plan.rewind.lists)
    return error(MPI_ERR_ARG, "-call, -partner, -comm: allowed with -rewind FILE -events");
  if (plan.record.keeps_inputs && !records)
    return error(MPI_ERR_ARG, "-record-inputs: allowed with -record FILE");
  if (!records && !rewinds) return {};
  const bool reports_only = rewinds && !plan.report.file.empty() && !plan.report.summary &&
                            !plan.report.progress && !plan.rewind.lists && !visits;
  const std::string option =
      records ? "-record " + plan.record.file : "-rewind " + plan.rewind.file;
  const bool checks_only = rewinds && plan.report.file.empty() && !plan.rewind.lists && !visits &&
                           sections[0].program.empty();
  if ((records && rewinds) || plan.explore.wanted || (rewinds && !plan.replay.empty()) ||
      (plan.check && !checks_only) || (plan.report.any() && !reports_only) || plan.survives ||
      tracked || !plan.predict.machine.empty())
    return error(MPI_ERR_ARG, "%s: allowed beside it are %s", option.c_str(),
                 records ? "-record-inputs, -n, -nfg, -ranks, -env, -genv, -x and -replay"
                         : "-events, -goto, -report or -check");
  const ProgramSection& s = sections[0];
  if (sections.size() != 1)
    return error(MPI_ERR_ARG, "%s: %zu programs are given; allowed is one", option.c_str(),
                 sections.size());
  const bool debugs = rewinds && !s.program.empty() && !plan.rewind.lists && !visits &&
                      !plan.report.any() &&
                      s.program[0].substr(s.program[0].rfind('/') + 1) == "gdb";
  if (rewinds &&
      ((!s.program.empty() && !debugs) || s.processes || s.nfg || s.ranks || !s.options.empty()))
    return error(
        MPI_ERR_ARG,
        "%s: allowed beside it are -events, -goto, -report, -check or gdb; the file says the "
        "rest",
        option.c_str());
  return {};
}

Status check_checkpoints(const LaunchPlan& plan, const std::vector<ProgramSection>& sections,
                         bool tracked) {
  const LaunchPlan::Checkpoint& wishes = plan.checkpoint;
  if (!wishes.any() && (wishes.every_ms || wishes.on_failure))
    return error(MPI_ERR_ARG,
                 "-checkpoint-every, -restart-on-failure: allowed with -checkpoint or "
                 "-restart");
  if (!wishes.any()) return {};
  const std::string option =
      wishes.restart.empty() ? "-checkpoint " + wishes.folder : "-restart " + wishes.restart;
  if (plan.check || plan.report.any() || tracked || plan.explore.wanted || !plan.replay.empty() ||
      !plan.record.file.empty() || !plan.rewind.file.empty() || !plan.predict.machine.empty())
    return error(MPI_ERR_ARG,
                 "%s: allowed beside it are -checkpoint-every, -n, -nfg, -ranks, and options that "
                 "set variables or name hosts",
                 option.c_str());
  if (sections.size() != 1)
    return error(MPI_ERR_ARG, "%s: %zu programs are given; allowed is one", option.c_str(),
                 sections.size());
  const ProgramSection& s = sections[0];
  if (!wishes.restart.empty() && (!s.program.empty() || s.nfg || s.ranks))
    return error(MPI_ERR_ARG,
                 "%s: allowed beside it are -n, -checkpoint, -checkpoint-every, and options that "
                 "name hosts; the checkpoint says the program and its ranks",
                 option.c_str());
  return {};
}

Status check_balance(const LaunchPlan& plan, bool tracked) {
  if (!plan.balance) return {};
  if (plan.check || plan.report.progress || tracked || plan.explore.wanted ||
      !plan.replay.empty() || !plan.record.file.empty() || !plan.rewind.file.empty() ||
      !plan.predict.machine.empty() || plan.checkpoint.any() || plan.survives)
    return error(
        MPI_ERR_ARG,
        "-balance: allowed beside it are -summary, -report, -n, -nfg, -ranks, and options that set "
        "variables or name hosts");
  return {};
}

std::optional<int64_t> parse_interval_ms(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_int(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  constexpr int64_t kMost = int64_t{1} << 30;
  if (!number || *number < 1 || *number > kMost) return std::nullopt;
  if (unit == "ms") return *number;
  if (unit == "s" || unit.empty()) return *number * 1000;
  if (unit == "m") return *number * 60'000;
  if (unit == "h") return *number * 3'600'000;
  return std::nullopt;
}

}  // namespace fgmpi::launcher
