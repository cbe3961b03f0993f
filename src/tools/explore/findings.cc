#include "tools/explore/findings.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/hash.h"
#include "base/strings.h"
#include "tools/findings/report.h"
#include "tools/findings/spool.h"

namespace fgmpi::explore {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string output_path(const std::string& folder, const char* what, pid_t pid) {
  return folder + format("/%s-%d", what, pid);
}

std::string words_of_end(const Ending& ending) {
  if (ending.stuck) return "the program goes on for ever";
  if (WIFSIGNALED(ending.status))
    return format("the program is ended by signal %d (%s)", WTERMSIG(ending.status),
                  strsignal(WTERMSIG(ending.status)));
  return format("the program ends with status %d", WEXITSTATUS(ending.status));
}

/// The last lines, each behind "fgmpi:   ".
std::string tail_of(const std::string& text) {
  constexpr size_t kMost = 8;
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(escaped(line));
  std::string tail;
  for (size_t i = lines.size() - std::min(lines.size(), kMost); i < lines.size(); ++i)
    tail += "fgmpi:   " + lines[i] + "\n";
  return tail;
}

std::string words_of_count(uint64_t n, uint64_t all) {
  return format("in %llu of %llu execution%s", static_cast<unsigned long long>(n),
                static_cast<unsigned long long>(all), all == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

void Findings::show(uint64_t key, const Ending& ending, const std::string& text) {
  auto [at, fresh] = shown_.try_emplace(key);
  ++at->second.executions;
  if (!fresh && at->second.forced.size() <= ending.forced.size()) return;
  if (fresh) order_.push_back(key);
  at->second.text = text;
  at->second.forced = ending.forced;
}

void Findings::take(const Ending& ending) {
  ++executions_;
  const pid_t pid = ending.lineage.back();
  const std::string out = output_path(folder_, "out", pid), err = output_path(folder_, "err", pid);
  const std::string output = read_file(out), errors = read_file(err);
  if (executions_ == 1) {
    first_output_ = output;
    first_errors_ = errors;
  }
  findings::Report report;
  for (pid_t each : ending.lineage)
    report.read_text(read_file(findings::spool_path(folder_, each)));
  if (report.count() > 0) {
    // All that one execution shows is one finding here: parts of a deadlock belong together.
    std::vector<uint64_t> keys = report.keys();
    std::sort(keys.begin(), keys.end());
    uint64_t key = keys.size();
    for (uint64_t each : keys) key = mix(key, each);
    if (!shown_.contains(key)) report.resolve();
    show(key, ending, shown_.contains(key) ? shown_[key].text : report.to_text());
  } else if (ending.status != 0 || ending.stuck) {
    const std::string words = words_of_end(ending);
    show(hash_text(words), ending, "fgmpi: explore: " + words + "\n" + tail_of(errors));
  }
  if (ending.status == 0 && !ending.stuck) {
    uint64_t digest = 0;
    for (const std::string& line : sorted_lines(output)) digest = hash_text(line, digest + 1);
    auto [at, fresh] = outputs_.try_emplace(digest);
    ++at->second.executions;
    if (fresh) at->second.text = output;
    if (fresh || ending.forced.size() < at->second.forced.size()) at->second.forced = ending.forced;
  }
  forget(pid);
}

void Findings::forget(pid_t pid) {
  std::error_code ignored;
  std::filesystem::remove(output_path(folder_, "out", pid), ignored);
  std::filesystem::remove(output_path(folder_, "err", pid), ignored);
  std::filesystem::remove(findings::spool_path(folder_, pid), ignored);
}

std::string Findings::report(const std::string& prefix, const Witness& program) const {
  std::string text;
  size_t number = 0;
  auto write = [&](const std::string& finding, const std::map<uint32_t, Choice>& forced,
                   uint64_t executions) {
    Witness witness = program;
    witness.finding = finding;
    witness.choices = forced;
    const std::string path = prefix + format("-%zu.witness", ++number);
    const Status written = witness.write(path);
    text += "fgmpi:   " + words_of_count(executions, executions_) + "; " +
            (written.ok() ? "repeat it: mpiexec -replay " + path : written.what()) + "\n";
  };
  for (uint64_t key : order_) {
    const Shown& s = shown_.at(key);
    text += s.text;
    write(s.text.substr(0, s.text.find('\n')), s.forced, s.executions);
  }
  if (outputs_.size() < 2) return text;
  text +=
      format("fgmpi: explore: outputs: %zu different outputs; the order of lines does not count\n",
             outputs_.size());
  for (const auto& [digest, output] : outputs_) {
    text += format("fgmpi:   output %016llx:\n", static_cast<unsigned long long>(digest));
    text += tail_of(output.text);
    write(format("output %016llx", static_cast<unsigned long long>(digest)), output.forced,
          output.executions);
    if (number >= 20) {
      text += "fgmpi:   and others\n";
      break;
    }
  }
  return text;
}

}  // namespace fgmpi::explore
