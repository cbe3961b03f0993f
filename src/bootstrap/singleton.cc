// Bootstrap of a program started without a launcher: a job of one process, whose put and get are a table of its own.

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <map>

#include "base/assert.h"
#include "base/strings.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/pmi1.h"

namespace fgmpi::bootstrap {
namespace {

class Singleton : public Bootstrap {
 public:
  Singleton() : job_(format("singleton_%d_%lx", getpid(), static_cast<long>(std::time(nullptr)))) {}
  const char* name() const override { return "singleton"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int appnum() const override { return 0; }
  int universe_size() const override { return -1; }
  const std::string& job() const override { return job_; }
  bool spawned() const override { return false; }
  std::vector<int> node_of() override { return {0}; }
  Status put(const std::string& key, const std::string& value) override {
    pending_[key] = value;
    return {};
  }
  Status fence() override {
    for (auto& [key, value] : pending_) values_[key] = std::move(value);
    pending_.clear();
    return {};
  }
  Status enter_fence() override { return fence(); }
  Status fence_is_over(int64_t, bool* over) override {
    *over = true;
    return {};
  }
  Status get(const std::string& key, std::string* value) override {
    auto found = values_.find(key);
    if (found == values_.end())
      return error(MPI_ERR_OTHER, "no process has put the key '%s'", key.c_str());
    *value = found->second;
    return {};
  }
  size_t max_value() const override { return 1023; }
  Status finalize() override { return {}; }
  [[noreturn]] void abort(int exit_code, const std::string&) override {
    std::fflush(nullptr);
    end_process(exit_code);
  }

 private:
  std::string job_;
  std::map<std::string, std::string> pending_, values_;
};

}  // namespace

Status open(std::unique_ptr<Bootstrap>* out) {
  if (pmi1_offered()) return open_pmi1(out);
  *out = std::make_unique<Singleton>();
  return {};
}

}  // namespace fgmpi::bootstrap
