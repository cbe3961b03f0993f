// The PMI-1 client: requests and answers, one line each.

#include "bootstrap/pmi1.h"

#include <mpi.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/assert.h"
#include "base/environment.h"
#include "base/stand_still.h"
#include "base/strings.h"
#include "bootstrap/line_channel.h"
#include "bootstrap/pmi_common.h"
#include "bootstrap/pmi_line.h"
#include "bootstrap/process_mapping.h"

namespace fgmpi::bootstrap {
namespace {

constexpr const char* kFence = "cmd=barrier_in";

/// The longest value. Hydra 4.2.1 promises 1023 bytes, but its proxy ends with a failed assertion
/// when an answer, of which the value is a part, has more than about 1020.
constexpr int kMostValue = 900;

class Pmi1 : public Bootstrap {
 public:
  explicit Pmi1(int fd) : channel_(fd) {}

  /// Opens the session. Rank and size come from the environment (PMI_FD: `id` is nullptr), or from
  /// the server (PMI_PORT), which identifies the calling process by `id`.
  Status start(const char* id);

  const char* name() const override { return "pmi1"; }
  int launcher_fd() const override { return channel_.fd(); }
  std::vector<int> node_of() override;
  Status put(const std::string& key, const std::string& value) override;
  Status enter_fence() override;
  Status fence_is_over(int64_t wait_ns, bool* over) override;
  Status get(const std::string& key, std::string* value, int from) override;
  void ask_ahead(const std::vector<std::string>& keys) override;
  size_t max_value() const override { return max_value_; }
  bool publish_name(const std::string& service, const std::string& port) override;
  bool unpublish_name(const std::string& service) override;
  bool lookup_name(const std::string& service, std::string* port) override;
  Status finalize() override;
  [[noreturn]] void abort(int exit_code, const std::string& message) override;

 private:
  /// Sends a request and reads the answer. An error if its command is not `expected`.
  Status ask(const std::string& request, std::string_view expected, PmiLine* answer);
  Status read_answer(const std::string& request, std::string_view expected, PmiLine* answer);
  Status identify(const char* id);
  Status read_numbers();
  std::string request_for(const std::string& key) const {
    return format("cmd=get kvsname=%s key=%s", job_.c_str(), key.c_str());
  }

  LineChannel channel_;
  size_t ahead_ = 0;  ///< answers to come for the next calls of get()
  bool finalized_ = false;
  size_t max_value_ = 0, max_key_ = 0;
};

Status Pmi1::ask(const std::string& request, std::string_view expected, PmiLine* answer) {
  for (; ahead_ > 0; --ahead_) channel_.read_line();  // a call of get() has failed before
  channel_.write(request + "\n");
  return read_answer(request, expected, answer);
}

Status Pmi1::read_answer(const std::string& request, std::string_view expected, PmiLine* answer) {
  do {
    *answer = PmiLine(channel_.read_line());
    // Over TCP the server's settings follow the greeting; none of them is needed here.
  } while (answer->command() == "set");
  if (answer->command() == expected) return {};
  return error(MPI_ERR_OTHER, "the launcher answered '%s' to '%s'", answer->text().c_str(),
               request.c_str());
}

Status Pmi1::identify(const char* id) {
  if (!id) {
    FGMPI_TRY(environment_number(environment::kPmiRank, &rank_));
    return environment_number(environment::kPmiSize, &size_);
  }
  PmiLine answer;
  FGMPI_TRY(ask(format("cmd=initack pmiid=%s", id), "initack", &answer));
  while (rank_ < 0 || size_ < 0) {
    PmiLine set(channel_.read_line());
    if (set.command() != "set")
      return error(MPI_ERR_OTHER, "the launcher said '%s' instead of rank and size",
                   set.text().c_str());
    rank_ = set.number("rank").value_or(rank_);
    size_ = set.number("size").value_or(size_);
  }
  return {};
}

Status Pmi1::read_numbers() {
  PmiLine answer;
  constexpr const char* kRequests[] = {"cmd=get_maxes", "cmd=get_appnum", "cmd=get_universe_size",
                                       "cmd=get_my_kvsname"};
  // All are sent at once: the launcher and this process need not wake each other for each.
  std::string all;
  for (const char* request : kRequests) all += std::string(request) + "\n";
  channel_.write(all);
  FGMPI_TRY(read_answer(kRequests[0], "maxes", &answer));
  const int key_limit = answer.number("keylen_max").value_or(0);
  const int value_limit = answer.number("vallen_max").value_or(0);
  if (key_limit < 8 || value_limit < 64)
    return error(MPI_ERR_OTHER, "the launcher's limits are too small: '%s'", answer.text().c_str());
  max_key_ = static_cast<size_t>(key_limit - 1);  // the limits count a terminating zero
  max_value_ = static_cast<size_t>(std::min(value_limit - 1, kMostValue));
  FGMPI_TRY(read_answer(kRequests[1], "appnum", &answer));
  appnum_ = answer.number("appnum").value_or(0);
  // mpiexec -ranks starts one program of the command line as two programs of the launcher. It then
  // sets this variable to the program's number on the command line.
  if (const char* program = environment::text(environment::kAppNumber))
    appnum_ = static_cast<int>(parse_int(program).value_or(appnum_));
  FGMPI_TRY(read_answer(kRequests[2], "universe_size", &answer));
  universe_ = answer.number("size").value_or(-1);
  FGMPI_TRY(read_answer(kRequests[3], "my_kvsname", &answer));
  job_ = answer.find("kvsname").value_or("");
  if (job_.empty())
    return error(MPI_ERR_OTHER, "the launcher gave no name: '%s'", answer.text().c_str());
  return {};
}

Status Pmi1::start(const char* id) {
  FGMPI_TRY(identify(id));
  PmiLine answer;
  FGMPI_TRY(ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", &answer));
  if (answer.number("rc") != 0)
    return error(MPI_ERR_OTHER, "the launcher does not speak PMI-1: '%s'", answer.text().c_str());
  if (size_ < 1 || rank_ >= size_)
    return error(MPI_ERR_OTHER, "the launcher says rank %d of %d processes", rank_, size_);
  const char* spawned = environment::text(environment::kPmiSpawned);
  spawned_ = spawned && std::strcmp(spawned, "0") != 0;
  return read_numbers();
}

std::vector<int> Pmi1::node_of() {
  std::string text;
  if (!get("PMI_process_mapping", &text, kAnyProcess).ok()) return {};
  return parse_process_mapping(text, size_);
}

Status Pmi1::put(const std::string& key, const std::string& value) {
  FGMPI_TRY(check_pair(key, max_key_, value, max_value_));
  PmiLine answer;
  FGMPI_TRY(
      ask(format("cmd=put kvsname=%s key=%s value=%s", job_.c_str(), key.c_str(), value.c_str()),
          "put_result", &answer));
  if (answer.number("rc") == 0) return {};
  return error(MPI_ERR_OTHER, "the launcher refuses key '%s': '%s'", key.c_str(),
               answer.text().c_str());
}

bool Pmi1::publish_name(const std::string& service, const std::string& port) {
  PmiLine answer;
  return ask(format("cmd=publish_name service=%s port=%s", service.c_str(), port.c_str()),
             "publish_result", &answer)
             .ok() &&
         answer.number("rc") == 0;
}

bool Pmi1::unpublish_name(const std::string& service) {
  PmiLine answer;
  return ask(format("cmd=unpublish_name service=%s", service.c_str()), "unpublish_result", &answer)
             .ok() &&
         answer.number("rc") == 0;
}

bool Pmi1::lookup_name(const std::string& service, std::string* port) {
  PmiLine answer;
  if (!ask(format("cmd=lookup_name service=%s", service.c_str()), "lookup_result", &answer).ok() ||
      answer.number("rc") != 0)
    return false;
  *port = answer.find("port").value_or("");
  return !port->empty();
}

Status Pmi1::enter_fence() {
  channel_.write(std::string(kFence) + "\n");
  return {};
}

Status Pmi1::fence_is_over(int64_t wait_ns, bool* over) {
  *over = channel_.has_more(wait_ns);
  if (!*over) return {};
  PmiLine answer;
  FGMPI_TRY(read_answer(kFence, "barrier_out", &answer));
  if (answer.number("rc").value_or(0) == 0) return {};
  return error(MPI_ERR_OTHER, "the launcher's barrier failed: '%s'", answer.text().c_str());
}

Status Pmi1::get(const std::string& key, std::string* value, int) {
  PmiLine answer;
  if (ahead_ > 0) {
    --ahead_;
    FGMPI_TRY(read_answer(request_for(key), "get_result", &answer));
  } else {
    FGMPI_TRY(ask(request_for(key), "get_result", &answer));
  }
  auto found = answer.find("value");
  if (answer.number("rc") != 0 || !found)
    return error(MPI_ERR_OTHER, "no process has put the key '%s'", key.c_str());
  *value = std::move(*found);
  return {};
}

void Pmi1::ask_ahead(const std::vector<std::string>& keys) {
  FGMPI_CHECK(ahead_ == 0 && keys.size() <= kMostAhead);
  std::string requests;
  for (const std::string& key : keys) requests += request_for(key) + "\n";
  channel_.write(requests);
  ahead_ = keys.size();
}

Status Pmi1::finalize() {
  if (finalized_) return {};
  finalized_ = true;
  expect_end_of_launcher();
  PmiLine answer;
  return ask("cmd=finalize", "finalize_ack", &answer);
}

void Pmi1::abort(int exit_code, const std::string&) {
  std::fflush(nullptr);
  let_launcher_read_output();
  channel_.write(format("cmd=abort exitcode=%d\n", exit_code));
  // The launcher now ends every process of the job, this one too, and returns this exit code. A
  // process that ended itself before would be reported as a failure of its own. A launcher that
  // does not react within 5 s is gone.
  stand_still(5'000'000'000);
  end_process(exit_code);
}

/// Opens a connected socket to "host:port".
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
    FGMPI_TRY(inherited_connection(&fd));
  } else {
    id = environment::text(environment::kPmiId);
    if (!id)
      return error(MPI_ERR_OTHER,
                   "PMI_PORT is set, but PMI_ID is not: both come from the launcher");
    FGMPI_TRY(connect_to(environment::text(environment::kPmiPort), &fd));
  }
  return start_pmi1(fd, id, out);
}

Status start_pmi1(int fd, const char* id, std::unique_ptr<Bootstrap>* out) {
  auto client = std::make_unique<Pmi1>(fd);
  FGMPI_TRY(client->start(id));
  *out = std::move(client);
  return {};
}

}  // namespace fgmpi::bootstrap
