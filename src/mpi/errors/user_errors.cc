// A rank's own error classes, codes and strings.

#include "mpi/errors/user_errors.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "base/plain_mutex.h"
#include "base/status.h"
#include "comm/of_rank.h"
#include "mpi/calls.h"
#include "mpi/errors/error_texts.h"

namespace fgmpi::mpi {
namespace {

constexpr int kOfUser = 0x40000000, kOfStandardClass = 0x20000000;
constexpr int kMostClasses = 255, kMostCodes = (1 << 21) - 1;

/// Numbers from 1 on. Released numbers are used again, the oldest first, when there are no others.
struct ErrorNumbers {
  const int most;
  int reserved = 0;
  std::deque<int> back = {};
  /// Reserves a number; 0: all are in use.
  int reserve() {
    if (reserved < most) return ++reserved;
    if (back.empty()) return 0;
    const int number = back.front();
    back.pop_front();
    return number;
  }
};

/// The classes, codes and strings that a rank has added.
struct Added {
  std::map<int, std::string> texts;  ///< by class or code
  ErrorNumbers classes{kMostClasses}, codes{kMostCodes};
  intptr_t last = MPI_ERR_LASTCODE;
};

constinit PlainMutex g_mutex;  ///< protects g_added and all that is in it
using Guard = std::lock_guard<PlainMutex>;

auto& g_added = *new comm::OfRank<Added>(&g_mutex);

Added& mine() { return g_added.mine(); }
const Added* find_mine() { return g_added.find_mine(); }

int class_in(int code) { return code & kOfStandardClass ? code & 0xff : kOfUser | (code & 0xff); }
bool is_class(int code) { return is_of_user(code) && class_in(code) == code; }

bool has(int code) {
  const Added* added = find_mine();
  return added && added->texts.contains(code);
}

Status not_added(const char* what, int code) {
  return error(MPI_ERR_ARG, "%s is %d; allowed is one that this rank has added", what, code);
}

int keep(int code) {
  Added& added = mine();
  added.texts[code];
  added.last = std::max<intptr_t>(added.last, code);
  return code;
}

Status remove(const char* what, int code) {
  if (!is_of_user(code) || !has(code)) return not_added(what, code);
  Added& added = mine();
  added.texts.erase(code);
  if (is_class(code))
    added.classes.back.push_back(code & 0xff);
  else
    added.codes.back.push_back(code >> 8 & kMostCodes);
  return {};
}

}  // namespace

int class_of_user_code(int code) {
  const Guard guard(g_mutex);
  return has(code) ? class_in(code) : MPI_ERR_UNKNOWN;
}

std::string text_of_user_code(int code, bool* known) {
  const Guard guard(g_mutex);
  *known = has(code);
  return *known ? find_mine()->texts.at(code) : std::string();
}

intptr_t& last_used_code() {
  const Guard guard(g_mutex);
  return mine().last;
}

Status add_error_class(int* errorclass) {
  const Guard guard(g_mutex);
  Added& added = mine();
  const int number = added.classes.reserve();
  if (number == 0)
    return error(MPI_ERR_OTHER, "this rank has added %d error classes; allowed are as many",
                 kMostClasses);
  *errorclass = keep(kOfUser | number);
  return {};
}

Status add_error_code(int errorclass, int* errorcode) {
  const Guard guard(g_mutex);
  const bool standard = errorclass >= 0 && errorclass <= kLastStandardClass;
  if (!standard && !(is_class(errorclass) && has(errorclass)))
    return error(MPI_ERR_ARG,
                 "errorclass is %d; allowed is a class of MPI, or one that this rank has added",
                 errorclass);
  Added& added = mine();
  const int number = added.codes.reserve();
  if (number == 0)
    return error(MPI_ERR_OTHER, "this rank has added %d error codes; allowed are as many",
                 kMostCodes);
  *errorcode =
      keep(kOfUser | (standard ? kOfStandardClass : 0) | number << 8 | (errorclass & 0xff));
  return {};
}

Status add_error_string(int errorcode, const char* string) {
  const Guard guard(g_mutex);
  if (!is_of_user(errorcode) || !has(errorcode)) return not_added("errorcode", errorcode);
  const size_t length = std::strlen(string);
  if (length >= MPI_MAX_ERROR_STRING)
    return error(MPI_ERR_ARG, "string has %zu bytes; allowed are %d", length,
                 MPI_MAX_ERROR_STRING - 1);
  mine().texts[errorcode] = string;
  return {};
}

Status delete_error_class(int errorclass) {
  const Guard guard(g_mutex);
  if (!is_class(errorclass)) return not_added("errorclass", errorclass);
  if (const Added* added = find_mine())
    for (const auto& [code, text] : added->texts)
      if (code != errorclass && class_in(code) == errorclass)
        return error(MPI_ERR_ARG, "errorclass %d has codes; allowed is one without", errorclass);
  return remove("errorclass", errorclass);
}

Status delete_error_code(int errorcode) {
  const Guard guard(g_mutex);
  if (is_class(errorcode)) return not_added("errorcode", errorcode);
  return remove("errorcode", errorcode);
}

Status delete_error_string(int errorcode) {
  const Guard guard(g_mutex);
  if (!is_of_user(errorcode) || !has(errorcode)) return not_added("errorcode", errorcode);
  mine().texts[errorcode].clear();
  return {};
}

}  // namespace fgmpi::mpi
