// The guard in the commands that start proxies.

#include "launcher/hydra/hydra_commands.h"

#include <cstring>
#include <utility>

#include "base/environment.h"
#include "launcher/hydra/hydra_guard.h"

namespace fgmpi::launcher {
namespace {

/// Quotes a text as one word of a shell's command.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

bool is_proxy(const char* file) {
  const char* slash = std::strrchr(file, '/');
  return !std::strcmp(slash ? slash + 1 : file, kProxy);
}

bool has_pair(char* const* argv, std::string_view name, std::string_view value) {
  for (; argv[0] && argv[1]; ++argv)
    if (argv[0] == name && argv[1] == value) return true;
  return false;
}

bool goes_through_shell(char* const* argv) {
  for (; *argv; ++argv)
    if (**argv == '"' && std::strstr(*argv, kProxy)) return true;
  return false;
}

std::vector<std::string> words_with_guard(char* const* argv, const char* library_path,
                                          const char* checkpoints, bool survives) {
  std::vector<std::string> words;
  const bool by_shell = goes_through_shell(argv);
  const auto value = [&](const char* text) {
    return by_shell ? quoted(text ? text : "") : std::string(text ? text : "");
  };
  bool found = false;
  for (; *argv; ++argv) {
    if (!found && std::strstr(*argv, kProxy)) {
      found = true;
      const auto set = [&](const char* name, const std::string& text) {
        std::string word = name;
        word += '=';
        word += text;
        words.push_back(std::move(word));
      };
      words.push_back("env");
      set("LD_LIBRARY_PATH", value(library_path));
      set("LD_PRELOAD", kHydraGuard);
      if (checkpoints) set(environment::name(environment::kCheckpointFolder), value(checkpoints));
      if (survives) set(environment::name(environment::kFt), "1");
    }
    words.push_back(*argv);
  }
  return words;
}

std::string without_guard(std::string preload) {
  const size_t at = preload.find(kHydraGuard);
  if (at != preload.npos) preload.erase(at, std::strlen(kHydraGuard) + 1);  // and the colon behind
  return preload;
}

}  // namespace fgmpi::launcher
