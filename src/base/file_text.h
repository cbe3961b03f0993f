// The text of a small file: a file of the kernel in /proc, hints of the user.
//
// The file is not read by a stream. A stream throws and catches inside where a read fails (EINVAL
// of /proc/self/attr/current, a folder). Then a call from C would depend on the unwinder of the
// program, which may be any library. Thread rule: any.
#pragma once

#include <string>

namespace fgmpi {

/// All bytes of the file; those read before an error; "" where the file cannot be opened. For files
/// that have an end.
std::string text_of_file(const char* path);

/// The file's first word, up to white space.
std::string first_word_of_file(const char* path);

}  // namespace fgmpi
