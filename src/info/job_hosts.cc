// The other hosts of a job, asked through the launcher's way of starting processes there.

#include "info/job_hosts.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/clock.h"
#include "base/modules.h"
#include "base/strings.h"

namespace fgmpi::tools {
namespace {

constexpr const char* kProxy = "hydra_pmi_proxy";
constexpr int64_t kAnswersWithin = 10 * kSecond;
constexpr size_t kMostBytes = size_t{64} << 20;  ///< the longest answer that is read

std::string value_of(const std::vector<std::string>& words, const std::string& name) {
  const auto at = std::find(words.begin(), words.end(), name);
  return at == words.end() || at + 1 == words.end() ? "" : at[1];
}

/// Splits words at spaces: one word of a launcher's command may hold several, for `sh -c`.
std::vector<std::string> split(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    std::string part;
    for (char c : word + " ")
      if (c != ' ')
        part += c;
      else if (!part.empty())
        all.push_back(std::exchange(part, ""));
  }
  return all;
}

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Reads `fd` to its end, to kMostBytes, or until the time `until`.
std::string read_all(int fd, int64_t until) {
  std::string text;
  char buffer[65536];
  while (text.size() < kMostBytes) {
    const int64_t left = until - now_ns();
    pollfd ready = {fd, POLLIN, 0};
    const int events = left > 0 ? poll(&ready, 1, static_cast<int>(left / 1'000'000) + 1) : 0;
    if (events < 0 && errno == EINTR) continue;
    const ssize_t got = events > 0 ? read(fd, buffer, sizeof buffer) : 0;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

std::vector<std::string> words_of_process(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

bool is_remote_proxy(const std::vector<std::string>& words, RemoteProxy* out) {
  const auto starts = [](const std::string& word) {
    return word == "env" || word.find(kProxy) != word.npos;
  };
  const auto at = std::find_if(words.begin(), words.end(), starts);
  if (at == words.begin()) return false;
  const std::vector<std::string> all = split({at, words.end()});
  out->starter.assign(words.begin(), at);
  out->control_port = value_of(all, "--control-port");
  out->proxy_id = value_of(all, "--proxy-id");
  return std::any_of(all.begin(), all.end(),
                     [](const std::string& word) { return word.find(kProxy) != word.npos; }) &&
         !out->control_port.empty() && !out->proxy_id.empty();
}

pid_t find_proxy(const std::string& control_port, const std::string& proxy_id) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const auto pid = parse_int(entry.path().filename().string());
    if (!pid) continue;
    const std::vector<std::string> words = words_of_process(static_cast<pid_t>(*pid));
    if (!words.empty() && std::filesystem::path(words[0]).filename() == kProxy &&
        value_of(words, "--control-port") == control_port &&
        value_of(words, "--proxy-id") == proxy_id)
      return static_cast<pid_t>(*pid);
  }
  return 0;
}

std::string ask(const RemoteProxy& proxy, std::string* why) {
  const std::string self = program_path();
  std::vector<std::string> words = proxy.starter;
  // The command is one word, because ssh and `sh -c` expect it so.
  words.push_back(in_quotes(self) + " -job-part " + in_quotes(proxy.control_port) + " " +
                  in_quotes(proxy.proxy_id));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int ends[2];
  *why = "it cannot be asked";
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    setpgid(0, 0);
    execvp(pointers[0], pointers.data());
    _exit(127);
  }
  close(ends[1]);
  const int64_t until = now_ns() + kAnswersWithin;
  const std::string text = child > 0 ? read_all(ends[0], until) : "";
  close(ends[0]);
  if (child <= 0) return "";
  if (now_ns() >= until) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return text;
  *why = now_ns() >= until ? format("no answer in %d s", static_cast<int>(kAnswersWithin / kSecond))
         : WIFEXITED(status) ? format("exit status %d", WEXITSTATUS(status))
                             : format("signal %d", WTERMSIG(status));
  return "";
}

}  // namespace fgmpi::tools
