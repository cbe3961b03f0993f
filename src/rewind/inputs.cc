// Records of inputs: the same code writes them and reads them.

#include "rewind/inputs.h"

#include <cstdio>
#include <iterator>

#include "rewind/ends.h"
#include "rewind/events.h"
#include "rewind/numbers.h"
#include "rewind/recording.h"
#include "rewind/rules.h"

namespace fgmpi::rewind {
namespace {

uint64_t g_last_event = 0;  ///< of the record before

/// The beginning of the next record, where it has been read before its time.
struct InputHead {
  bool has_been_read = false, is_missing = false;
  uint64_t since = 0, tag = 0;
  int count = 0;       ///< values that have been read, too
  uint64_t first = 0;  ///< the first one
};
InputHead g_head;

bool read_tag() {
  g_head = {true, false, 0, 0, 0, 0};
  g_head.is_missing = !get_number(kInputs, &g_head.since) || !get_number(kInputs, &g_head.tag);
  return !g_head.is_missing;
}

/// Is the record one of an address, which nobody compares in this run?
bool is_passed_over() {
  return g_is_checked && g_head.tag >= kFirstCallTag &&
         is_placed_call(static_cast<long>(g_head.tag - kFirstCallTag));
}

void read_head() {
  while (read_tag() && is_passed_over()) {
    g_last_event += g_head.since;
    g_head.is_missing = !get_number(kInputs, &g_head.first);
    if (g_head.is_missing) return;
  }
  if (g_head.is_missing || g_head.tag != kSignalTag) return;
  g_head.is_missing = !get_number(kInputs, &g_head.first);
  g_head.count = 1;
}

constexpr size_t kMostWords = 40;

const char* words_of(uint64_t tag, char* words) {
  constexpr const char* kNames[] = {"a read of a clock",
                                    "a wait",
                                    "a random number",
                                    "its start",
                                    "a read of the processor's counter",
                                    "a signal"};
  if (tag < std::size(kNames)) return kNames[tag];
  std::snprintf(words, kMostWords, "system call %llu",
                static_cast<unsigned long long>(tag - kFirstCallTag));
  return words;
}

uint64_t next_number() {
  uint64_t value = 0;
  if (g_head.count > 0) {
    g_head.count = 0;
    return g_head.first;
  }
  if (!get_number(kInputs, &value)) end_with_recording();
  return value;
}

}  // namespace

bool is_next_input(uint64_t tag, int64_t first) {
  if (!g_head.has_been_read) read_head();
  return !g_head.is_missing && g_head.tag == tag &&
         g_last_event + g_head.since == fgmpi_rewind_events && unzigzag(g_head.first) == first;
}

void begin_input(uint64_t tag) {
  if (is_repeated() && !g_head.has_been_read) read_head();
  const uint64_t since = fgmpi_rewind_events - g_last_event;
  g_last_event = fgmpi_rewind_events;
  if (is_recorded()) {
    put_number(kInputs, since);
    put_number(kInputs, tag);
    return;
  }
  if (g_head.is_missing) end_with_recording();
  g_head.has_been_read = false;
  const uint64_t recorded_since = g_head.since, recorded_tag = g_head.tag;
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
