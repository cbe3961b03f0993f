// Lines on standard error. Thread rule: any thread.
#pragma once

#include <sys/syscall.h>

#include <cstdio>
#include <string>

#include "base/recorded_memory.h"

namespace fgmpi {

/// Writes "fgmpi: LINE" to standard error by one system call, so that the line stays whole where
/// other processes write to the same file, and where mpiexec passes on only one of several equal
/// ones. fprintf() of glibc 2.37 and later writes pieces of 128 bytes to an unbuffered stream.
inline void write_error_line(const std::string& line) {
  std::fputs(("fgmpi: " + line + "\n").c_str(), stderr);
}

/// The descriptor of standard error for calls by g_untrapped_call (recorded_memory.h).
inline int g_untrapped_errors = 2;

/// As write_error_line(), for a line of a tool in the process. In a repeated run
/// whose system calls are the recorded ones, it does not belong to the run.
inline void write_tool_line(const std::string& line) {
  if (!g_untrapped_call) return write_error_line(line);
  const std::string whole = "fgmpi: " + line + "\n";
  g_untrapped_call(SYS_write, g_untrapped_errors, reinterpret_cast<long>(whole.data()),
                   static_cast<long>(whole.size()), 0, 0, 0);
}

}  // namespace fgmpi
