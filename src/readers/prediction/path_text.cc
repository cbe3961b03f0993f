// The words about the critical path, with lines of the program.

#include <algorithm>

#include "base/strings.h"
#include "readers/findings/report.h"
#include "readers/prediction/text.h"

namespace fgmpi::predict {
namespace {

/// A call as "file.c:12", or what is known of it.
std::string place_words(const PathPlace& place) {
  if (place.file.empty()) return "MPI_Init or MPI_Finalize";
  findings::Site site;
  site.path = place.file;
  site.offset = place.offset;
  const findings::SourceLine line = findings::find_line(site);
  const auto name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  if (line.line > 0) return format("%s:%d", name(line.file).c_str(), line.line);
  return line.function.empty() ? name(place.file) : line.function;
}

double part(VirtualTime time, VirtualTime whole) {
  return 100 * static_cast<double>(time) / static_cast<double>(std::max<VirtualTime>(whole, 1));
}

VirtualTime mean_computing(const PredictionOutcome& outcome) {
  double sum = 0;
  for (const RankTimes& rank : outcome.ranks) sum += static_cast<double>(rank.computing);
  return static_cast<VirtualTime>(sum /
                                  static_cast<double>(std::max<size_t>(outcome.ranks.size(), 1)));
}

}  // namespace

std::string path_words(const PredictionOutcome& outcome) {
  const PathSummary& path = outcome.path;
  if (!path.is_known) return "";
  const VirtualTime total = outcome.total();
  std::string text = format(
      "  critical path: computing %.1f %%, in calls %.1f %%, latency %.1f %%, bytes %.1f %%, "
      "contention %.1f %%; %llu messages\n",
      part(path.computing, total), part(path.calls, total), part(path.latency, total),
      part(path.bytes, total), part(path.waited, total),
      static_cast<unsigned long long>(path.messages));
  const VirtualTime balanced = std::max<VirtualTime>(path.computing - mean_computing(outcome), 0);
  text += format(
      "  at best without latency %s, with endless bandwidth %s, without contention %s, with equal "
      "computing %s\n",
      time_words(total - path.latency).c_str(), time_words(total - path.bytes).c_str(),
      time_words(total - path.waited).c_str(), time_words(total - balanced).c_str());
  for (const PathLine& line : path.lines) {
    if (part(line.time, total) < 1) break;
    const std::string from = place_words(line.from), to = place_words(line.to);
    text += line.is_message
                ? format("  %5.1f %%  %llu messages from %s to %s\n", part(line.time, total),
                         static_cast<unsigned long long>(line.count), from.c_str(), to.c_str())
                : format("  %5.1f %%  computing between %s and %s\n", part(line.time, total),
                         from.c_str(), to.c_str());
  }
  return text;
}

}  // namespace fgmpi::predict
