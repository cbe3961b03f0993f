// Joining the results of executions, and their report.

#include "readers/exploration/findings.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "base/hash.h"
#include "base/strings.h"
#include "check/findings/spool.h"
#include "readers/findings/report.h"

namespace fgmpi::explore {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string read_output(int fd) {
  std::string text;
  char piece[8192];
  for (ssize_t n; (n = pread(fd, piece, sizeof piece, static_cast<off_t>(text.size()))) > 0;)
    text.append(piece, static_cast<size_t>(n));
  return text;
}

std::string words_of_end(const Ending& ending) {
  if (ending.stuck) return "the program goes on for ever";
  if (WIFSIGNALED(ending.status))
    return format("the program is ended by signal %d (%s)", WTERMSIG(ending.status),
                  strsignal(WTERMSIG(ending.status)));
  return format("the program ends with status %d", WEXITSTATUS(ending.status));
}

/// A line of the library without its "fgmpi:", which is written only once.
std::string without_name(const std::string& line) {
  constexpr std::string_view kName = "fgmpi:";
  if (!line.starts_with(kName)) return line;
  const size_t at = line.find_first_not_of(' ', kName.size());
  return at == std::string::npos ? "" : line.substr(at);
}

/// The last lines of a text, each behind "fgmpi: ".
std::string tail_of(const std::string& text) {
  constexpr size_t kMost = 8;
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(escaped(line));
  std::string tail;
  for (size_t i = lines.size() - std::min(lines.size(), kMost); i < lines.size(); ++i)
    tail += "fgmpi:   " + without_name(lines[i]) + "\n";
  return tail;
}

/// Reduces a text that is not shown whole to its end.
void shorten(std::string* text) {
  constexpr size_t kMost = 2000;
  if (text->size() > kMost) text->erase(0, text->size() - kMost);
}

std::string text_of_end(const Ending& ending, const Shown& shown) {
  return "fgmpi: explore: " + words_of_end(ending) + "\n" + tail_of(shown.errors);
}

/// The last lines of the execution's output and of its files.
std::string text_of_output(const Shown& shown) {
  std::string text = tail_of(shown.output_text);
  for (const FileLeft& file : shown.files)
    text += "fgmpi:   file " + escaped(file.name) + ":\n" + tail_of(file.text);
  return text;
}

/// A key of all findings of an execution, which are one finding here because they may be parts of
/// one deadlock. A key of the notes where there are only notes.
uint64_t key_of(const findings::FindingReport& report) {
  std::vector<uint64_t> keys;
  for (uint64_t each : report.keys())
    if (report.count() == 0 || !report.finding(each).note) keys.push_back(each);
  std::sort(keys.begin(), keys.end());
  uint64_t key = keys.size();
  for (uint64_t each : keys) key = mix(key, each);
  return key;
}

std::vector<uint64_t> keys_of(const findings::FindingReport& report) {
  std::vector<uint64_t> keys;
  for (uint64_t each : report.keys())
    if (!report.finding(each).note) keys.push_back(each);
  return keys;
}

/// Do all ranks wait for ever? Then the program ends in this way.
bool is_deadlock(const findings::FindingReport& report) {
  const auto& keys = report.keys();
  return std::any_of(keys.begin(), keys.end(), [&](uint64_t each) {
    return report.finding(each).kind == findings::FindingKind::kDeadlock;
  });
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

bool Findings::add(std::map<uint64_t, Example>* to, uint64_t key, const Ending& ending,
                   const Shown& shown) {
  auto [at, fresh] = to->try_emplace(key);
  Example& e = at->second;
  ++e.executions;
  if (!fresh && e.forced.size() <= ending.forced.size()) return false;
  e.shown = shown;
  e.forced = ending.forced;
  constexpr size_t kKept = 32;  // output texts of further findings are not shown
  if (to->size() > kKept)
    e.shown.output_text.clear(), e.shown.errors.clear(), e.shown.files.clear();
  return true;
}

std::shared_ptr<findings::FindingReport> Findings::report_of(const Ending& ending) const {
  auto report = std::make_shared<findings::FindingReport>();
  for (pid_t each : ending.lineage)
    report->read_text(read_file(findings::spool_path(folder_, each)));
  report->add_followed();
  return report;
}

Shown Findings::look(const Ending& ending) {
  const pid_t pid = ending.lineage.back();
  Shown shown;
  shown.output_text = read_output(ending.outputs[0]);
  shown.errors = read_output(ending.outputs[1]);
  auto report = report_of(ending);
  shown.keys = keys_of(*report);
  const bool ends_badly = ending.status != 0 || ending.stuck;
  if (report->count() > 0 || (report->notes() > 0 && !ends_badly)) {
    shown.note = report->count() == 0;
    shown.finding = key_of(*report);
    if (ends_badly && !is_deadlock(*report))
      shown.finding = mix(shown.finding, hash_text(words_of_end(ending)));
    shown.report = std::move(report);
  } else if (ends_badly) {
    shown.finding = hash_text(words_of_end(ending));
  }
  if (ending.status == 0 && !ending.stuck) {
    for (const std::string& line : sorted_lines(shown.output_text))
      shown.output = hash_text(line, shown.output + 1);
    if (!files_.empty()) shown.files = files_left(private_folder(folder_, pid), files_);
    for (FileLeft& file : shown.files) {
      shown.output = hash_text(file.text, mix(shown.output, hash_text(file.name)));
      shorten(&file.text);
    }
    shown.output += shown.output == 0;
  }
  return shown;
}

void Findings::take(const Ending& ending) {
  ++executions_;
  const Shown shown = look(ending);
  if (executions_ == 1) {
    first_output_ = shown.output_text;
    first_errors_ = shown.errors;
  }
  seen_.insert(shown.keys.begin(), shown.keys.end());
  const bool ends_badly = ending.status != 0 || ending.stuck;
  if (shown.finding) {
    const bool known = shown_.contains(shown.finding);
    if (!known) order_.push_back(shown.finding);
    const bool simpler = add(&shown_, shown.finding, ending, shown);
    Example& e = shown_[shown.finding];
    if (!known && shown.report) {
      shown.report->resolve();
      e.text = shown.report->to_text();
      if (ends_badly && !is_deadlock(*shown.report)) e.text += text_of_end(ending, shown);
    } else if (simpler && !shown.report) {
      e.text = text_of_end(ending, shown);
    }
    e.shown.report = nullptr;
  }
  if (shown.output) record_output(ending, shown);
  forget(ending.lineage.back());
}

bool Findings::has_seen(const std::vector<uint64_t>& keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](uint64_t each) { return seen_.contains(each); });
}

void Findings::record_cut_short(const Ending& ending) {
  const std::vector<uint64_t> keys = keys_of(*report_of(ending));
  if (!has_seen(keys)) {
    uint64_t all = keys.size();
    for (uint64_t each : keys) all = mix(all, each);
    cut_.try_emplace(all, Cut{keys, ending.forced});
  }
  forget(ending.lineage.back());
}

bool Findings::has_hidden() {
  std::erase_if(cut_, [&](const auto& entry) { return has_seen(entry.second.keys); });
  return std::any_of(cut_.begin(), cut_.end(), [](const auto& c) { return !c.second.repeated; });
}

std::map<uint32_t, Choice> Findings::next_hidden() {
  const auto next =
      std::find_if(cut_.begin(), cut_.end(), [](const auto& c) { return !c.second.repeated; });
  next->second.repeated = true;
  return next->second.forced;
}

void Findings::record_output(const Ending& ending, const Shown& shown) {
  constexpr size_t kKept = 32;
  if (outputs_.size() >= kKept && !outputs_.contains(shown.output)) {
    more_outputs_.insert(shown.output);
    return;
  }
  if (add(&outputs_, shown.output, ending, shown))
    outputs_[shown.output].text =
        format("output %016llx", static_cast<unsigned long long>(shown.output));
}

size_t Findings::count() const {
  const auto is_note = [](const auto& shown) { return shown.second.shown.note; };
  const auto notes = std::count_if(shown_.begin(), shown_.end(), is_note);
  return shown_.size() - static_cast<size_t>(notes) + (outputs_.size() > 1);
}

std::vector<Example*> Findings::examples(size_t most) {
  std::vector<Example*> all;
  for (uint64_t key : order_) all.push_back(&shown_.at(key));
  if (outputs_.size() > 1)
    for (auto& [digest, example] : outputs_) all.push_back(&example);
  all.resize(std::min(all.size(), most));
  return all;
}

void Findings::forget(pid_t pid) {
  std::error_code ignored;
  std::filesystem::remove(findings::spool_path(folder_, pid), ignored);
  if (!files_.empty()) std::filesystem::remove_all(private_folder(folder_, pid), ignored);
}

namespace {

void append_forced(Bytes* out, const std::map<uint32_t, Choice>& forced) {
  fgmpi::append(out, static_cast<uint32_t>(forced.size()));
  for (const auto& [point, choice] : forced) {
    fgmpi::append(out, point);
    fgmpi::append(out, choice);
  }
}

std::map<uint32_t, Choice> read_forced(FieldReader* in) {
  std::map<uint32_t, Choice> forced;
  for (auto n = in->get<uint32_t>(); n > 0 && !in->failed(); --n) {
    const auto point = in->get<uint32_t>();
    forced[point] = in->get<Choice>();
  }
  return forced;
}

void append_examples(Bytes* out, const std::map<uint64_t, Example>& examples) {
  fgmpi::append(out, static_cast<uint32_t>(examples.size()));
  for (const auto& [key, e] : examples) {
    fgmpi::append(out, key);
    fgmpi::append(out, e.shown.finding);
    fgmpi::append(out, e.shown.note);
    fgmpi::append(out, e.shown.output);
    append_text(out, e.shown.output_text);
    fgmpi::append(out, static_cast<uint32_t>(e.shown.files.size()));
    for (const FileLeft& file : e.shown.files) {
      append_text(out, file.name);
      append_text(out, file.text);
    }
    append_text(out, e.text);
    fgmpi::append(out, e.executions);
    append_forced(out, e.forced);
  }
}

void read_examples(FieldReader* in, std::map<uint64_t, Example>* out) {
  for (auto n = in->get<uint32_t>(); n > 0 && !in->failed(); --n) {
    Example& e = (*out)[in->get<uint64_t>()];
    e.shown.finding = in->get<uint64_t>();
    e.shown.note = in->get<bool>();
    e.shown.output = in->get<uint64_t>();
    e.shown.output_text = in->get_text();
    for (auto files = in->get<uint32_t>(); files > 0 && !in->failed(); --files) {
      std::string name(in->get_text());
      e.shown.files.push_back({std::move(name), std::string(in->get_text())});
    }
    e.text = in->get_text();
    e.executions = in->get<uint64_t>();
    e.forced = read_forced(in);
  }
}

}  // namespace

void Findings::save(Bytes* out) const {
  fgmpi::append(out, executions_);
  append_text(out, first_output_);
  append_examples(out, shown_);
  fgmpi::append(out, static_cast<uint32_t>(order_.size()));
  for (uint64_t key : order_) fgmpi::append(out, key);
  append_examples(out, outputs_);
  fgmpi::append(out, static_cast<uint64_t>(more_outputs_.size()));
  for (uint64_t digest : more_outputs_) fgmpi::append(out, digest);
  fgmpi::append(out, static_cast<uint64_t>(seen_.size()));
  for (uint64_t key : seen_) fgmpi::append(out, key);
  fgmpi::append(out, static_cast<uint64_t>(cut_.size()));
  for (const auto& [all, cut] : cut_) {
    fgmpi::append(out, all);
    fgmpi::append(out, static_cast<uint64_t>(cut.keys.size()));
    for (uint64_t key : cut.keys) fgmpi::append(out, key);
    append_forced(out, cut.forced);
  }
}

bool Findings::load(FieldReader* in) {
  executions_ = in->get<uint64_t>();
  first_output_ = in->get_text();
  read_examples(in, &shown_);
  for (auto n = in->get<uint32_t>(); n > 0 && !in->failed(); --n) {
    order_.push_back(in->get<uint64_t>());
    if (!shown_.contains(order_.back())) return false;
  }
  read_examples(in, &outputs_);
  for (auto n = in->get<uint64_t>(); n > 0 && !in->failed(); --n)
    more_outputs_.insert(in->get<uint64_t>());
  for (auto n = in->get<uint64_t>(); n > 0 && !in->failed(); --n) seen_.insert(in->get<uint64_t>());
  for (auto n = in->get<uint64_t>(); n > 0 && !in->failed(); --n) {
    Cut& cut = cut_[in->get<uint64_t>()];
    for (auto keys = in->get<uint64_t>(); keys > 0 && !in->failed(); --keys)
      cut.keys.push_back(in->get<uint64_t>());
    cut.forced = read_forced(in);
  }
  return !in->failed();
}

std::string Findings::report(const std::string& prefix, const Witness& program) const {
  std::string text;
  size_t number = 0;
  auto write = [&](const std::string& finding, const Example& example) {
    Witness witness = program;
    witness.finding = finding;
    witness.choices = example.forced;
    const std::string path = prefix + format("-%zu.witness", ++number);
    const Status written = witness.write(path);
    text += "fgmpi:   " + words_of_count(example.executions, executions_) + "; " +
            (written.ok() ? "repeat it: mpiexec -replay " + path : written.what()) +
            (example.picture.empty() ? "" : "; picture: " + example.picture) + "\n";
  };
  for (uint64_t key : order_) {
    const Example& s = shown_.at(key);
    text += s.text;
    write(s.text.substr(0, s.text.find('\n')), s);
  }
  if (outputs_.size() < 2) return text;
  text += format(
      "fgmpi: explore: outputs: %zu different outputs%s; the order of %slines does not count\n",
      outputs_.size() + more_outputs_.size(),
      files_.empty() ? "" : ", files of the program among them", files_.empty() ? "" : "printed ");
  for (const auto& [digest, output] : outputs_) {
    text += "fgmpi:   " + output.text + ":\n" + text_of_output(output.shown);
    write(output.text, output);
    if (number >= 20) {
      text += "fgmpi:   and others\n";
      break;
    }
  }
  return text;
}

}  // namespace fgmpi::explore
