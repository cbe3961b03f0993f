// The page that draws a witness.

#include "readers/exploration/picture.h"

#include <algorithm>

#include "base/strings.h"

namespace fgmpi::explore {
namespace {

constexpr unsigned kRow = 30, kLeft = 60, kHead = 28;
/// Columns share kAll pixels, within these bounds. Columns narrower than kWords have room only for
/// a rank's number.
constexpr unsigned kAll = 1500, kNarrowest = 40, kWidest = 110, kWords = 60;
/// Earlier steps are left out: the important ones are at the end or forced.
constexpr size_t kMostSteps = 2000;

// Colours follow the reader's scheme. The names of ranks stay on top while the steps are scrolled.
// A long title is cut; the pointer shows its whole text.
constexpr const char* kStyle =
    ":root{color-scheme:light "
    "dark;--back:#fff;--ink:#222;--box:#f4f4f4;--line:#bbb;--one:#666;--choice:#1a5fb4;--forced:#"
    "c01c28}"
    "@media(prefers-color-scheme:dark){:root{--back:#1b1b1d;--ink:#ddd;--box:#2a2a2d;--line:#555;"
    "--one:#aaa;--choice:#78aeed;--forced:#ff7b7b}}"
    "body{font:14px sans-serif;margin:1.5em;background:var(--back);color:var(--ink)}"
    "h1{font-size:1.5em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}"
    "pre{background:var(--box);padding:.7em;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".steps{overflow:auto;max-height:90vh}svg{font:12px sans-serif;display:block}"
    ".ranks{position:sticky;top:0;background:var(--back);border-bottom:1px solid var(--line)}"
    ".rank{stroke:var(--line)}text{stroke:none;fill:var(--ink)}"
    ".one{stroke:var(--one);fill:var(--one)}.choice{stroke:var(--choice);fill:var(--choice)}"
    ".forced{stroke:var(--forced);fill:var(--forced);stroke-width:2}"
    "g text{fill:inherit;stroke:var(--back);stroke-width:3;paint-order:stroke}"
    ".key span{margin-right:1.5em}.key .one{color:var(--one)}.key .choice{color:var(--choice)}"
    ".key .forced{color:var(--forced)}";

/// The positions of the ranks' columns.
class Columns {
 public:
  explicit Columns(uint32_t count)
      : count_(count), wide_(std::clamp(kAll / std::max(count, 1u), kNarrowest, kWidest)) {}
  unsigned at(uint32_t rank) const { return kLeft + rank * wide_; }
  unsigned end() const { return at(count_) + 160; }
  std::string name_before() const { return wide_ < kWords ? "" : "rank "; }
  uint32_t count() const { return count_; }

 private:
  uint32_t count_;
  unsigned wide_;
};

const char* class_of(const ExecutionStep& s) {
  if (s.forced) return "forced";
  return s.decided && s.alternatives > 1 ? "choice" : "one";
}

std::string words_of_access(const Choice& c) {
  const char* const kUses[] = {"reads", "writes", "accumulates to"};
  const char* const kMeanings[] = {"connects to a port", "accepts at a port"};
  if (c.tag == Choice::kArriveAtPort) return kMeanings[c.wanted_tag == Choice::kAccepts];
  if (c.wanted_tag == Choice::kName && c.tag <= Choice::kWrite)
    return c.tag == Choice::kRead ? "looks up a name" : "publishes or withdraws a name";
  if (c.tag == Choice::kLock)
    return format("gets the %s lock of rank %d", c.wanted_tag ? "exclusive" : "shared", c.source);
  return format("%s %llu bytes of rank %d, at %lld", kUses[c.tag % 3],
                static_cast<unsigned long long>(c.bytes), c.source, static_cast<long long>(c.at));
}

std::string words_of_step(const ExecutionStep& s) {
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

/// The text that the pointer shows.
std::string title_of(const ExecutionStep& s) {
  std::string words = words_of_step(s);
  if (s.decided) words += format("; %zu possible here", s.alternatives);
  if (s.forced) words += "; the witness forces this one";
  return "<title>" + html_escaped(words) + "</title>";
}

std::string arrow(const Columns& columns, const ExecutionStep& s, unsigned y) {
  const unsigned to = columns.at(s.choice.rank);
  const unsigned from = columns.at(static_cast<uint32_t>(s.sender));
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

std::string mark(const Columns& columns, const ExecutionStep& s, unsigned y) {
  const unsigned x = columns.at(s.choice.rank);
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

std::string drawing(uint32_t ranks, const std::vector<ExecutionStep>& steps, size_t first) {
  uint32_t count = ranks;
  for (const ExecutionStep& s : steps)
    count = std::max({count, s.choice.rank + 1, static_cast<uint32_t>(s.sender + 1)});
  const Columns columns(count);
  const unsigned rows = static_cast<unsigned>(steps.size() - first);
  const unsigned height = (rows + 1) * kRow, width = columns.end();
  std::string names = format("<svg class=\"ranks\" width=\"%u\" height=\"%u\">\n", width, kHead);
  std::string out = format("<svg width=\"%u\" height=\"%u\">\n", width, height) + markers();
  for (uint32_t r = 0; r < count; ++r) {
    const std::string name = columns.name_before() + std::to_string(r);
    names +=
        format("<text x=\"%u\" y=\"18\" text-anchor=\"middle\">%s<title>rank %u</title></text>\n",
               columns.at(r), name.c_str(), r);
    out += format("<line class=\"rank\" x1=\"%u\" y1=\"0\" x2=\"%u\" y2=\"%u\"/>\n", columns.at(r),
                  columns.at(r), height);
  }
  unsigned y = kRow;
  for (size_t i = first; i < steps.size(); ++i, y += kRow)
    out += steps[i].sender >= 0 ? arrow(columns, steps[i], y) : mark(columns, steps[i], y);
  return "<div class=\"steps\">\n" + names + "</svg>\n" + out + "</svg>\n</div>\n";
}

}  // namespace

std::string picture_of(uint32_t ranks, const std::vector<ExecutionStep>& steps,
                       const std::string& title, const std::string& text) {
  const size_t first = steps.size() - std::min(steps.size(), kMostSteps);
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                    html_escaped(title) + "</title><style>" + kStyle +
                    "</style></head><body>\n<h1 title=\"" + html_escaped(title) + "\">" +
                    html_escaped(title) + "</h1>\n<pre>" + html_escaped(text) +
                    "</pre>\n<p class=\"key\"><span class=\"forced\">forced by the witness</span>"
                    "<span class=\"choice\">one of several possible</span>"
                    "<span class=\"one\">the only one possible</span></p>\n";
  if (first > 0) out += format("<p>%zu steps before these are left out.</p>\n", first);
  return out + drawing(ranks, steps, first) + "</body></html>\n";
}

}  // namespace fgmpi::explore
