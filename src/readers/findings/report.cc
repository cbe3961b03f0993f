// Reading and joining the spools of processes, and the report for people.
#include "readers/findings/report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "base/strings.h"
#include "check/findings/spool.h"

namespace fgmpi::findings {
namespace {

/// Reads { rank \x1f call \x1f arguments \x1f site{,caller} \x1f role }, separated by tabs. Returns
/// false where the text is invalid.
bool read_calls(std::string_view line, std::vector<Participant>* calls) {
  while (!line.empty()) {
    std::string_view fields = split_word(&line, '\t');
    Participant p;
    if (!read_number(split_word(&fields, '\x1f'), &p.rank, 10)) return false;
    p.call = split_word(&fields, '\x1f');
    p.arguments = split_word(&fields, '\x1f');
    std::string_view sites = split_word(&fields, '\x1f');
    if (!read_number(split_word(&sites, ','), &p.site, 16)) return false;
    for (uint64_t caller = 0; !sites.empty(); p.callers.push_back(caller))
      if (!read_number(split_word(&sites, ','), &caller, 16)) return false;
    p.role = fields;
    calls->push_back(std::move(p));
  }
  return !calls->empty();
}

/// The ranks with a finding: "rank 3 and 996 others".
std::string rank_words(const Participant& p, size_t ranks) {
  if (p.rank < 0) return "";
  std::string words = format(" of rank %lld", static_cast<long long>(p.rank));
  if (ranks > 1) words += format(" and %zu other%s", ranks - 1, ranks > 2 ? "s" : "");
  return words;
}

}  // namespace

void FindingReport::read(const std::string& folder) {
  std::error_code failed;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.path().filename().string().starts_with(kSpoolPrefix)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    read_text(std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
  }
  leave_out_consequences();
  add_followed();
}

void FindingReport::leave_out_consequences() {
  std::set<uint64_t> out;
  for (const auto& [cause, key] : consequences_)
    if (causes_.contains(cause)) out.insert(key);
  std::erase_if(order_, [&](uint64_t key) { return out.contains(key); });
}

void FindingReport::add_followed() {
  std::vector<Finding> all = steps_.find(named_calls_);
  for (Finding& f : accesses_.find(named_calls_)) all.push_back(std::move(f));
  for (Finding& f : null_ranks_.find(named_calls_)) all.push_back(std::move(f));
  for (Finding& f : all) {
    const uint64_t key = key_of(f);
    add(key, std::move(f));
  }
}

std::set<uint64_t> FindingReport::withdrawn_in(std::string_view text) const {
  std::set<uint64_t> keys;
  while (text.find('\n') != text.npos) {
    std::string_view line = split_word(&text, '\n');
    uint64_t key = 0;
    if (line.starts_with("X ") && read_number(line.substr(2), &key, 16)) keys.insert(key);
  }
  return keys;
}

void FindingReport::read_text(std::string_view text) {
  const std::set<uint64_t> withdrawn = withdrawn_in(text);
  while (!text.empty()) {
    if (text.find('\n') == text.npos) return;  // the process ended while it wrote this line
    read_record(split_word(&text, '\n'), withdrawn);
  }
}

void FindingReport::read_record(std::string_view line, const std::set<uint64_t>& withdrawn) {
  const std::string_view kind = split_word(&line, ' ');
  uint64_t key = 0;
  if (kind == "F" || kind == "N") return read_finding(line, kind == "N", withdrawn);
  if (kind == "W") return steps_.add_steps(line);
  if (kind == "L") return accesses_.add(line);
  if (kind == "G") return null_ranks_.add(line);
  if (kind == "V") {
    std::string_view head = split_word(&line, '\t');
    std::vector<Participant> calls;
    if (!read_number(head, &key, 16) || !read_calls(line, &calls)) return;
    named_calls_[key] = std::move(calls);
    return;
  }
  if (!read_number(split_word(&line, ' '), &key, 16)) return;
  if (kind == "C") {
    causes_.insert(key);
  } else if (kind == "S") {
    Site site;
    if (!read_number(split_word(&line, ' '), &site.offset, 16)) return;
    site.path = line;
    sites_[key] = site;
  } else if (kind == "R") {
    int64_t rank = 0;
    if (read_number(line, &rank, 10) && !withdrawn.contains(key)) found_[key].ranks.insert(rank);
  } else if (kind == "D") {
    uint64_t cause = 0;
    if (read_number(line, &cause, 16)) consequences_.emplace(cause, key);
  }
}

void FindingReport::read_finding(std::string_view line, bool note,
                                 const std::set<uint64_t>& withdrawn) {
  uint64_t key = 0;
  unsigned kind = 0;
  std::string_view head = split_word(&line, '\t');
  if (!read_number(split_word(&head, ' '), &key, 16) || !read_number(head, &kind, 10) ||
      kind >= static_cast<unsigned>(FindingKind::kCount))
    return;
  Finding f;
  f.note = note;
  f.kind = static_cast<FindingKind>(kind);
  f.sentence = split_word(&line, '\t');
  f.allowed = split_word(&line, '\t');
  if (read_calls(line, &f.calls) && !withdrawn.contains(key)) add(key, std::move(f));
}

void FindingReport::add(uint64_t key, Finding f) {
  Joined& joined = found_[key];
  joined.ranks.insert(f.calls[0].rank);
  if (!joined.finding.calls.empty()) return;
  joined.finding = std::move(f);
  order_.push_back(key);
}

void FindingReport::resolve() {
  std::set<uint64_t> wanted;
  for (const auto& [key, joined] : found_)
    for (const Participant& p : joined.finding.calls) {
      if (p.site) wanted.insert(p.site);
      wanted.insert(p.callers.begin(), p.callers.end());
    }
  for (uint64_t number : wanted)
    if (auto site = sites_.find(number); site != sites_.end()) {
      SourceLine line = find_line(site->second);
      if (!line.file.empty() || !line.function.empty()) lines_[number] = std::move(line);
    }
  for (auto& [key, joined] : found_)
    for (Participant& p : joined.finding.calls)
      if (is_foreign(p.site))
        for (uint64_t caller : p.callers)
          if (!is_foreign(caller)) {
            p.site = caller;
            break;
          }
  join_lines();
}

uint64_t FindingReport::key_by_lines(const Finding& f) const {
  uint64_t key = hash_text(f.sentence, static_cast<uint64_t>(f.kind));
  for (const Participant& p : f.calls) {
    const SourceLine* line = line_of(p.site);
    const bool named = line && !line->file.empty();
    key = hash_text(p.call, hash_text(p.role, key));
    key = named ? hash_text(line->file, mix(key, static_cast<uint64_t>(line->line)))
                : mix(key, p.site);
  }
  return key;
}

void FindingReport::join_lines() {
  std::map<uint64_t, Joined*> first;
  std::erase_if(order_, [&](uint64_t key) {
    Joined& joined = found_.at(key);
    auto [same, fresh] = first.try_emplace(key_by_lines(joined.finding), &joined);
    if (fresh) return false;
    same->second->ranks.merge(joined.ranks);
    return true;
  });
}

bool FindingReport::is_foreign(uint64_t site) const {
  const SourceLine* line = line_of(site);
  return !line || line->file.empty() || is_system_header(line->file);
}

const SourceLine* FindingReport::line_of(uint64_t site) const {
  auto found = lines_.find(site);
  return found == lines_.end() ? nullptr : &found->second;
}

std::string FindingReport::place_words(uint64_t site) const {
  const SourceLine* line = line_of(site);
  std::string words;
  if (line && !line->file.empty()) words = format("%s:%d", escaped(line->file).c_str(), line->line);
  if (auto at = sites_.find(site); words.empty() && at != sites_.end())
    words = format("%s+0x%llx", at->second.path.c_str(),
                   static_cast<unsigned long long>(at->second.offset));
  if (line && !line->function.empty()) words += " (" + escaped(line->function) + ")";
  return words;
}

bool FindingReport::goes_on(size_t position) const {
  if (position == 0) return false;
  const Finding &before = finding(order_[position - 1]), &now = finding(order_[position]);
  return now.kind == FindingKind::kDeadlock && before.kind == now.kind &&
         before.sentence == now.sentence;
}

size_t FindingReport::count() const {
  size_t findings = 0;
  for (size_t i = 0; i < order_.size(); ++i) findings += !finding(order_[i]).note && !goes_on(i);
  return findings;
}

size_t FindingReport::notes() const {
  size_t notes = 0;
  for (uint64_t key : order_) notes += found_.at(key).finding.note;
  return notes;
}

std::string FindingReport::count_words() const {
  auto words = [](size_t n, const char* what) {
    return format("%zu %s%s", n, what, n == 1 ? "" : "s");
  };
  if (notes() == 0) return words(count(), "finding");
  return (count() ? words(count(), "finding") + ", " : "") + words(notes(), "note");
}

std::string FindingReport::to_text() const {
  std::string text;
  for (size_t at = 0; at < order_.size(); ++at) {
    const Joined& j = found_.at(order_[at]);
    const Finding& f = j.finding;
    if (!goes_on(at)) {
      text += format("fgmpi: check: %s%s: ", kKinds[static_cast<size_t>(f.kind)].name,
                     f.note ? " (note)" : "") +
              f.sentence + "\n";
    }
    for (size_t i = 0; i < f.calls.size(); ++i) {
      const Participant& p = f.calls[i];
      text += "fgmpi:   " + p.call + (p.arguments.empty() ? "" : "(" + p.arguments + ")") +
              rank_words(p, i == 0 ? j.ranks.size() : 1) + (p.role.empty() ? "" : " " + p.role);
      const std::string place = place_words(p.site);
      text += (place.empty() ? "" : "\nfgmpi:     at " + place) + "\n";
    }
    if (!f.allowed.empty() && !goes_on(at)) text += "fgmpi:   allowed: " + f.allowed + "\n";
  }
  if (!order_.empty()) text += "fgmpi: check: " + count_words() + "\n";
  return text;
}

}  // namespace fgmpi::findings
