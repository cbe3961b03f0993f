// The commands by which mpiexec.hydra starts its proxies, and the guard's part in them.
//
// Thread rule: none; these are functions of their arguments. This code is part of a library that is
// loaded into hydra, and uses only the C library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fgmpi::launcher {

inline constexpr const char* kProxy = "hydra_pmi_proxy";

/// True for the path of a proxy.
bool is_proxy(const char* file);
/// True where the arguments hold `name` and right behind it `value`.
bool has_pair(char* const* argv, std::string_view name, std::string_view value);
/// True where a shell starts the proxy, as behind ssh: then hydra writes the proxy's path
/// in quotes.
bool goes_through_shell(char* const* argv);
/// The arguments of a program that starts proxies (ssh, srun), with a command in front of the
/// proxy's that loads the guard into the proxy. Values are quoted where a shell starts the proxy.
/// `library_path`: LD_LIBRARY_PATH, or nullptr. `checkpoints`: the job's folder of checkpoints, or
/// nullptr.
std::vector<std::string> words_with_guard(char* const* argv, const char* library_path,
                                          const char* checkpoints, bool survives);
/// The value of LD_PRELOAD without the guard.
std::string without_guard(std::string preload);

}  // namespace fgmpi::launcher
