// Info objects (MPI-4.0 chapter 10). Any thread may call these at any level: they access only the
// objects (comm/info.h), and for errors the state that errors.cc has for any thread.

#include "comm/info.h"

#include <cstring>

#include "mpi/binding.h"
#include "mpi/calls.h"

namespace fgmpi::mpi {
namespace {

Status check_key(const char* key) {
  const size_t length = key ? std::strlen(key) : 0;
  if (length > 0 && length <= MPI_MAX_INFO_KEY) return {};
  return error(MPI_ERR_INFO_KEY, "key %s; allowed are 1 to %d bytes",
               !key          ? "is a null pointer"
               : length == 0 ? "is empty"
                             : "has more bytes",
               MPI_MAX_INFO_KEY);
}

/// As many bytes of `text` as fit into `bytes` with the null byte behind them.
void give(const std::string& text, size_t bytes, char* out) {
  const size_t given = text.copy(out, bytes - 1);
  out[given] = '\0';
}

}  // namespace

Status info_create(MPI_Info* info) { return comm::create_info({}, info); }

Status info_create_env(int, char**, MPI_Info* info) {
  comm::Hints entries;
  FGMPI_TRY(comm::entries_of_info(MPI_INFO_ENV, &entries));
  return comm::create_info(std::move(entries), info);
}

Status info_delete(MPI_Info info, const char* key) {
  FGMPI_TRY(check_key(key));
  return comm::delete_from_info(info, key);
}

Status info_dup(MPI_Info info, MPI_Info* newinfo) {
  comm::Hints entries;
  FGMPI_TRY(comm::entries_of_info(info, &entries));
  return comm::create_info(std::move(entries), newinfo);
}

Status info_free(MPI_Info* info) {
  FGMPI_TRY(check_pointer(info, "info"));
  FGMPI_TRY(comm::free_info(*info));
  *info = MPI_INFO_NULL;
  return {};
}

Status info_get(MPI_Info info, const char* key, int valuelen, char* value, int* flag) {
  FGMPI_TRY(check_key(key));
  FGMPI_TRY(check_number(valuelen, "valuelen"));
  std::string found;
  bool is_there = false;
  FGMPI_TRY(comm::find_in_info(info, key, &found, &is_there));
  *flag = is_there;
  if (!is_there) return {};
  const auto most = static_cast<size_t>(valuelen);
  give(found, most + 1, value);  // a longer value is cut (MPI-4.0 section 10)
  return {};
}

Status info_get_nkeys(MPI_Info info, int* nkeys) { return comm::count_info(info, nkeys); }

Status info_get_nthkey(MPI_Info info, int n, char* key) {
  std::string found;
  FGMPI_TRY(comm::nth_key_of_info(info, n, &found));
  give(found, MPI_MAX_INFO_KEY + 1, key);
  return {};
}

Status info_get_string(MPI_Info info, const char* key, int* buflen, char* value, int* flag) {
  FGMPI_TRY(check_key(key));
  FGMPI_TRY(check_number(*buflen, "buflen"));
  if (*buflen > 0) FGMPI_TRY(check_pointer(value, "value"));
  std::string found;
  bool is_there = false;
  FGMPI_TRY(comm::find_in_info(info, key, &found, &is_there));
  *flag = is_there;
  if (!is_there) return {};
  if (*buflen > 0) give(found, static_cast<size_t>(*buflen), value);
  *buflen = static_cast<int>(found.size()) + 1;
  return {};
}

Status info_get_valuelen(MPI_Info info, const char* key, int* valuelen, int* flag) {
  FGMPI_TRY(check_key(key));
  std::string found;
  bool is_there = false;
  FGMPI_TRY(comm::find_in_info(info, key, &found, &is_there));
  *flag = is_there;
  if (is_there) *valuelen = static_cast<int>(found.size());
  return {};
}

Status info_set(MPI_Info info, const char* key, const char* value) {
  FGMPI_TRY(check_key(key));
  if (std::strlen(value) > MPI_MAX_INFO_VAL)
    return error(MPI_ERR_INFO_VALUE, "value has %zu bytes; allowed are %d at most",
                 std::strlen(value), MPI_MAX_INFO_VAL);
  return comm::set_in_info(info, key, value);
}

}  // namespace fgmpi::mpi
