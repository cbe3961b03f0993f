#include "tools/explore/picture.h"

#include <algorithm>

#include "base/strings.h"

namespace fgmpi::explore {
namespace {

constexpr unsigned kColumn = 110, kRow = 30, kLeft = 60, kTop = 50;
/// Steps in front of these are left out: what matters is at the end or forced.
constexpr size_t kMostSteps = 2000;

constexpr const char* kStyle =
    "body{font:14px sans-serif;margin:1.5em}svg{font:12px "
    "sans-serif}pre{background:#f4f4f4;padding:.7em}"
    ".rank{stroke:#bbb}.one{stroke:#999;fill:#666}.choice{stroke:#1a5fb4;fill:#1a5fb4}"
    ".forced{stroke:#c01c28;fill:#c01c28;stroke-width:2}text{stroke:none}.key "
    "span{margin-right:1.5em}";

unsigned x_of(uint32_t rank) { return kLeft + rank * kColumn; }

const char* class_of(const Step& s) {
  if (s.forced) return "forced";
  return s.decided && s.alternatives > 1 ? "choice" : "one";
}

std::string words_of_access(const Choice& c) {
  const char* const kUses[] = {"reads", "writes", "accumulates to"};
  if (c.tag == 3)
    return format("gets the %s lock of rank %d", c.wanted_tag ? "exclusive" : "shared", c.source);
  return format("%s %llu bytes of rank %d, at %lld", kUses[c.tag % 3],
                static_cast<unsigned long long>(c.bytes), c.source, static_cast<long long>(c.at));
}

std::string words_of_step(const Step& s) {
  const Choice& c = s.choice;
  switch (c.kind) {
    case Choice::kMatch:
      return format("tag %d, %llu bytes", c.tag, static_cast<unsigned long long>(c.bytes));
    case Choice::kProbe:
    case Choice::kSee:
      return format("seen: tag %d, %llu bytes", c.tag, static_cast<unsigned long long>(c.bytes));
    case Choice::kDone:
      return "finds requests complete";
    case Choice::kMiss:
      return "finds nothing";
    case Choice::kRepeat:
      return "finds nothing, until it gives up";
    case Choice::kBuffer:
      return format("its send is buffered: tag %d", c.tag);
    case Choice::kNoBuffer:
      return "no send is buffered";
    case Choice::kLeave:
      return "leaves a collective before others come";
    case Choice::kAccess:
      return words_of_access(c);
  }
  return "";
}

/// What a pointer that rests on it is told.
std::string title_of(const Step& s) {
  std::string words = words_of_step(s);
  if (s.decided) words += format("; %zu possible here", s.alternatives);
  if (s.forced) words += "; the witness forces this one";
  return "<title>" + html_escaped(words) + "</title>";
}

std::string arrow(const Step& s, unsigned y) {
  const unsigned to = x_of(s.choice.rank);
  const auto from = x_of(static_cast<uint32_t>(s.sender));
  const char* kind = class_of(s);
  std::string out = format("<g class=\"%s\">", kind) + title_of(s);
  if (from == to) {
    out += format("<path d=\"M%u %u c30 0 30 12 4 12\" fill=\"none\" marker-end=\"url(#%s)\"/>", to,
                  y - 12, kind);
  } else {
    out += format("<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" marker-end=\"url(#%s)\"/>", from,
                  y - 12, to, y, kind);
  }
  const unsigned middle = (from + to) / 2 + (from == to ? 60 : 0);
  return out + format("<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%s</text></g>\n", middle,
                      y - 10, html_escaped(words_of_step(s)).c_str());
}

std::string mark(const Step& s, unsigned y) {
  const unsigned x = x_of(s.choice.rank);
  return format("<g class=\"%s\">", class_of(s)) + title_of(s) +
         format("<circle cx=\"%u\" cy=\"%u\" r=\"4\"/><text x=\"%u\" y=\"%u\">%s</text></g>\n", x,
                y, x + 8, y + 4, html_escaped(words_of_step(s)).c_str());
}

std::string markers() {
  std::string out = "<defs>";
  for (const char* kind : {"one", "choice", "forced"})
    out += format(
        "<marker id=\"%s\" class=\"%s\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
        "markerWidth=\"8\" "
        "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 "
        "8z\" "
        "stroke=\"none\"/></marker>",
        kind, kind);
  return out + "</defs>\n";
}

std::string drawing(uint32_t ranks, const std::vector<Step>& steps, size_t first) {
  uint32_t columns = ranks;
  for (const Step& s : steps) columns = std::max(columns, s.choice.rank + 1);
  const unsigned rows = static_cast<unsigned>(steps.size() - first);
  const unsigned height = kTop + (rows + 1) * kRow, width = x_of(columns) + 160;
  std::string out = format("<svg width=\"%u\" height=\"%u\">\n", width, height) + markers();
  for (uint32_t r = 0; r < columns; ++r)
    out += format(
        "<text x=\"%u\" y=\"20\" text-anchor=\"middle\">rank %u</text><line class=\"rank\" "
        "x1=\"%u\" "
        "y1=\"28\" x2=\"%u\" y2=\"%u\"/>\n",
        x_of(r), r, x_of(r), x_of(r), height - 10);
  unsigned y = kTop + kRow / 2;
  for (size_t i = first; i < steps.size(); ++i, y += kRow)
    out += steps[i].sender >= 0 ? arrow(steps[i], y) : mark(steps[i], y);
  return out + "</svg>\n";
}

}  // namespace

std::string picture_of(uint32_t ranks, const std::vector<Step>& steps, const std::string& title,
                       const std::string& text) {
  const size_t first = steps.size() - std::min(steps.size(), kMostSteps);
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
      html_escaped(title) + "</title><style>" + kStyle + "</style></head><body>\n<h1>" +
      html_escaped(title) + "</h1>\n<pre>" + html_escaped(text) +
      "</pre>\n<p class=\"key\"><span style=\"color:#c01c28\">forced by the witness</span>"
      "<span style=\"color:#1a5fb4\">one of several possible</span>"
      "<span style=\"color:#666\">the only one possible</span></p>\n";
  if (first > 0) out += format("<p>%zu steps before these are left out.</p>\n", first);
  return out + drawing(ranks, steps, first) + "</body></html>\n";
}

}  // namespace fgmpi::explore
