// The answers to trapped system calls that follow the table (rules.h), and those of descriptors.

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "rewind/descriptors.h"
#include "rewind/ends.h"
#include "rewind/format.h"
#include "rewind/inputs.h"
#include "rewind/kept_files.h"
#include "rewind/recording.h"
#include "rewind/rules.h"
#include "rewind/special_calls.h"

namespace fgmpi::rewind {
namespace {

/// Passes what the kernel has written to one of the call's buffers.
void pass_written(const TrappedCall& call, const WrittenMemory& w, long result) {
  auto* at = reinterpret_cast<void*>(call.arguments[w.argument]);
  if (w.size == WrittenMemory::kNothing || !at) return;
  size_t size = w.number;
  if (w.size == WrittenMemory::kResult) size = static_cast<size_t>(result);
  if (w.size == WrittenMemory::kRecords) size = static_cast<size_t>(result) * w.number;
  if (w.size == WrittenMemory::kPointed) {
    auto* length = reinterpret_cast<uint32_t*>(call.arguments[w.number]);
    if (!length) return;
    const uint32_t room = *length;  // once answered: what the kernel says, which may be more
    int64_t stored = room, whole = room;
    pass(&stored);
    pass(&whole);
    size = static_cast<size_t>(std::min(stored, whole));
    *length = static_cast<uint32_t>(whole);
  }
  pass_bytes(at, size);
}

long given(const TrappedCall& call, const CallRule& rule) {
  const int64_t result = begin_with_result(call);
  if (result >= 0)
    for (const WrittenMemory& w : rule.written) pass_written(call, w, result);
  end_input();
  return result;
}

/// Keeps what the call has read of a file whose contents are kept. Returns false where the file has
/// been changed: its data is recorded from now on.
bool keep_read(const TrappedCall& call, uint64_t bytes) {
  const long fd = call.arguments[0];
  const uint32_t file = kept_file_of(fd);
  if (!file) return true;
  switch (call.number) {
    case SYS_read:
    case SYS_readv:
      return keep_bytes(
          fd, file, static_cast<uint64_t>(direct_call(SYS_lseek, fd, 0, SEEK_CUR)) - bytes, bytes);
    case SYS_pread64:
    case SYS_preadv:
      return keep_bytes(fd, file, static_cast<uint64_t>(call.arguments[3]), bytes);
    default:
      return true;
  }
}

long of_file(const TrappedCall& call, const CallRule& rule) {
  FileKind k;
  const int64_t result = begin_with_result(call, &k);
  if (k == FileKind::kInput || k == FileKind::kMemory) {
    if (is_repeated()) compare_result(call, make_call(call), result);
    if (k == FileKind::kInput && rule.written[0].size == WrittenMemory::kResult && result > 0)
      compare_input(call.arguments[0], hash_bytes(reinterpret_cast<const void*>(call.arguments[1]),
                                                  static_cast<size_t>(result)));
  } else if (result >= 0) {
    for (const WrittenMemory& w : rule.written) pass_written(call, w, result);
  }
  end_input();
  return result;
}

}  // namespace

long make_call(const TrappedCall& call) {
  const long* a = call.arguments;
  return fgmpi_rewind_direct_call(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void begin_call_input(const TrappedCall& call) {
  begin_input(kFirstCallTag + static_cast<uint64_t>(call.number));
}

int64_t begin_with_result(const TrappedCall& call) {
  int64_t result = is_recorded() ? make_call(call) : 0;
  begin_call_input(call);
  pass(&result);
  return result;
}

int64_t begin_with_result(const TrappedCall& call, FileKind* kind) {
  auto passed = static_cast<int64_t>(kind_of(call.arguments[0]));
  int64_t result = is_recorded() ? make_call(call) : 0;
  if (is_recorded() && result > 0 && !keep_read(call, static_cast<uint64_t>(result))) {
    set_kind(call.arguments[0], FileKind::kGivenFile);
    passed = static_cast<int64_t>(FileKind::kGivenFile);
  }
  begin_call_input(call);
  pass(&passed);
  pass(&result);
  *kind = static_cast<FileKind>(passed);
  return result;
}

long answer_placed(const TrappedCall& call, const char* what) {
  const long result = make_call(call);
  if (g_is_checked) return result;
  begin_call_input(call);
  pass_compared(mix(static_cast<uint64_t>(result)) & 0xffff, what);
  end_input();
  return result;
}

void compare_result(const TrappedCall& call, long result, long recorded) {
  if (result != recorded)
    report_difference("system call %ld answers %ld, %ld in the recorded run", call.number, result,
                      recorded);
}

void compare_input(long fd, uint64_t hash) {
  auto sum = static_cast<uint32_t>(hash);
  const uint32_t own = sum;
  pass_bytes(&sum, sizeof sum);
  if (sum == own) return;
  char path[256];
  find_path_behind(fd, path, sizeof path);
  report_difference("%s has other contents than in the recorded run", path);
}

void stand_in(long fd) {
  const long file = direct_call(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
  if (file < 0) report_difference("/dev/null cannot be opened: error %ld", -file);
  if (file == fd) return;
  direct_call(SYS_dup3, file, fd, O_CLOEXEC);
  direct_call(SYS_close, file);
}

long answer_call(const TrappedCall& call) {
  const CallRule& rule = rule_of(call.number);
  switch (rule.answer) {
    case CallAnswer::kMade:
      return make_call(call);
    case CallAnswer::kPlaced:
      return answer_placed(call, "a hash of an address");
    case CallAnswer::kGiven:
      return given(call, rule);
    case CallAnswer::kOfFile:
      return of_file(call, rule);
    case CallAnswer::kDescriptor: {
      const long fd = given(call, rule);
      set_kind(fd, FileKind::kUnknown);
      if (is_repeated() && fd >= 0) stand_in(fd);
      return fd;
    }
    case CallAnswer::kMissing:
      return -ENOSYS;
    case CallAnswer::kSpecial:
      return answer_special(call);
    case CallAnswer::kRefused:
      break;
  }
  refuse_call(call);
}

}  // namespace fgmpi::rewind
