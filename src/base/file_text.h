// The text of a small file: what the kernel says in /proc, hints of the user's.
//
// No stream reads it: a stream throws and catches inside where a read fails (EINVAL of
// /proc/self/attr/current, a folder), and then a call from C depends on the unwinder of the
// program, which may be any library. Thread rule: any.
#pragma once

#include <string>

namespace fgmpi {

/// All bytes of the file; what was read before an error; "" where it cannot be opened. For files
/// that have an end.
std::string text_of_file(const char* path);

/// Its first word: up to white space.
std::string first_word_of_file(const char* path);

}  // namespace fgmpi
