// The report for programs: JSON, SARIF 2.1.0, and a page of HTML.
#include <mpi.h>

#include <fstream>

#include "base/strings.h"
#include "readers/findings/report.h"

namespace fgmpi::findings {
namespace {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c < 0x20)
      out += format("\\u%04x", c);
    else
      out += static_cast<char>(c);
  }
  return out + "\"";
}

template <class List, class Item>
std::string joined(const List& list, Item&& item) {
  std::string out;
  for (const auto& one : list) out += (out.empty() ? "" : ", ") + item(one);
  return out;
}

const char* kind_name(const Finding& f) { return kKinds[static_cast<size_t>(f.kind)].name; }

std::string call_words(const Participant& p) { return p.call + "(" + p.arguments + ")"; }

}  // namespace

/// The common text of both forms of JSON.
struct Json {
  const FindingReport* report;

  std::string place(uint64_t site) const {
    const SourceLine* line = report->line_of(site);
    if (!line || line->file.empty()) return "";
    return format("\"file\": %s, \"line\": %d, \"function\": %s", json_string(line->file).c_str(),
                  line->line, json_string(line->function).c_str());
  }
  std::string call(const Participant& p) const {
    const std::string where = place(p.site);
    return format("{\"rank\": %lld, \"call\": ", static_cast<long long>(p.rank)) +
           json_string(p.call) + ", \"arguments\": " + json_string(p.arguments) +
           ", \"role\": " + json_string(p.role) + (where.empty() ? "" : ", " + where) + "}";
  }
  std::string location(const Participant& p) const {
    const SourceLine* line = report->line_of(p.site);
    std::string where = "{\"message\": {\"text\": " + json_string(call_words(p)) + "}";
    if (line && !line->file.empty())
      where +=
          ", \"physicalLocation\": {\"artifactLocation\": {\"uri\": " + json_string(line->file) +
          format("}, \"region\": {\"startLine\": %d}}", line->line);
    return where + "}";
  }
};

std::string FindingReport::to_json() const {
  const Json json{this};
  std::string text =
      "{\"findings\": [\n" + joined(order_, [&](uint64_t key) {
        const Joined& j = found_.at(key);
        return "{\"kind\": " + json_string(kind_name(j.finding)) + ", \"level\": \"" +
               (j.finding.note ? "note" : "error") + "\"" +
               ", \"sentence\": " + json_string(j.finding.sentence) +
               ", \"allowed\": " + json_string(j.finding.allowed) + ", \"ranks\": [" +
               joined(j.ranks, [](int64_t rank) { return std::to_string(rank); }) +
               "], \"calls\": [" +
               joined(j.finding.calls, [&](const Participant& p) { return json.call(p); }) + "]}\n";
      });
  return text + "]}\n";
}

std::string FindingReport::to_sarif() const {
  const Json json{this};
  std::string rules = joined(kKinds, [](const KindText& kind) {
    return "{\"id\": " + json_string(kind.name) +
           ", \"shortDescription\": {\"text\": " + json_string(kind.about) + "}}";
  });
  std::string results = joined(order_, [&](uint64_t key) {
    const Finding& f = found_.at(key).finding;
    auto related = f.calls;
    related.erase(related.begin());
    return "{\"ruleId\": " + json_string(kind_name(f)) + ", \"level\": \"" +
           (f.note ? "note" : "error") + "\", \"message\": {\"text\": " +
           json_string(f.sentence + (f.allowed.empty() ? "" : "; allowed: " + f.allowed)) +
           "}, \"locations\": [" + json.location(f.calls[0]) + "], \"relatedLocations\": [" +
           joined(related, [&](const Participant& p) { return json.location(p); }) + "]}\n";
  });
  return "{\"version\": \"2.1.0\", \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", "
         "\"runs\": [{\"tool\": {\"driver\": {\"name\": \"fgmpi-check\", \"rules\": [" +
         rules + "]}}, \"results\": [\n" + results + "]}]}\n";
}

std::string FindingReport::to_html() const {
  std::string text =
      "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>mpiexec -check</title><style>"
      "body{font-family:sans-serif;max-width:60em;margin:2em auto}"
      "article{border-left:4px solid #b33;padding:0 1em;margin:1em 0}code{background:#eee}"
      "</style></head><body>\n" +
      std::string("<h1>") + count_words() + "</h1>\n";
  for (uint64_t key : order_) {
    const Joined& j = found_.at(key);
    text += std::string("<article><h2>") + kind_name(j.finding) +
            (j.finding.note ? " (note): " : ": ") + html_escaped(j.finding.sentence) +
            "</h2><ul>\n";
    for (const Participant& p : j.finding.calls)
      text += "<li><code>" + html_escaped(call_words(p)) + "</code> " +
              format("rank %lld ", static_cast<long long>(p.rank)) + html_escaped(p.role) + " <b>" +
              html_escaped(place_words(p.site)) + "</b></li>\n";
    text += format("</ul><p>%zu ranks. ", j.ranks.size()) +
            (j.finding.allowed.empty() ? "" : "Allowed: " + html_escaped(j.finding.allowed)) +
            "</p></article>\n";
  }
  return text + "</body></html>\n";
}

Status FindingReport::check_name(const std::string& path) {
  if (path.ends_with(".json") || path.ends_with(".sarif") || path.ends_with(".html")) return {};
  return error(MPI_ERR_ARG,
               "-check-report %s: allowed is a name that ends in .json, .sarif or .html",
               path.c_str());
}

Status FindingReport::write(const std::string& path) const {
  FGMPI_TRY(check_name(path));
  std::ofstream out(path, std::ios::binary);
  out << (path.ends_with(".json") ? to_json() : path.ends_with(".sarif") ? to_sarif() : to_html());
  out.close();
  if (!out) return error(MPI_ERR_IO, "-check-report %s: cannot be written", path.c_str());
  return {};
}

}  // namespace fgmpi::findings
