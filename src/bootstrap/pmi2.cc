// The PMI-2 client: requests and answers as messages, after the versions have been agreed on.

#include "bootstrap/pmi2.h"

#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>

#include "base/assert.h"
#include "base/environment.h"
#include "base/stand_still.h"
#include "base/strings.h"
#include "bootstrap/line_channel.h"
#include "bootstrap/pmi1.h"
#include "bootstrap/pmi2_message.h"
#include "bootstrap/pmi_common.h"
#include "bootstrap/pmi_line.h"
#include "bootstrap/process_mapping.h"

namespace fgmpi::bootstrap {
namespace {

/// The protocol's limits, without a terminating zero.
constexpr size_t kMaxKey = 63, kMaxValue = 1023;

class Pmi2 : public Bootstrap {
 public:
  Pmi2(int fd, int rank, std::string id) : channel_(fd), id_(std::move(id)) { rank_ = rank; }

  /// Agrees on the version. `*version` is 1 where the server has no other: then only
  /// PMI-1 may follow.
  Status agree(int* version);
  Status start();
  /// Hands the connection over to a PMI-1 session.
  int release() { return channel_.release(); }

  const char* name() const override { return "pmi2"; }
  int launcher_fd() const override { return channel_.fd(); }
  std::vector<int> node_of() override;
  Status put(const std::string& key, const std::string& value) override;
  Status enter_fence() override;
  Status fence_is_over(int64_t wait_ns, bool* over) override;
  Status get(const std::string& key, std::string* value, int from) override;
  size_t max_value() const override { return kMaxValue; }
  Status finalize() override;
  [[noreturn]] void abort(int exit_code, const std::string& message) override;

 private:
  /// Sends a request and reads its answer, "NAME-response". An error when the answer has another
  /// name or reports a failure.
  Status ask(const Pmi2Message& request, Pmi2Message* answer);
  Status read_answer(const Pmi2Message& request, Pmi2Message* answer);
  /// Asks the server for an attribute of the job; sets nothing when the job has none.
  Status attribute(const char* key, std::string* value);

  LineChannel channel_;
  bool finalized_ = false;
  /// The server's name of the job; job() has it in characters that any name may contain.
  std::string id_;
};

Status Pmi2::ask(const Pmi2Message& request, Pmi2Message* answer) {
  channel_.write(request.wire());
  return read_answer(request, answer);
}

Status Pmi2::read_answer(const Pmi2Message& request, Pmi2Message* answer) {
  const std::string digits = channel_.read_exactly(Pmi2Message::kLengthDigits);
  const auto length = Pmi2Message::length_of(digits);
  if (!length)
    return error(MPI_ERR_OTHER, "the launcher answered '%s' to '%s', which is no length",
                 digits.c_str(), request.text().c_str());
  const std::string text = channel_.read_exactly(*length);
  auto parsed = Pmi2Message::parse(text);
  if (!parsed || parsed->find("cmd") != *request.find("cmd") + "-response")
    return error(MPI_ERR_OTHER, "the launcher answered '%s' to '%s'", text.c_str(),
                 request.text().c_str());
  *answer = std::move(*parsed);
  if (answer->number("rc").value_or(-1) == 0) return {};
  return error(MPI_ERR_OTHER, "the launcher refuses '%s': '%s'", request.text().c_str(),
               text.c_str());
}

Status Pmi2::agree(int* version) {
  channel_.write("cmd=init pmi_version=2 pmi_subversion=0\n");
  const PmiLine answer(channel_.read_line());
  *version = answer.number("pmi_version").value_or(0);
  const bool usable = answer.command() == "response_to_init" && (*version == 1 || *version == 2) &&
                      (*version == 1 || answer.number("rc").value_or(0) == 0);
  if (usable) return {};
  return error(MPI_ERR_OTHER, "the launcher speaks neither PMI-2 nor PMI-1: '%s'",
               answer.text().c_str());
}

Status Pmi2::start() {
  Pmi2Message answer;
  FGMPI_TRY(ask(Pmi2Message("fullinit")
                    .add("pmijobid", id_)
                    .add("pmirank", std::to_string(rank_))
                    .add("threaded", "FALSE"),
                &answer));
  rank_ = answer.number("rank").value_or(-1);
  size_ = answer.number("size").value_or(-1);
  if (size_ < 1 || rank_ < 0 || rank_ >= size_)
    return error(MPI_ERR_OTHER, "the launcher says rank %d of %d processes", rank_, size_);
  appnum_ = std::max(answer.number("appnum").value_or(0), 0);
  spawned_ = answer.find("spawner-jobid").has_value();
  if (const char* program = environment::text(environment::kAppNumber))
    appnum_ = static_cast<int>(parse_int(program).value_or(appnum_));
  std::string universe;
  if (attribute("universeSize", &universe).ok())
    universe_ = static_cast<int>(parse_int(universe).value_or(-1));
  job_ = "pmi2_" + id_;
  for (char& c : job_)
    if (!isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '_';
  return {};
}

Status Pmi2::attribute(const char* key, std::string* value) {
  Pmi2Message answer;
  FGMPI_TRY(ask(Pmi2Message("info-getjobattr").add("key", key), &answer));
  auto found = answer.find("value");
  if (answer.find("found") != "TRUE" || !found)
    return error(MPI_ERR_OTHER, "the launcher does not know '%s'", key);
  *value = std::move(*found);
  return {};
}

std::vector<int> Pmi2::node_of() {
  std::string text;
  if (!attribute("PMI_process_mapping", &text).ok()) return {};
  return parse_process_mapping(text, size_);
}

Status Pmi2::put(const std::string& key, const std::string& value) {
  FGMPI_TRY(check_pair(key, kMaxKey, value, kMaxValue));
  Pmi2Message answer;
  return ask(Pmi2Message("kvs-put").add("key", key).add("value", value), &answer);
}

Status Pmi2::enter_fence() {
  channel_.write(Pmi2Message("kvs-fence").wire());
  return {};
}

Status Pmi2::fence_is_over(int64_t wait_ns, bool* over) {
  *over = channel_.has_more(wait_ns);
  if (!*over) return {};
  Pmi2Message answer;
  return read_answer(Pmi2Message("kvs-fence"), &answer);
}

Status Pmi2::get(const std::string& key, std::string* value, int) {
  Pmi2Message answer;
  const Status asked =
      ask(Pmi2Message("kvs-get").add("jobid", id_).add("srcid", "-1").add("key", key), &answer);
  auto found = answer.find("value");
  if (!asked.ok() || answer.find("found") != "TRUE" || !found)
    return error(MPI_ERR_OTHER, "no process has put the key '%s'", key.c_str());
  *value = std::move(*found);
  return {};
}

Status Pmi2::finalize() {
  if (finalized_) return {};
  finalized_ = true;
  expect_end_of_launcher();
  Pmi2Message answer;
  return ask(Pmi2Message("finalize"), &answer);
}

void Pmi2::abort(int exit_code, const std::string& message) {
  std::fflush(nullptr);
  let_launcher_read_output();
  expect_end_of_launcher();
  channel_.write(Pmi2Message("abort").add("isworld", "TRUE").add("msg", message).wire());
  // The launcher now ends every process of the job. It gets the exit code from the end of this
  // process, which comes when the others are gone or about to be.
  stand_still(1'000'000'000);
  end_process(exit_code);
}

}  // namespace

bool pmi2_offered() {
  return environment::text(environment::kPmiFd) && environment::text(environment::kPmiJob);
}

Status open_pmi2(std::unique_ptr<Bootstrap>* out) {
  int fd = -1, rank = -1;
  FGMPI_TRY(inherited_connection(&fd));
  FGMPI_TRY(environment_number(environment::kPmiRank, &rank));
  return start_pmi2(fd, rank, environment::text(environment::kPmiJob), out);
}

Status start_pmi2(int fd, int rank, const char* job, std::unique_ptr<Bootstrap>* out) {
  auto client = std::make_unique<Pmi2>(fd, rank, job);
  int version = 0;
  FGMPI_TRY(client->agree(&version));
  if (version == 1) return start_pmi1(client->release(), nullptr, out);
  FGMPI_TRY(client->start());
  *out = std::move(client);
  return {};
}

}  // namespace fgmpi::bootstrap
