// Writing records of findings into the process's file.

#include "check/findings/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/hash.h"
#include "base/host_name.h"
#include "base/strings.h"

namespace fgmpi::findings {
namespace {

std::string sites_of(const Participant& p) {
  std::string text = format("\x1f%llx", static_cast<unsigned long long>(p.site));
  for (uint64_t caller : p.callers)
    text += format(",%llx", static_cast<unsigned long long>(caller));
  return text + "\x1f";
}

std::string words_of(const std::vector<Participant>& calls) {
  std::string line;
  for (const Participant& p : calls)
    line += format("\t%lld\x1f", static_cast<long long>(p.rank)) + escaped(p.call) + "\x1f" +
            escaped(p.arguments) + sites_of(p) + escaped(p.role);
  return line + "\n";
}

}  // namespace

uint64_t key_of(const Finding& f) {
  uint64_t key = hash_text(f.sentence, static_cast<uint64_t>(f.kind));
  for (const Participant& p : f.calls) key = hash_text(p.call, mix(key, p.site));
  return key;
}

std::string_view parse_kinds(std::string_view text, uint32_t* mask) {
  *mask = 0;
  while (!text.empty()) {
    const std::string_view word = split_word(&text, ',');
    uint32_t found = word == "all" ? kAllKinds : 0;
    for (uint32_t i = 0; i < static_cast<uint32_t>(FindingKind::kCount); ++i)
      if (word == kKinds[i].name) found = 1u << i;
    if (!found) return word.empty() ? std::string_view("(nothing)") : word;
    *mask |= found;
  }
  return {};
}

Spool::~Spool() {
  if (file_ >= 0) close(file_);
}

std::string spool_path(const std::string& folder, pid_t pid) {
  return folder + "/" + kSpoolPrefix + host_name() + "-" + std::to_string(pid);
}

void Spool::write(const std::string& line) {
  if (write_) return (void)write_(file_, line.data(), line.size());
  if (folder_.empty()) return;
  if (file_ >= 0 && owner_ != getpid()) {  // a fork, which leaves a file of its own
    close(file_);
    file_ = -1;
  }
  if (file_ < 0) {
    owner_ = getpid();
    const std::string path = spool_path(folder_, owner_);
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) return;
  }
  (void)!::write(file_, line.data(), line.size());
}

uint64_t Spool::add_site(const Site& site) {
  const uint64_t number = hash_text(site.path, mix(site.offset)) | 1;
  std::lock_guard guard(lock_);
  if (sites_.insert(number).second)
    write(format("S %llx %llx ", static_cast<unsigned long long>(number),
                 static_cast<unsigned long long>(site.offset)) +
          escaped(site.path) + "\n");
  return number;
}

uint64_t Spool::add(const Finding& f) {
  const uint64_t key = key_of(f);
  std::lock_guard guard(lock_);
  auto [known, fresh] = ranks_.try_emplace(key);
  if (!known->second.insert(f.calls.at(0).rank).second) return key;
  const auto name = static_cast<unsigned long long>(key);
  if (!fresh) {
    write(format("R %llx %lld\n", name, static_cast<long long>(f.calls[0].rank)));
    return key;
  }
  write(format("%c %llx %u\t", f.note ? 'N' : 'F', name, static_cast<unsigned>(f.kind)) +
        escaped(f.sentence) + "\t" + escaped(f.allowed) + words_of(f.calls));
  return key;
}

void Spool::add_waiting(uint64_t key, const std::vector<Participant>& calls) {
  std::lock_guard guard(lock_);
  write(format("V %llx", static_cast<unsigned long long>(key)) + words_of(calls));
}

void Spool::add_steps(int64_t rank, const std::string& steps) {
  std::lock_guard guard(lock_);
  write(format("W %lld", static_cast<long long>(rank)) + steps + "\n");
}

void Spool::add_access(const std::string& access) {
  std::lock_guard guard(lock_);
  write("L " + access + "\n");
}

void Spool::add_rank(const std::string& given) {
  std::lock_guard guard(lock_);
  write("G " + given + "\n");
}

void Spool::add_cause(uint64_t cause) {
  std::lock_guard guard(lock_);
  write(format("C %llx\n", static_cast<unsigned long long>(cause)));
}

void Spool::add_consequence(uint64_t key, uint64_t cause) {
  std::lock_guard guard(lock_);
  write(format("D %llx %llx\n", static_cast<unsigned long long>(key),
               static_cast<unsigned long long>(cause)));
}

void Spool::withdraw(uint64_t key) {
  std::lock_guard guard(lock_);
  if (ranks_.erase(key)) write(format("X %llx\n", static_cast<unsigned long long>(key)));
}

}  // namespace fgmpi::findings
