// The PMIx client: loads libpmix and answers Bootstrap's calls by its functions.

#include "bootstrap/pmix.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pmix.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/assert.h"
#include "base/clock.h"
#include "base/deep_bound.h"
#include "base/environment.h"
#include "base/stand_still.h"
#include "base/strings.h"
#include "bootstrap/line_channel.h"
#include "bootstrap/pmi_common.h"

namespace fgmpi::bootstrap {

namespace {

constexpr const char* kLibrary = "libpmix.so.2";
constexpr size_t kMostPmixKey = 63, kMostPmixValue = 4095;

/// The functions of the library.
struct Functions {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Abort) abort;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence_nb) fence_nb;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Error_string) error_string;
  decltype(&PMIx_Register_event_handler) register_event_handler;

  Status load();
};

Status Functions::load() {
  // PMIx must use the C library's own functions, not those that this library puts in front of
  // them for ranks.
  void* library = open_deep_bound(kLibrary);
  if (!library)
    return error(MPI_ERR_OTHER,
                 "the launcher offers PMIx, but %s cannot be loaded: %s; install libpmix2, or use "
                 "another way to start (srun --mpi=pmi2, or mpiexec)",
                 kLibrary, dlerror());
  auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)> >(dlsym(library, name));
    return *function != nullptr;
  };
  if (find("PMIx_Init", &init) && find("PMIx_Finalize", &finalize) && find("PMIx_Abort", &abort) &&
      find("PMIx_Put", &put) && find("PMIx_Commit", &commit) && find("PMIx_Fence_nb", &fence_nb) &&
      find("PMIx_Get", &get) && find("PMIx_Error_string", &error_string) &&
      find("PMIx_Register_event_handler", &register_event_handler))
    return {};
  return error(MPI_ERR_OTHER, "%s lacks a function: %s", kLibrary, dlerror());
}

/// Written by the library's thread, which may outlive the client: the object is never destroyed.
struct Shared {
  int fence_done = -1;               ///< eventfd
  std::atomic<int> fence_status{0};  ///< of the last fence
  std::atomic<int> alive{-1};        ///< write end of the pipe that closes with the launcher
};
constinit Shared g_shared;

void close_lifeline() {
  const int fd = g_shared.alive.exchange(-1);
  if (fd >= 0) close(fd);
}

void fence_is_done(pmix_status_t status, void*) {
  g_shared.fence_status = status;
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(g_shared.fence_done, &one, sizeof one);
}

void connection_is_lost(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t,
                        pmix_info_t[], size_t, pmix_event_notification_cbfunc_fn_t answer,
                        void* argument) {
  close_lifeline();
  if (answer) answer(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, argument);
}

class Pmix : public Bootstrap {
 public:
  Status start();

  const char* name() const override { return "pmix"; }
  int launcher_fd() const override { return lifeline_; }
  std::vector<int> node_of() override;
  Status put(const std::string& key, const std::string& value) override;
  Status enter_fence() override;
  Status fence_is_over(int64_t wait_ns, bool* over) override;
  Status get(const std::string& key, std::string* value, int from) override;
  size_t max_value() const override { return kMostPmixValue; }
  Status finalize() override;
  [[noreturn]] void abort(int exit_code, const std::string& message) override;

 private:
  Status failed(const char* call, pmix_status_t status) const {
    return error(MPI_ERR_OTHER, "%s of the launcher failed: %s", call,
                 functions_.error_string(status));
  }
  Status make_lifeline();
  bool get_from(pmix_rank_t rank, const std::string& key, std::string* value);
  /// Asks the launcher for a number about a process, or about the job (PMIX_RANK_WILDCARD).
  bool number(pmix_rank_t rank, const char* key, int64_t* value) const;

  Functions functions_{};
  pmix_proc_t self_{};
  int lifeline_ = -1;
  bool finalized_ = false;
};

int64_t integer_of(const pmix_value_t& value, bool* is_integer) {
  *is_integer = true;
  switch (value.type) {
    case PMIX_BOOL:
      return value.data.flag;
    case PMIX_INT:
      return value.data.integer;
    case PMIX_INT32:
      return value.data.int32;
    case PMIX_UINT32:
      return value.data.uint32;
    case PMIX_UINT16:
      return value.data.uint16;
    case PMIX_UINT64:
      return static_cast<int64_t>(value.data.uint64);
    case PMIX_SIZE:
      return static_cast<int64_t>(value.data.size);
    case PMIX_UINT:
      return value.data.uint;
    case PMIX_PROC_RANK:
      return value.data.rank;
    default:
      *is_integer = false;
      return 0;
  }
}

/// Makes an option that is switched on.
pmix_info_t option(const char* key) {
  pmix_info_t info{};
  std::snprintf(info.key, sizeof info.key, "%s", key);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

bool Pmix::number(pmix_rank_t rank, const char* key, int64_t* value) const {
  pmix_proc_t of = self_;
  of.rank = rank;
  pmix_info_t only_here = option(PMIX_OPTIONAL);
  pmix_value_t* found = nullptr;
  if (functions_.get(&of, key, &only_here, 1, &found) != PMIX_SUCCESS || !found) return false;
  bool is_integer;
  *value = integer_of(*found, &is_integer);
  if (found->type == PMIX_STRING) free(found->data.string);
  free(found);
  return is_integer;
}

Status Pmix::make_lifeline() {
  int ends[2];
  g_shared.fence_done = eventfd(0, EFD_CLOEXEC);
  if (g_shared.fence_done < 0 || pipe2(ends, O_CLOEXEC) != 0)
    return error(MPI_ERR_OTHER, "no descriptor for the launcher: %s", std::strerror(errno));
  lifeline_ = ends[0];
  g_shared.alive = ends[1];
  pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
  functions_.register_event_handler(&code, 1, nullptr, 0, connection_is_lost, nullptr, nullptr);
  return {};
}

Status Pmix::start() {
  FGMPI_TRY(functions_.load());
  if (pmix_status_t status = functions_.init(&self_, nullptr, 0); status != PMIX_SUCCESS)
    return failed("PMIx_Init", status);
  FGMPI_TRY(make_lifeline());
  int64_t value = 0;
  rank_ = static_cast<int>(self_.rank);
  if (number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &value)) size_ = static_cast<int>(value);
  if (size_ < 1 || self_.rank >= static_cast<uint32_t>(size_))
    return error(MPI_ERR_OTHER, "the launcher says rank %u of %d processes", self_.rank, size_);
  if (number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, &value)) universe_ = static_cast<int>(value);
  if (number(self_.rank, PMIX_APPNUM, &value)) appnum_ = static_cast<int>(value);
  if (number(PMIX_RANK_WILDCARD, PMIX_SPAWNED, &value)) spawned_ = value != 0;
  job_ = "pmix_" + std::string(self_.nspace);
  for (char& c : job_)
    if (!isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '_';
  return {};
}

std::vector<int> Pmix::node_of() {
  std::vector<int> nodes;
  for (int p = 0; p < size_; ++p) {
    int64_t node = 0;
    if (!number(static_cast<pmix_rank_t>(p), PMIX_NODEID, &node)) return {};
    nodes.push_back(static_cast<int>(node));
  }
  return nodes;
}

Status Pmix::put(const std::string& key, const std::string& value) {
  FGMPI_TRY(check_pair(key, kMostPmixKey, value, kMostPmixValue));
  pmix_value_t text{};
  text.type = PMIX_STRING;
  text.data.string = const_cast<char*>(value.c_str());
  pmix_status_t status = functions_.put(PMIX_GLOBAL, key.c_str(), &text);
  return status == PMIX_SUCCESS ? Status() : failed("PMIx_Put", status);
}

Status Pmix::enter_fence() {
  if (pmix_status_t status = functions_.commit(); status != PMIX_SUCCESS)
    return failed("PMIx_Commit", status);
  pmix_info_t collect = option(PMIX_COLLECT_DATA);
  pmix_status_t status = functions_.fence_nb(nullptr, 0, &collect, 1, fence_is_done, nullptr);
  if (status == PMIX_OPERATION_SUCCEEDED) fence_is_done(PMIX_SUCCESS, nullptr);
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED
             ? Status()
             : failed("PMIx_Fence", status);
}

Status Pmix::fence_is_over(int64_t wait_ns, bool* over) {
  pollfd waits[2] = {{g_shared.fence_done, POLLIN, 0}, {lifeline_, POLLIN, 0}};
  const timespec limit = to_timespec(wait_ns);
  *over = ppoll(waits, 2, &limit, nullptr) > 0 && (waits[0].revents & POLLIN);
  if (!*over && waits[1].revents)
    return error(MPI_ERR_OTHER, "the launcher is gone: its connection is lost");
  if (!*over) return {};
  uint64_t count;
  [[maybe_unused]] ssize_t n = read(g_shared.fence_done, &count, sizeof count);
  const int status = g_shared.fence_status;
  return status == PMIX_SUCCESS ? Status() : failed("PMIx_Fence", status);
}

Status Pmix::get(const std::string& key, std::string* value, int from) {
  // PMIX_RANK_UNDEF, which searches for the process, is not used: it does not find what some
  // processes of the same host have put.
  const int first = from == kAnyProcess ? 0 : from, last = from == kAnyProcess ? size_ - 1 : from;
  for (int p = first; p <= last; ++p)
    if (get_from(static_cast<pmix_rank_t>(p), key, value)) return {};
  return error(MPI_ERR_OTHER, "no process has put the key '%s'", key.c_str());
}

bool Pmix::get_from(pmix_rank_t rank, const std::string& key, std::string* value) {
  pmix_proc_t process = self_;
  process.rank = rank;
  pmix_info_t at_once = option(PMIX_IMMEDIATE);
  pmix_value_t* found = nullptr;
  pmix_status_t status = functions_.get(&process, key.c_str(), &at_once, 1, &found);
  const bool text = status == PMIX_SUCCESS && found && found->type == PMIX_STRING;
  if (text) {
    *value = found->data.string;
    free(found->data.string);
  }
  free(found);
  return text;
}

Status Pmix::finalize() {
  if (finalized_) return {};
  finalized_ = true;
  expect_end_of_launcher();
  pmix_status_t status = functions_.finalize(nullptr, 0);
  close_lifeline();
  return status == PMIX_SUCCESS ? Status() : failed("PMIx_Finalize", status);
}

void Pmix::abort(int exit_code, const std::string& message) {
  std::fflush(nullptr);
  let_launcher_read_output();
  expect_end_of_launcher();
  functions_.abort(exit_code, message.c_str(), nullptr, 0);
  // The launcher now ends every process of the job. It gets the exit code from the end of this
  // process, which comes when the others are gone or about to be.
  stand_still(1'000'000'000);
  end_process(exit_code);
}

}  // namespace

Status open_pmix(std::unique_ptr<Bootstrap>* out) {
  auto client = std::make_unique<Pmix>();
  FGMPI_TRY(client->start());
  *out = std::move(client);
  return {};
}

}  // namespace fgmpi::bootstrap
