// Fuzz target: any bytes as another process's part of the deadlock report. What is refused adds
// nothing; what is accepted comes out the same when it is sent on, and its texts cannot add lines
// to the report.
#include <cstdlib>
#include <string>
#include <vector>

#include "pt2pt/report.h"

using fgmpi::pt2pt::Report;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);  // its own block: a sanitizer sees its end
  Report report;
  if (!report.add_bytes(bytes.data(), bytes.size())) {
    if (report.ranks || !report.calls.empty() || !report.edges.empty() || !report.lines.empty())
      std::abort();
    return 0;
  }
  const std::string text = report.to_text();
  size_t line = 0;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1, ++line)
    if (text.compare(at, 7, "fgmpi: ")) std::abort();
  if (line > 2 + report.lines.size() + report.calls.size()) std::abort();
  const std::vector<uint8_t> sent = report.to_bytes();
  Report copy;
  if (!copy.add_bytes(sent.data(), sent.size()) || copy.to_text() != text) std::abort();
  return 0;
}
