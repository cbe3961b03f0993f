// The options of mpiexec.hydra that the parser of the command line has to know: those with values,
// and the units of -bind-to and -map-by. Thread rule: values.
#pragma once

#include <string_view>

namespace fgmpi::launcher {

/// Hydra's options that are followed by one word, and (kTwoWords) by two words; no word follows
/// all others.
inline constexpr std::string_view kOneWord[] = {"genvlist",
                                                "envlist",
                                                "f",
                                                "hosts",
                                                "host",
                                                "hostlist",
                                                "hostfile",
                                                "machinefile",
                                                "machine",
                                                "machines",
                                                "machinelist",
                                                "output-from",
                                                "wdir",
                                                "wd",
                                                "path",
                                                "launcher",
                                                "launcher-exec",
                                                "bootstrap",
                                                "bootstrap-exec",
                                                "rmk",
                                                "topolib",
                                                "bind-to",
                                                "binding",
                                                "map-by",
                                                "membind",
                                                "demux",
                                                "iface",
                                                "ppn",
                                                "prepend-pattern",
                                                "outfile-pattern",
                                                "outfile",
                                                "errfile-pattern",
                                                "errfile",
                                                "nameserver",
                                                "order-nodes",
                                                "localhost",
                                                "usize",
                                                "gpus-per-proc",
                                                "arch",
                                                "soft",
                                                "file",
                                                "ckpoint-interval",
                                                "ckpoint-prefix",
                                                "ckpointlib",
                                                "timeout"};
inline constexpr std::string_view kTwoWords[] = {"genv", "env"};  ///< or by one word, NAME=VALUE
inline constexpr std::string_view kNamesHosts[] = {"f",        "hosts",    "host",
                                                   "hostlist", "hostfile", "machinefile",
                                                   "machine",  "machines", "machinelist"};

/// Hardware units that hydra can bind processes to (-bind-to) and distribute them over (-map-by).
/// All but those of kBindingUnitsWithoutNumber may be followed by ":N".
inline constexpr std::string_view kBindingUnits[] = {
    "numa",    "socket",   "core",     "hwthread", "l1cache",  "l1dcache", "l1icache", "l1ucache",
    "l2cache", "l2dcache", "l2icache", "l2ucache", "l3cache",  "l3dcache", "l3icache", "l3ucache",
    "l4cache", "l4dcache", "l4ucache", "l5cache",  "l5dcache", "l5ucache"};
inline constexpr std::string_view kBindingUnitsWithoutNumber[] = {"none", "rr", "machine"};
inline constexpr std::string_view kDevices[] = {"pci:", "gpu", "ib", "en", "eth", "hfi"};

/// True if hydra accepts this value of -bind-to (`bind`) or -map-by. The value is checked here
/// because hydra's own message has several lines, and because hydra treats a list of units that are
/// not numbers as "no binding".
bool is_binding_unit(std::string_view word, bool bind);

}  // namespace fgmpi::launcher
