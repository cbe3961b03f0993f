// A Status with an error: its memory, its words, and how an error is formatted.

#include "base/status.h"

#include "base/strings.h"

#include <cstdarg>

namespace fgmpi {

Status::Status(int error_class, std::string what)
    : error_(std::make_unique<Error>(Error{error_class, std::move(what)})) {}

const std::string& Status::what() const {
  static const std::string kNone;
  return error_ ? error_->what : kNone;
}

Status error(int error_class, const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string what = vformat(format, args);
  va_end(args);
  return Status(error_class, std::move(what));
}

}  // namespace fgmpi
