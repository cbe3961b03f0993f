#include "bootstrap/pmi1.h"

#include <fcntl.h>
#include <mpi.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/assert.h"
#include "base/environment.h"
#include "base/stand_still.h"
#include "base/strings.h"
#include "bootstrap/line_channel.h"
#include "bootstrap/process_mapping.h"

namespace fgmpi::bootstrap {
namespace {

/// One line "cmd=NAME key=value ...", taken apart on demand.
class Answer {
 public:
  explicit Answer(std::string line) : line_(std::move(line)) {}
  const std::string& line() const { return line_; }

  /// The value of a key; nothing when it is absent.
  std::optional<std::string> find(std::string_view key) const {
    for (size_t begin = 0; begin < line_.size();) {
      size_t end = std::min(line_.find(' ', begin), line_.size());
      std::string_view word(line_.data() + begin, end - begin);
      size_t equals = word.find('=');
      if (word.substr(0, equals) == key && equals != word.npos)
        return std::string(word.substr(equals + 1));
      begin = end + 1;
    }
    return std::nullopt;
  }

  std::optional<int> number(std::string_view key) const {
    auto text = find(key);
    auto value = text ? parse_int(*text) : std::nullopt;
    if (!value || *value < INT32_MIN || *value > INT32_MAX) return std::nullopt;
    return static_cast<int>(*value);
  }

 private:
  std::string line_;
};

constexpr const char* kFence = "cmd=barrier_in";

class Pmi1 : public Bootstrap {
 public:
  explicit Pmi1(int fd) : channel_(fd) {}

  /// The conversation that opens a session. `rank` and `size` come from the environment, or (with
  /// PMI_PORT) from the server, which then must be told who calls.
  Status start(const char* id);

  const char* name() const override { return "pmi1"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int appnum() const override { return appnum_; }
  int universe_size() const override { return universe_; }
  const std::string& job() const override { return job_; }
  bool spawned() const override { return spawned_; }
  int launcher_fd() const override { return channel_.fd(); }
  std::vector<int> node_of() override;
  Status put(const std::string& key, const std::string& value) override;
  Status fence() override;
  Status enter_fence() override;
  Status fence_is_over(int64_t wait_ns, bool* over) override;
  Status get(const std::string& key, std::string* value) override;
  size_t max_value() const override { return max_value_; }
  Status finalize() override;
  [[noreturn]] void abort(int exit_code, const std::string& message) override;

 private:
  /// Sends a request and reads the answer, which must be `expected`; the words when it is not.
  Status ask(const std::string& request, std::string_view expected, Answer* answer);
  Status read_answer(const std::string& request, std::string_view expected, Answer* answer);
  Status identify(const char* id);
  Status read_numbers();

  LineChannel channel_;
  int rank_ = -1, size_ = -1, appnum_ = 0, universe_ = -1;
  bool spawned_ = false, finalized_ = false;
  size_t max_value_ = 0, max_key_ = 0;
  std::string job_;
};

Status Pmi1::ask(const std::string& request, std::string_view expected, Answer* answer) {
  channel_.write(request + "\n");
  return read_answer(request, expected, answer);
}

Status Pmi1::read_answer(const std::string& request, std::string_view expected, Answer* answer) {
  do {
    *answer = Answer(channel_.read_line());
  } while (answer->find("cmd") ==
           "set");  // settings that follow the greeting over TCP: not ours to act on
  if (answer->find("cmd") == expected) return {};
  return error(MPI_ERR_OTHER, "the launcher answered '%s' to '%s'", answer->line().c_str(),
               request.c_str());
}

Status environment_number(environment::Variable variable, int* value) {
  const char* text = environment::text(variable);
  auto number = text ? parse_int(text) : std::nullopt;
  if (!number || *number < 0 || *number > INT32_MAX)
    return error(MPI_ERR_OTHER, "%s=%s: allowed is a number from 0 (set by the launcher)",
                 environment::name(variable), text ? text : "");
  *value = static_cast<int>(*number);
  return {};
}

Status Pmi1::identify(const char* id) {
  if (!id) {
    FGMPI_TRY(environment_number(environment::kPmiRank, &rank_));
    return environment_number(environment::kPmiSize, &size_);
  }
  Answer answer("");
  FGMPI_TRY(ask(format("cmd=initack pmiid=%s", id), "initack", &answer));
  while (rank_ < 0 || size_ < 0) {
    Answer set(channel_.read_line());
    if (set.find("cmd") != "set")
      return error(MPI_ERR_OTHER, "the launcher said '%s' instead of rank and size",
                   set.line().c_str());
    rank_ = set.number("rank").value_or(rank_);
    size_ = set.number("size").value_or(size_);
  }
  return {};
}

Status Pmi1::read_numbers() {
  Answer answer("");
  FGMPI_TRY(ask("cmd=get_maxes", "maxes", &answer));
  max_key_ = answer.number("keylen_max").value_or(0);
  max_value_ = answer.number("vallen_max").value_or(0);
  if (max_key_ < 8 || max_value_ < 64)
    return error(MPI_ERR_OTHER, "the launcher's limits are too small: '%s'", answer.line().c_str());
  --max_key_;  // the limits count a terminating zero
  --max_value_;
  FGMPI_TRY(ask("cmd=get_appnum", "appnum", &answer));
  appnum_ = answer.number("appnum").value_or(0);
  // One program of the launch may be two to the launcher (mpiexec -ranks): then it says which one
  // it is.
  if (const char* program = environment::text(environment::kAppNumber))
    appnum_ = static_cast<int>(parse_int(program).value_or(appnum_));
  FGMPI_TRY(ask("cmd=get_universe_size", "universe_size", &answer));
  universe_ = answer.number("size").value_or(-1);
  FGMPI_TRY(ask("cmd=get_my_kvsname", "my_kvsname", &answer));
  job_ = answer.find("kvsname").value_or("");
  if (job_.empty())
    return error(MPI_ERR_OTHER, "the launcher gave no name: '%s'", answer.line().c_str());
  return {};
}

Status Pmi1::start(const char* id) {
  FGMPI_TRY(identify(id));
  Answer answer("");
  FGMPI_TRY(ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", &answer));
  if (answer.number("rc") != 0)
    return error(MPI_ERR_OTHER, "the launcher does not speak PMI-1: '%s'", answer.line().c_str());
  if (size_ < 1 || rank_ >= size_)
    return error(MPI_ERR_OTHER, "the launcher says rank %d of %d processes", rank_, size_);
  const char* spawned = environment::text(environment::kPmiSpawned);
  spawned_ = spawned && std::strcmp(spawned, "0") != 0;
  return read_numbers();
}

std::vector<int> Pmi1::node_of() {
  std::string text;
  if (!get("PMI_process_mapping", &text).ok()) return {};
  return parse_process_mapping(text, size_);
}

Status Pmi1::put(const std::string& key, const std::string& value) {
  auto bad = [](unsigned char c) { return c <= ' ' || c > '~' || c == '=' || c == ';'; };
  if (key.empty() || key.size() > max_key_ || std::any_of(key.begin(), key.end(), bad))
    return error(MPI_ERR_OTHER,
                 "key '%s': allowed are 1 to %zu printable characters without space, '=' or ';'",
                 key.c_str(), max_key_);
  if (value.size() > max_value_ || std::any_of(value.begin(), value.end(), bad))
    return error(MPI_ERR_OTHER,
                 "value of '%s' (%zu bytes): allowed are at most %zu printable bytes without "
                 "space, '=' or ';'",
                 key.c_str(), value.size(), max_value_);
  Answer answer("");
  FGMPI_TRY(
      ask(format("cmd=put kvsname=%s key=%s value=%s", job_.c_str(), key.c_str(), value.c_str()),
          "put_result", &answer));
  if (answer.number("rc") == 0) return {};
  return error(MPI_ERR_OTHER, "the launcher refuses key '%s': '%s'", key.c_str(),
               answer.line().c_str());
}

Status Pmi1::fence() {
  FGMPI_TRY(enter_fence());
  bool over = false;
  while (!over) FGMPI_TRY(fence_is_over(INT64_MAX, &over));
  return {};
}

Status Pmi1::enter_fence() {
  channel_.write(std::string(kFence) + "\n");
  return {};
}

Status Pmi1::fence_is_over(int64_t wait_ns, bool* over) {
  *over = channel_.has_more(wait_ns);
  if (!*over) return {};
  Answer answer("");
  FGMPI_TRY(read_answer(kFence, "barrier_out", &answer));
  if (answer.number("rc").value_or(0) == 0) return {};
  return error(MPI_ERR_OTHER, "the launcher's barrier failed: '%s'", answer.line().c_str());
}

Status Pmi1::get(const std::string& key, std::string* value) {
  Answer answer("");
  FGMPI_TRY(
      ask(format("cmd=get kvsname=%s key=%s", job_.c_str(), key.c_str()), "get_result", &answer));
  auto found = answer.find("value");
  if (answer.number("rc") != 0 || !found)
    return error(MPI_ERR_OTHER, "no process has put the key '%s'", key.c_str());
  *value = std::move(*found);
  return {};
}

Status Pmi1::finalize() {
  if (finalized_) return {};
  finalized_ = true;
  expect_end_of_launcher();
  Answer answer("");
  return ask("cmd=finalize", "finalize_ack", &answer);
}

/// The launcher drops what it has not read from our output when it ends the job: give it up to a
/// fifth of a second to read the pipe empty. Other ranks do not run meanwhile: the job ends.
void let_launcher_read(int output) {
  int unread = 0;
  for (int tries = 0; tries < 200 && ioctl(output, FIONREAD, &unread) == 0 && unread > 0; ++tries)
    stand_still(1'000'000);
}

void Pmi1::abort(int exit_code, const std::string&) {
  std::fflush(nullptr);
  let_launcher_read(STDOUT_FILENO);
  let_launcher_read(STDERR_FILENO);
  channel_.write(format("cmd=abort exitcode=%d\n", exit_code));
  // The launcher ends every process of the job, this one too, with this code as the job's; it
  // should not see us go first. Five seconds are its chance.
  stand_still(5'000'000'000);
  end_process(exit_code);
}

/// A connected socket to "host:port".
Status connect_to(const char* address, int* fd) {
  std::string host(address);
  size_t colon = host.rfind(':');
  if (colon == host.npos) return error(MPI_ERR_OTHER, "PMI_PORT=%s: allowed is host:port", address);
  std::string port = host.substr(colon + 1);
  host.resize(colon);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
    return error(MPI_ERR_OTHER, "PMI_PORT=%s: %s", address, gai_strerror(code));
  *fd = -1;
  for (addrinfo* a = found; a && *fd < 0; a = a->ai_next) {
    *fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (*fd >= 0 && connect(*fd, a->ai_addr, a->ai_addrlen) != 0) {
      close(*fd);
      *fd = -1;
    }
  }
  freeaddrinfo(found);
  if (*fd < 0) return error(MPI_ERR_OTHER, "PMI_PORT=%s: %s", address, std::strerror(errno));
  return {};
}

}  // namespace

bool pmi1_offered() {
  return environment::text(environment::kPmiFd) || environment::text(environment::kPmiPort);
}

Status open_pmi1(std::unique_ptr<Bootstrap>* out) {
  int fd = -1;
  const char* id = nullptr;
  if (environment::text(environment::kPmiFd)) {
    FGMPI_TRY(environment_number(environment::kPmiFd, &fd));
    if (fcntl(fd, F_GETFD) < 0)
      return error(MPI_ERR_OTHER,
                   "PMI_FD=%d: not an open file descriptor (unset PMI_FD to run without launcher)",
                   fd);
  } else {
    id = environment::text(environment::kPmiId);
    if (!id)
      return error(MPI_ERR_OTHER,
                   "PMI_PORT is set, but PMI_ID is not: both come from the launcher");
    FGMPI_TRY(connect_to(environment::text(environment::kPmiPort), &fd));
  }
  auto client = std::make_unique<Pmi1>(fd);
  FGMPI_TRY(client->start(id));
  *out = std::move(client);
  return {};
}

}  // namespace fgmpi::bootstrap
