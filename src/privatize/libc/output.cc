// The stream that stands for stdout, and the lines that it writes.

#include "privatize/libc/output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <ext/stdio_sync_filebuf.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/settings.h"
#include "base/strings.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/descriptor_kinds.h"
#include "privatize/libc/fixed_streams.h"
#include "privatize/libc/outside_calls.h"
#include "privatize/load/late_ranks.h"
#include "privatize/load/rank_heaps.h"
#include "proclet-sched/immortal.h"

namespace fgmpi::privatize {

FILE* g_stdout = nullptr;

namespace {

/// Complete lines are written once they amount to this many bytes.
constexpr size_t kWriteAt = 32 * 1024;
/// A write of up to this many bytes to a pipe is atomic (POSIX). The launcher passes on whatever it
/// has read from a pipe: if that ended within a line, lines of another process could appear in the
/// middle of it.
constexpr size_t kWholeInPipes = PIPE_BUF;
/// Bytes; a longer line is written in several pieces, which bounds the memory. The user guide
/// states the limit.
constexpr size_t kLongestLine = size_t{16} << 20;
/// Bytes of the unfinished lines of all ranks together; beyond that, the line that grows is written
/// in several pieces.
constexpr size_t kMostUnfinished = size_t{256} << 20;
/// Bytes; a text that has grown larger frees its memory when it is empty again.
constexpr size_t kKeptCapacity = 64 * 1024;
constexpr size_t kStreamBuffer = 16 * 1024;

ssize_t real_write(int fd, const void* bytes, size_t size) {
  static auto* real = next_symbol<ssize_t(int, const void*, size_t)>("write");
  return real(fd, bytes, size);
}

/// In place of a rank: text of the library, or of an unknown rank.
constexpr int64_t kNobody = -1;

/// Everything that goes to one file descriptor.
struct Lines {
  int fd = -1;
  bool at_once = false;  ///< every complete line is written at once
  int failed = 0;        ///< errno of the last write, or 0
  std::vector<char> complete;
  bool line_is_open = false;        ///< the last text in `complete` does not end a line
  int64_t opened_by = kNobody;      ///< the rank of that text
  size_t unfinished = 0;            ///< bytes in `tails`
  std::vector<std::string*> tails;  ///< by rank: its unfinished line
  std::vector<int> files;           ///< by rank: a file of its own, or -1; empty until one has

  bool active() const { return fd >= 0; }
  void write_complete();
  /// Adds bytes of a rank. `now`: also writes all complete lines. Returns errno of a failed write,
  /// or 0.
  int put(int64_t rank, std::string_view bytes, bool now);
  /// Adds a line, or a piece of a very long line, to `complete`. Where text of another rank comes
  /// between two pieces, each piece becomes a line of its own.
  void put_text(int64_t rank, std::string_view text);
  /// Moves the rank's unfinished line to `complete`, with `rest` behind it.
  void put_tail(int64_t rank, std::string_view rest);
  /// The rank's own file, or -1.
  int file_of(int64_t rank) const {
    return rank >= 0 && static_cast<size_t>(rank) < files.size() ? files[static_cast<size_t>(rank)]
                                                                 : -1;
  }
};
constinit Immortal<Lines> g_immortal_out, g_immortal_err;
constexpr Lines& g_out = g_immortal_out.value;
constexpr Lines& g_err = g_immortal_err.value;
FILE* g_stderr = nullptr;  ///< our stream, or nullptr
bool g_prefix = false;
bool g_draining = false;  ///< the stream is flushed by a switch, not by the rank

template <class Text>
void empty_out(Text* text) {
  text->clear();
  if (text->capacity() > kKeptCapacity) text->shrink_to_fit();
}

/// How many of the bytes to write at once: as many whole lines as a pipe accepts atomically, at
/// least one line.
size_t next_piece(std::string_view bytes) {
  if (bytes.size() <= kWholeInPipes) return bytes.size();
  size_t end = bytes.substr(0, kWholeInPipes).rfind('\n');
  if (end == bytes.npos) end = bytes.find('\n');
  return end == bytes.npos ? bytes.size() : end + 1;
}

/// Writes all bytes. Returns errno of a failed write, or 0.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = real_write(fd, bytes.data(), next_piece(bytes));
    if (n < 0 && errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (n < 0 && errno != EINTR) {
      return errno;  // for instance of a pipe that has no reader any more
    } else if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  return 0;
}

/// A rank that flushes or writes gets a failure as the result of its call. No call can return the
/// failure of a later write, so that one is printed, once.
void Lines::write_complete() {
  if (complete.empty()) return;
  int before = std::exchange(failed, write_all(fd, {complete.data(), complete.size()}));
  empty_out(&complete);
  if (failed != 0 && before == 0) {
    std::string line =
        format("fgmpi: standard output of this process is lost: %s\n", strerror(failed));
    real_write(STDERR_FILENO, line.data(), line.size());
  }
}

void Lines::put_text(int64_t rank, std::string_view text) {
  if (text.empty()) return;
  const bool continues = line_is_open && opened_by == rank;
  if (line_is_open && !continues) complete.push_back('\n');
  if (g_prefix && rank >= 0 && !continues) {
    char prefix[24];
    const auto index = static_cast<uint32_t>(rank);
    const uint32_t of_job = index < sched::rank_count() ? world_rank(sched::rank_proclet(index))
                                                        : first_world_rank() + index;
    int n = snprintf(prefix, sizeof prefix, "[%u] ", of_job);
    complete.insert(complete.end(), prefix, prefix + n);
  }
  complete.insert(complete.end(), text.begin(), text.end());
  line_is_open = text.back() != '\n';
  opened_by = rank;
}

void Lines::put_tail(int64_t rank, std::string_view rest) {
  std::string& tail = *tails[static_cast<size_t>(rank)];
  tail.append(rest);
  put_text(rank, tail);
  unfinished -= tail.size() - rest.size();
  empty_out(&tail);
}

int Lines::put(int64_t rank, std::string_view bytes, bool now) {
  // The program may be a shell: its output stays in order with that of the programs that it starts.
  if (!have_late_ranks_begun()) return write_all(fd, bytes);
  if (rank < 0 || static_cast<size_t>(rank) >= tails.size()) {
    put_text(kNobody, bytes);
    write_complete();
    return failed;
  }
  if (int own = file_of(rank); own >= 0) return write_all(own, bytes);
  std::string*& tail = tails[static_cast<size_t>(rank)];
  while (!bytes.empty()) {
    size_t newline = bytes.find('\n');
    bool whole = newline != bytes.npos;
    std::string_view part = bytes.substr(0, whole ? newline + 1 : bytes.npos);
    bytes.remove_prefix(part.size());
    bool continues = tail && !tail->empty();
    if (whole && !continues) {
      put_text(rank, part);
      continue;
    }
    if (!tail) tail = new std::string;
    bool too_long =
        tail->size() + part.size() > kLongestLine || unfinished + part.size() > kMostUnfinished;
    if (whole || too_long) {
      put_tail(rank, part);
    } else {
      tail->append(part);
      unfinished += part.size();
    }
  }
  if (now || at_once || complete.size() >= kWriteAt) write_complete();
  return now ? failed : 0;
}

/// The rank for which the caller writes, or kNobody. In a process with one rank it is always that
/// rank, also before the rank runs and after it has ended.
int64_t writer() {
  if (g_out.tails.size() == 1) return 0;
  sched::Proclet* p = sched::running();
  if (!p) return kNobody;
  if (p->kind == sched::ProcletKind::kRank) return p->index;
  return p->image ? static_cast<int64_t>(static_cast<Image*>(p->image)->index) : kNobody;
}

ssize_t write_to_stdout(void*, const char* bytes, size_t size) {
  if (!on_scheduler_thread()) return real_write(g_out.fd, bytes, size);
  if (int failed = g_out.put(writer(), {bytes, size}, !g_draining)) return errno = failed, 0;
  return static_cast<ssize_t>(size);
}

ssize_t write_to_stderr(void*, const char* bytes, size_t size) {
  if (!on_scheduler_thread()) return real_write(g_err.fd, bytes, size);
  int64_t rank = writer();
  if (!g_prefix && g_err.file_of(rank) < 0) return real_write(g_err.fd, bytes, size);
  if (int failed = g_err.put(rank, {bytes, size}, true)) return errno = failed, 0;
  return static_cast<ssize_t>(size);
}

/// A process with one rank uses the C library's stdout. Under a launcher, its pipe gets whole
/// lines: blocks would end anywhere, and be lost when the job is aborted.
void write_lines_at_once() {
  const bool launched =
      environment::text(environment::kPmiRank) || environment::text(environment::kPmixRank);
  struct stat file {};
  if (launched && fstat(STDOUT_FILENO, &file) == 0 &&
      (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode)))
    setvbuf(stdout, nullptr, _IOLBF, 0);
}

FILE* open_stream(int fd, ssize_t (*take)(void*, const char*, size_t)) {
  cookie_io_functions_t functions{};
  functions.write = take;
  FILE* stream = fopencookie(nullptr, "w", functions);
  if (stream) stream->_fileno = fd;  // for fileno(stdout)
  return stream;
}

}  // namespace

void redirect_rank_output(uint32_t ranks) {
  g_prefix = settings::on(settings::kPrependRank);
  // Ranks that are saved find the same streams wherever they go on.
  const bool saved = environment::text(environment::kCheckpointFolder);
  if (ranks == 1 && !g_prefix && !saved) return write_lines_at_once();
  fflush(stdout);
  FILE* stream = open_stream(STDOUT_FILENO, write_to_stdout);
  if (!stream) return;
  static StreamPlace place_out, place_err;
  if (saved) stream = move_stream(stream, &place_out);
  g_out.fd = STDOUT_FILENO;
  g_out.at_once = isatty(STDOUT_FILENO);
  g_out.tails.resize(ranks);
  setvbuf(stream, nullptr, g_out.at_once ? _IOLBF : _IOFBF, kStreamBuffer);
  stdout = g_stdout = stream;
  // Never destroyed: libraries that use iostreams flush std::cout after our destructors have run.
  using Buffer = __gnu_cxx::stdio_sync_filebuf<char>;
  alignas(Buffer) static char buffer_out[sizeof(Buffer)], buffer_err[sizeof(Buffer)];
  std::cout.rdbuf(new (buffer_out) Buffer(stream));
  sched::set_idle_hook(flush_output);
  static_assert(offsetof(FILE, _IO_write_ptr) == offsetof(FILE, _IO_write_base) + sizeof(char*));
  sched::watch(reinterpret_cast<const void* const*>(&stream->_IO_write_base));
  const ElfModule* program = g_images.modules().empty() ? nullptr : &g_images.program();
  bool redirected = program && (program->imports("freopen") || program->imports("freopen64"));
  if (!g_prefix && !redirected) return;
  if (FILE* errors = open_stream(STDERR_FILENO, write_to_stderr)) {
    if (saved) errors = move_stream(errors, &place_err);
    g_err.fd = STDERR_FILENO;
    g_err.tails.resize(ranks);
    setvbuf(errors, nullptr, _IONBF, 0);
    stderr = g_stderr = errors;
    std::cerr.rdbuf(new (buffer_err) Buffer(errors));
  }
}

bool writes_of_ranks(const FILE* stream) {
  return stream && (stream == g_stdout || stream == g_stderr);
}

void send_to_file(FILE* stream, int fd) {
  Lines& lines = stream == g_stdout ? g_out : g_err;
  auto rank = static_cast<size_t>(writer());
  if (stream == g_stdout) drain_stdout();
  lines.files.resize(lines.tails.size(), -1);
  int before = std::exchange(lines.files[rank], fd);
  if (before >= 0) close(before);
}

void close_own_files() {
  for (Lines* lines : {&g_out, &g_err}) {
    int64_t rank = writer();
    if (lines->file_of(rank) < 0) continue;
    assign_output();
    close(std::exchange(lines->files[static_cast<size_t>(rank)], -1));
  }
}

namespace {
/// Unfinished lines of a rank that is saved: of stdout, then of stderr.
struct SavedLines {
  size_t bytes[2];
  char text[];
};
}  // namespace

const char* describe_output(void** saved) {
  free(*saved);
  *saved = nullptr;
  assign_output();
  const int64_t rank = writer();
  std::string_view tails[2];
  size_t i = 0;
  for (const Lines* lines : {&g_out, &g_err}) {
    if (lines->file_of(rank) >= 0) return "its standard output goes to a file of its own (freopen)";
    if (rank >= 0 && static_cast<size_t>(rank) < lines->tails.size())
      if (const std::string* tail = lines->tails[static_cast<size_t>(rank)]) tails[i] = *tail;
    ++i;
  }
  if (tails[0].empty() && tails[1].empty()) return nullptr;
  auto* made = static_cast<SavedLines*>(
      allocate_in_slot_of(saved, sizeof(SavedLines) + tails[0].size() + tails[1].size()));
  if (!made) return "it has no memory left for its unfinished line";
  made->bytes[0] = tails[0].size();
  made->bytes[1] = tails[1].size();
  std::copy(tails[1].begin(), tails[1].end(),
            std::copy(tails[0].begin(), tails[0].end(), made->text));
  *saved = made;
  return nullptr;
}

void drop_output() {
  assign_output();
  const auto rank = static_cast<size_t>(writer());
  for (Lines* lines : {&g_out, &g_err}) {
    std::string* tail = rank < lines->tails.size() ? lines->tails[rank] : nullptr;
    if (!tail) continue;
    lines->unfinished -= tail->size();
    empty_out(tail);
  }
}

void make_room_for_output(uint32_t rank) {
  for (Lines* lines : {&g_out, &g_err})
    if (lines->active() && rank >= lines->tails.size()) lines->tails.resize(rank + 1);
}

void restore_output(int64_t rank, const void* saved) {
  const auto* lines = static_cast<const SavedLines*>(saved);
  if (!lines) return;
  g_out.put(rank, {lines->text, lines->bytes[0]}, false);
  if (g_err.active()) g_err.put(rank, {lines->text + lines->bytes[0], lines->bytes[1]}, false);
}

void drain_stdout() {
  g_draining = true;
  fflush(g_stdout);
  g_draining = false;
}

void flush_output() {
  if (g_out.active()) g_out.write_complete();
}

namespace {

/// Writes a rank's lines in a crash: `begun`, then `text`. Allocates nothing, since the heap may be
/// broken. `*open`: whether the file's last line is unfinished, before and after the call.
void write_in_crash(int fd, int64_t rank, std::string_view begun, std::string_view text,
                    bool* open) {
  while (!begun.empty() || !text.empty()) {
    std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    if (text.empty()) line = {};
    text.remove_prefix(line.size());
    if (std::exchange(*open, false)) write_all(fd, "\n");
    char prefix[24] = "";
    if (g_prefix && rank >= 0)
      snprintf(prefix, sizeof prefix, "[%lld] ", static_cast<long long>(first_world_rank() + rank));
    write_all(fd, prefix);
    write_all(fd, begun);
    write_all(fd, line);
    *open = (line.empty() ? begun : line).back() != '\n';
    begun = {};
  }
}

std::string_view bytes_in_stdout() {
  const ptrdiff_t bytes = stdout->_IO_write_ptr - stdout->_IO_write_base;
  if (bytes <= 0 || bytes > stdout->_IO_buf_end - stdout->_IO_buf_base) return {};
  return {stdout->_IO_write_base, static_cast<size_t>(bytes)};
}

}  // namespace

void write_output_in_crash() {
  if (!g_stdout) {
    write_all(stdout->_fileno, bytes_in_stdout());
    return;
  }
  flush_output();
  const int64_t running = writer();
  const bool known = running >= 0 && static_cast<size_t>(running) < g_out.tails.size();
  const std::string* tail = known ? g_out.tails[static_cast<size_t>(running)] : nullptr;
  const int own = g_out.file_of(running);
  bool open = own < 0 && g_out.line_is_open, open_elsewhere = false;
  write_in_crash(own < 0 ? g_out.fd : own, own < 0 ? running : kNobody,
                 tail ? std::string_view(*tail) : std::string_view(), bytes_in_stdout(),
                 own < 0 ? &open : &open_elsewhere);
  for (size_t rank = 0; rank < g_out.tails.size(); ++rank)
    if (g_out.tails[rank] && static_cast<int64_t>(rank) != running)
      write_in_crash(g_out.fd, static_cast<int64_t>(rank), *g_out.tails[rank], {}, &open);
}

void finish_output() {
  if (!g_out.active()) return;
  fflush(g_stdout);
  for (Lines* lines : {&g_out, &g_err}) {
    for (size_t rank = 0; rank < lines->tails.size(); ++rank)
      if (lines->tails[rank]) lines->put_tail(static_cast<int64_t>(rank), "");
    if (lines->active()) lines->write_complete();
  }
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE ssize_t write(int fd, const void* bytes, size_t size) {
  if (__builtin_expect(fd == STDOUT_FILENO && g_out.active(), 0) && on_scheduler_thread()) {
    drain_stdout();
    int failed = g_out.put(writer(), {static_cast<const char*>(bytes), size}, true);
    if (failed) return errno = failed, -1;
    return static_cast<ssize_t>(size);
  }
  if (!can_never_wait(fd) && lets_others_run(__builtin_return_address(0)))
    return write_of_rank(fd, bytes, size);
  return real_write(fd, bytes, size);
}

FGMPI_INTERPOSE ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* real = next_symbol<ssize_t(int, const iovec*, int)>("writev");
  if (fd != STDOUT_FILENO || !g_out.active() || !on_scheduler_thread()) {
    if (!can_never_wait(fd) && lets_others_run(__builtin_return_address(0)))
      return writev_of_rank(fd, parts, count);
    return real(fd, parts, count);
  }
  ssize_t total = 0;
  for (int i = 0; i < count; ++i) {
    ssize_t n = write(fd, parts[i].iov_base, parts[i].iov_len);
    if (n < 0) return n;
    total += n;
  }
  return total;
}

// std::ios_base::sync_with_stdio: where lines are assembled, std::cout keeps writing
// through stdout.
FGMPI_INTERPOSE bool fgmpi_sync_with_stdio(bool sync) __asm__("_ZNSt8ios_base15sync_with_stdioEb");
bool fgmpi_sync_with_stdio(bool sync) {
  static auto* real = next_symbol<bool(bool)>("_ZNSt8ios_base15sync_with_stdioEb");
  return g_out.active() ? true : real(sync);
}
