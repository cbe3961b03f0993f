// Fuzz target: any text as the card by which a process lets itself be watched. What is accepted is
// a process that can be, and comes out the same when it is published again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "liveness/card.h"

using fgmpi::liveness::Card;

namespace {

void check(const std::string& text) {
  Card card, again;
  if (!card.parse(text)) return;
  if (card.pid < 1 || card.host_id.empty() || card.host_name.empty()) std::abort();
  const std::string published = card.to_string();
  if (!again.parse(published) || again.to_string() != published) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  if (size < 3) return 0;
  // Nearly right: a good card in which the input replaces a stretch.
  std::string changed = "4711:12:13:0123456789abcdef:node-1.x";
  changed.replace(data[0] % changed.size(), data[1] % 6, text, 2, data[2] % 6);
  check(changed);
  return 0;
}
