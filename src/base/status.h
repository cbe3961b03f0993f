// Status: the outcome of an internal call, as an MPI error class plus the words for the user.
//
// The function that first detects an error words it ("names the argument, its value and what is
// allowed"); callers pass the Status on unchanged; src/mpi turns it into an error code and calls
// the error handler. A good Status is one null pointer: free to return and to test.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace fgmpi {

class [[nodiscard]] Status {
 public:
  Status() = default;
  /// error_class: an MPI error class (MPI_ERR_...); what: the words, without call or rank.
  Status(int error_class, std::string what);
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;

  bool ok() const { return !error_; }
  /// MPI_SUCCESS (0) or the error class.
  int error_class() const { return error_ ? error_->error_class : 0; }
  /// Empty when ok.
  const std::string& what() const;

 private:
  struct Error {
    int error_class;
    std::string what;
  };
  std::unique_ptr<Error> error_;
};

/// printf-style wording of an error.
[[gnu::format(printf, 2, 3)]] Status error(int error_class, const char* format, ...);

}  // namespace fgmpi

/// Returns from the calling function when `expr` (a Status) is not ok.
#define FGMPI_TRY(expr)                                                       \
  do {                                                                        \
    ::fgmpi::Status fgmpi_try_status = (expr);                                \
    if (__builtin_expect(!fgmpi_try_status.ok(), 0)) return fgmpi_try_status; \
  } while (0)
