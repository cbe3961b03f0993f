// Fuzz target: any bytes as a message of PMI-2 and as the characters before it. What is taken for a
// message is written as it was read.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bootstrap/pmi2_message.h"

using namespace fgmpi::bootstrap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto message = Pmi2Message::parse(text)) {
    if (message->text() != text || !message->find("cmd")) std::abort();
    const std::string wire = message->wire();
    if (size < 999'999 && Pmi2Message::length_of(
                              std::string_view(wire).substr(0, Pmi2Message::kLengthDigits)) != size)
      std::abort();
    if (message->number("rc") && !message->find("rc")) std::abort();
  }
  const auto length = Pmi2Message::length_of(text.substr(0, Pmi2Message::kLengthDigits));
  if (length && (*length < 1 || *length > 999'999)) std::abort();
  return 0;
}
