// Records of inputs: the same code writes them and reads them.

#include "rewind/inputs.h"

#include <cstdio>
#include <iterator>

#include "rewind/ends.h"
#include "rewind/events.h"
#include "rewind/numbers.h"
#include "rewind/recording.h"

namespace fgmpi::rewind {
namespace {

uint64_t g_last_event = 0;  ///< of the record before

constexpr size_t kMostWords = 40;

const char* words_of(uint64_t tag, char* words) {
  constexpr const char* kNames[] = {"a read of a clock", "a wait", "a random number", "its start",
                                    "a read of the processor's counter"};
  if (tag < std::size(kNames)) return kNames[tag];
  std::snprintf(words, kMostWords, "system call %llu",
                static_cast<unsigned long long>(tag - kFirstCallTag));
  return words;
}

uint64_t next_number() {
  uint64_t value = 0;
  if (!get_number(kInputs, &value)) end_with_recording();
  return value;
}

}  // namespace

void begin_input(uint64_t tag) {
  const uint64_t since = fgmpi_rewind_events - g_last_event;
  g_last_event = fgmpi_rewind_events;
  if (is_recorded()) {
    put_number(kInputs, since);
    put_number(kInputs, tag);
    return;
  }
  const uint64_t recorded_since = next_number(), recorded_tag = next_number();
  char own[kMostWords], other[kMostWords];
  if (recorded_tag != tag)
    report_difference("it makes %s, the recorded one %s", words_of(tag, own),
                      words_of(recorded_tag, other));
  if (recorded_since != since)
    report_difference("it makes %s %lld MPI calls %s than the recorded one", words_of(tag, own),
                      static_cast<long long>(since > recorded_since ? since - recorded_since
                                                                    : recorded_since - since),
                      since > recorded_since ? "later" : "earlier");
}

void pass(int64_t* value) {
  if (is_recorded())
    put_number(kInputs, zigzag(*value));
  else
    *value = unzigzag(next_number());
}

void pass_bytes(void* bytes, size_t size) {
  if (is_recorded())
    put(kInputs, bytes, size);
  else if (!get(kInputs, bytes, size))
    end_with_recording();
}

void end_input() {
  if (is_recorded()) commit(kInputs);
}

void pass_compared(uint64_t value, const char* what) {
  auto recorded = static_cast<int64_t>(value);
  pass(&recorded);
  if (recorded != static_cast<int64_t>(value))
    report_difference("%s is %lld, %lld in the recorded run", what, static_cast<long long>(value),
                      static_cast<long long>(recorded));
}

}  // namespace fgmpi::rewind
