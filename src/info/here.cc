// The text of fgmpi-info -v: binding, host, transports.

#include "info/here.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/host_name.h"
#include "base/strings.h"
#include "bootstrap/bootstrap.h"
#include "transport/host_id.h"
#include "transport/machine.h"
#include "transport/registry.h"
#include "transport/shm/placement.h"

namespace fgmpi::tools {
namespace {

using Transports = std::vector<std::unique_ptr<transport::Transport>>;

std::string line(const char* name, const std::string& value) {
  return format("%-18s %s\n", name, value.c_str());
}

/// Formats ascending numbers as ranges: "0-3,7".
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (j > i) text += '-' + std::to_string(numbers[j]);
    i = j + 1;
  }
  return text;
}

/// Which objects of a kind share a processing unit with the binding, and how many there are: "0-1
/// of 4".
std::string objects(const char* kind, const transport::ProcessingUnits& binding) {
  const auto all = transport::objects_of_machine(kind);
  if (!all) return "none known";
  std::vector<int> touched;
  for (size_t k = 0; k < all->size(); ++k) {
    const transport::ProcessingUnits& units = (*all)[k];
    if (std::find_first_of(units.begin(), units.end(), binding.begin(), binding.end()) !=
        units.end())
      touched.push_back(static_cast<int>(k));
  }
  return format("%s of %zu", ranges(touched).c_str(), all->size());
}

std::string describe_binding() {
  const transport::ProcessingUnits binding = transport::own_processing_units(),
                                   &all = transport::all_processing_units();
  std::string text;
  if (binding.empty()) {
    text = line("binding", "unknown");
  } else {
    const bool free =
        !all.empty() && std::includes(binding.begin(), binding.end(), all.begin(), all.end());
    text = line("binding", format("processing units %s%s", ranges(binding).c_str(),
                                  free ? " (all: not bound)" : ""));
    text += line("cores", objects("Core", binding));
    text += line("L3 caches", objects("L3Cache", binding));
    text += line("NUMA nodes", objects("NUMANode", binding));
    text += line("packages", objects("Package", binding));
  }
  return text + line("memory of segment", format("from node %d", transport::shm::own_node()));
}

/// The sink that transports need. Its functions are never called, since no process sends anything.
struct IgnoringSink : transport::FrameSink {
  void deliver(const transport::Header&, const void*, size_t) override {}
  void returned(void*) override {}
  void peer_failed(uint32_t, const std::string&) override {}
};

/// Chooses transports as MPI_Init does, by the addresses of all processes.
Status describe_transports(bootstrap::Bootstrap* boot, Transports* transports, std::string* text) {
  static IgnoringSink sink;
  std::vector<bool> reached(boot->size(), false);
  reached[boot->rank()] = true;
  int left = boot->size() - 1;
  for (size_t t = 0; t < transports->size() && (left > 0 || t == 0); ++t) {
    transport::Transport& transport = *(*transports)[t];
    std::string address;
    FGMPI_TRY(transport.open({.frames = &sink}, &address));
    std::string key = format("fgmpi-info-%zu-", t);
    FGMPI_TRY(boot->put(key + std::to_string(boot->rank()), address));
    FGMPI_TRY(boot->fence());
    std::vector<int> now;
    for (int p = 0; p < boot->size(); ++p) {
      std::string theirs;
      if (p != boot->rank()) FGMPI_TRY(boot->get(key + std::to_string(p), &theirs));
      if (reached[p] || !transport.reaches(theirs)) continue;
      reached[p] = true;
      now.push_back(p);
      --left;
    }
    *text += line("transport",
                  format("%s: %s%s", transport::describe(transport, address).c_str(),
                         now.empty() ? "no other process" : "to processes ", ranges(now).c_str()));
    const transport::GrantedMemory* memory = transport.granted_memory();
    if (const std::string access = memory ? memory->describe_access() : "";
        !access.empty() && !now.empty())
      *text += line("", access);
  }
  if (left > 0) *text += line("transport", format("none to %d of the processes", left));
  return boot->fence();
}

}  // namespace

std::string describe_process(int* rank) {
  *rank = 0;
  std::unique_ptr<bootstrap::Bootstrap> boot;
  Status status = bootstrap::open(&boot);
  std::string text, name = transport::host_id();
  if (status.ok()) {
    *rank = boot->rank();
    text += line("process", format("%d of %d, process id %d, by %s", boot->rank(), boot->size(),
                                   getpid(), boot->name()));
  }
  text += line("host", format("%s, id %s", host_name().c_str(), name.c_str()));
  text += describe_binding();
  Transports transports;
  if (status.ok()) transports = transport::make_all();
  if (status.ok()) status = describe_transports(boot.get(), &transports, &text);
  for (auto& transport : transports) {
    transport->all_connected(static_cast<uint32_t>(*rank));
    transport->close();
  }
  if (status.ok()) status = boot->finalize();
  if (!status.ok()) text += line("problem", status.what());
  return text;
}

}  // namespace fgmpi::tools
