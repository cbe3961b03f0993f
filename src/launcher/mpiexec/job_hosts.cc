// Hosts of command lines, files and resource managers; which are left.
#include "launcher/mpiexec/job_hosts.h"

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "base/environment.h"
#include "base/strings.h"
#include "launcher/hydra/hydra_guard.h"
#include "launcher/mpiexec/host_names.h"
#include "launcher/mpiexec/hydra_options.h"

namespace fgmpi::launcher {
namespace {

bool is_among(std::string_view name, const auto& list) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// Options whose value is a file of hosts.
constexpr std::string_view kHostFiles[] = {"f", "hostfile", "machinefile"};
/// The name of the file of the hosts that are left, in the folder of checkpoints.
constexpr const char* kHostsLeft = "hosts-left";
/// So many hosts are named in a message.
constexpr size_t kMostHostsNamed = 16;
constexpr const char *kSlurmNodes = "SLURM_NODELIST", *kSlurmTasks = "SLURM_TASKS_PER_NODE";

/// An option of a command line: its name without dashes, its value where it has one, and how many
/// words it has.
struct HydraOption {
  std::string_view name, value;
  size_t words = 1;
};
HydraOption option_at(const Words& options, size_t i) {
  HydraOption o;
  if (!options[i].starts_with('-')) return o;
  o.name = options[i];
  o.name.remove_prefix(std::min(o.name.find_first_not_of('-'), o.name.size()));
  const size_t equals = o.name.find('=');
  const bool has_value = equals != o.name.npos;
  if (has_value) o.value = o.name.substr(equals + 1);
  o.name = o.name.substr(0, equals);
  const bool two = is_among(o.name, kTwoWords), one = is_among(o.name, kOneWord);
  if (has_value || (!one && !two) || i + 1 == options.size()) return o;
  o.value = options[i + 1];
  o.words = two && o.value.find('=') == o.value.npos ? 3 : 2;
  return o;
}

}  // namespace

std::vector<LostHost> read_lost_hosts(const std::string& file) {
  std::vector<LostHost> lost;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::string_view rest = line;
    const bool by_process = rest.starts_with(kLostProcess);
    if (by_process) rest.remove_prefix(std::strlen(kLostProcess));
    if (const auto process = by_process ? parse_int(rest) : std::nullopt)
      lost.push_back({-1, "", *process});
    else if (const auto proxy = parse_int(split_word(&rest, ' ')))
      lost.push_back({*proxy, std::string(rest)});
  }
  return lost;
}

/// `text`: "name", "name:slots", and behind it, in a file, words that bind it.
void JobHosts::add(const std::string& text) {
  const std::string word = text.substr(0, text.find_first_of(" \t"));
  const size_t colon = std::min(word.find(':'), word.size());
  const auto slots = parse_int(std::string_view(word).substr(std::min(colon + 1, word.size())));
  hosts_.push_back({word.substr(0, colon), slots && *slots > 0 ? *slots : 1, text});
}

Status JobHosts::add_from_file(const std::string& path) {
  std::ifstream lines(path);
  if (!lines) return error(MPI_ERR_ARG, "hosts of %s: %s", path.c_str(), std::strerror(errno));
  by_file_ = true;
  for (std::string line; std::getline(lines, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    const size_t begin = line.find_first_not_of(" \t");
    if (begin != line.npos) add(line.substr(begin));
  }
  return {};
}

Status JobHosts::add_from_option(std::string_view name, const std::string& value) {
  if (is_among(name, kHostFiles)) return add_from_file(value);
  for (std::string_view rest = value; !rest.empty();) add(std::string(split_word(&rest, ',')));
  return {};
}

Status JobHosts::add_from_slurm(const std::string& names, const std::string& tasks) {
  Words expanded;
  FGMPI_TRY(expand_host_names(names, &expanded));
  const auto counts = parse_slurm_counts(tasks);
  if (!counts || counts->size() != expanded.size())
    return error(MPI_ERR_ARG, "%s=%s: is no list of numbers for %s", kSlurmTasks, tasks.c_str(),
                 names.c_str());
  for (size_t i = 0; i < expanded.size(); ++i)
    add(expanded[i] + ":" + std::to_string((*counts)[i]));
  return {};
}

Status JobHosts::add_from_environment() {
  using environment::text;
  if (const char* file = text(environment::kHydraHostFile)) return add_from_file(file);
  const char *nodes = text(kSlurmNodes), *tasks = text(kSlurmTasks);
  if (text(environment::kSlurmJob) && nodes && tasks) return add_from_slurm(nodes, tasks);
  if (const char* file = text(environment::kPbsNodes)) return add_from_file(file);
  if (const char* list = text(environment::kLsfHosts)) {
    std::istringstream words(list);
    for (std::string word; words >> word;) add(word);
    return {};
  }
  if (const char* file = text(environment::kGridEngineHosts)) {
    std::ifstream lines(file);
    for (std::string line, name, slots; std::getline(lines, line);) {
      std::istringstream words(line);
      if (words >> name >> slots) add(name + ":" + slots);
    }
  }
  return {};
}

Status JobHosts::find(const Words& options, JobHosts* hosts) {
  int64_t each = 0;
  for (size_t i = 0; i < options.size();) {
    const HydraOption o = option_at(options, i);
    if (is_among(o.name, kNamesHosts))
      FGMPI_TRY(hosts->add_from_option(o.name, std::string(o.value)));
    if (o.name == "ppn") each = parse_int(o.value).value_or(0);
    i += o.words;
  }
  if (hosts->empty()) FGMPI_TRY(hosts->add_from_environment());
  if (each > 0)
    for (NamedHost& host : hosts->hosts_) host.slots = each;
  hosts->slots_before_ = hosts->slots();
  return {};
}

int64_t JobHosts::slots() const {
  int64_t sum = 0;
  for (const NamedHost& host : hosts_) sum += host.slots;
  return sum;
}

std::string JobHosts::name_of(const LostHost& lost) const {
  for (const NamedHost& host : hosts_)
    if (host.name == lost.name) return host.name;
  if (lost.process >= 0 && !hosts_.empty()) {
    int64_t left = lost.process % slots();
    const auto has = [&](const NamedHost& host) { return (left -= host.slots) < 0; };
    return std::find_if(hosts_.begin(), hosts_.end(), has)->name;
  }
  // Lines of one host that follow each other have one proxy.
  int64_t number = -1;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    number += i == 0 || hosts_[i].name != hosts_[i - 1].name;
    if (number == lost.proxy) return hosts_[i].name;
  }
  return {};
}

std::string JobHosts::names() const {
  std::string text;
  for (const NamedHost& host : hosts_) text += (text.empty() ? "" : ", ") + host.name;
  return text;
}

Words JobHosts::leave_out(const std::vector<LostHost>& lost) {
  Words names;
  for (const LostHost& each : lost) {
    const std::string name = name_of(each);
    if (!name.empty() && !is_among(name, names)) names.push_back(name);
  }
  std::erase_if(hosts_, [&](const NamedHost& host) { return is_among(host.name, names); });
  return names;
}

int64_t JobHosts::processes_left(int64_t before) const {
  const int64_t left = slots();
  if (before <= slots_before_) return std::max<int64_t>(std::min(before, left), 1);
  return std::max<int64_t>(before * left / slots_before_, 1);
}

std::string JobHosts::describe(int64_t processes) const {
  // Hydra fills the slots of all hosts, and begins again.
  std::vector<std::pair<std::string, int64_t>> shares;
  const int64_t rounds = processes / slots();
  int64_t rest = processes % slots();
  for (const NamedHost& host : hosts_) {
    const int64_t more = std::min(rest, host.slots), share = rounds * host.slots + more;
    rest -= more;
    const auto same = std::find_if(shares.begin(), shares.end(),
                                   [&](const auto& each) { return each.first == host.name; });
    if (same != shares.end())
      same->second += share;
    else if (share > 0)
      shares.emplace_back(host.name, share);
  }
  std::string text;
  for (size_t i = 0; i < std::min(shares.size(), kMostHostsNamed); ++i)
    text += (i ? ", " : "") + std::to_string(shares[i].second) + " on " + shares[i].first;
  if (shares.size() > kMostHostsNamed)
    text += ", the others on " + std::to_string(shares.size() - kMostHostsNamed) + " more hosts";
  return text;
}

Status JobHosts::rewrite(const std::string& folder, Words* options) const {
  Words kept;
  for (size_t i = 0; i < options->size();) {
    const HydraOption o = option_at(*options, i);
    if (!is_among(o.name, kNamesHosts))
      kept.insert(
          kept.end(), options->begin() + static_cast<ptrdiff_t>(i),
          options->begin() + static_cast<ptrdiff_t>(std::min(i + o.words, options->size())));
    i += o.words;
  }
  *options = std::move(kept);
  std::string list;
  for (const NamedHost& host : hosts_) list += host.text + (by_file_ ? '\n' : ',');
  if (!by_file_) {
    list.pop_back();
    options->insert(options->end(), {"-hosts", list});
    return {};
  }
  const std::string path = folder + "/" + kHostsLeft;
  std::ofstream file(path);
  if (!(file << list).flush())
    return error(MPI_ERR_IO, "%s: %s", path.c_str(), std::strerror(errno));
  options->insert(options->end(), {"-f", path});
  return {};
}

}  // namespace fgmpi::launcher
