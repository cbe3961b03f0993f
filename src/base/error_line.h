// Lines on standard error. Thread rule: any thread.
#pragma once

#include <cstdio>
#include <string>

namespace fgmpi {

/// Writes "fgmpi: LINE" to standard error by one system call, so that the line stays whole where
/// other processes write to the same file, and where mpiexec passes on only one of several equal
/// ones. fprintf() of glibc 2.37 and later writes pieces of 128 bytes to an unbuffered stream.
inline void write_error_line(const std::string& line) {
  std::fputs(("fgmpi: " + line + "\n").c_str(), stderr);
}

}  // namespace fgmpi
