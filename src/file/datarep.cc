#include "file/datarep.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <deque>
#include <vector>

#include "host/host.h"

namespace fgmpi::file {
namespace {

std::deque<Datarep>& all() {
  static auto* list = [] {
    auto* made = new std::deque<Datarep>(3);
    (*made)[0].name = "native";
    (*made)[1].name = "internal";
    (*made)[2].name = "external32";
    (*made)[2].kind = Datarep::kExternal32;
    return made;
  }();
  return *list;
}

Status conversion_failed(const Datarep& datarep, int code) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  host::call([&](const host::Api& h) { return h.Error_string(code, words, &length); });
  return error(MPI_ERR_CONVERSION, "elements cannot be converted to or from \"%s\": %s",
               datarep.name.c_str(), words);
}

}  // namespace

const Datarep* find_datarep(const char* name) {
  for (const Datarep& d : all())
    if (d.name == name) return &d;
  return nullptr;
}

Status register_datarep(Datarep what) {
  if (what.name.empty() || what.name.size() >= MPI_MAX_DATAREP_STRING)
    return error(MPI_ERR_ARG, "datarep has %zu characters; allowed is 1 to %d", what.name.size(),
                 MPI_MAX_DATAREP_STRING - 1);
  if (find_datarep(what.name.c_str()))
    return error(MPI_ERR_DUP_DATAREP, "datarep \"%s\" is defined already", what.name.c_str());
  if (!what.extent)
    return error(MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer; allowed is a function");
  const bool converts = what.read || what.write || what.read_small || what.write_small;
  what.kind = converts ? Datarep::kRegistered : Datarep::kAsInMemory;
  all().push_back(std::move(what));
  return {};
}

Status file_size(const Datarep& datarep, const host::Type& type, int64_t* bytes) {
  *bytes = type.size();
  if (datarep.kind != Datarep::kExternal32 || type.size() == 0) return {};
  MPI_Aint size = 0;
  const int code = host::call([&](const host::Api& h) {
    return h.Pack_external_size("external32", 1, type.host_handle(), &size);
  });
  if (code != MPI_SUCCESS) return conversion_failed(datarep, code);
  *bytes = size;
  return {};
}

Status file_extent(const Datarep& datarep, const host::Type& type, int64_t* bytes) {
  *bytes = type.extent();
  if (datarep.kind == Datarep::kExternal32 && type.extent() == type.size())
    return file_size(datarep, type, bytes);
  if (!datarep.extent) return {};
  MPI_Aint extent = 0;
  const int code = datarep.extent(type.handle(), &extent, datarep.state);
  if (code != MPI_SUCCESS)
    return error(MPI_ERR_CONVERSION, "the extent function of \"%s\" returned %d",
                 datarep.name.c_str(), code);
  *bytes = extent;
  return {};
}

Status to_file(const Datarep& datarep, const pt2pt::Buffer& buffer, char* out, int64_t bytes) {
  int code = MPI_SUCCESS;
  if (datarep.kind == Datarep::kExternal32) {
    MPI_Count position = 0;
    code = host::call([&](const host::Api& h) {
      return h.Pack_external_c("external32", buffer.address, buffer.count,
                               buffer.type.host_handle(), out, bytes, &position);
    });
    return code == MPI_SUCCESS ? Status() : conversion_failed(datarep, code);
  }
  if (datarep.write)
    code = datarep.write(buffer.address, buffer.type.handle(), buffer.count, out, 0, datarep.state);
  else if (datarep.write_small && buffer.count <= INT_MAX)
    code = datarep.write_small(buffer.address, buffer.type.handle(), static_cast<int>(buffer.count),
                               out, 0, datarep.state);
  else
    return host::pack(buffer.address, buffer.count, buffer.type, out);
  if (code == MPI_SUCCESS) return {};
  return error(MPI_ERR_CONVERSION, "the write function of \"%s\" returned %d", datarep.name.c_str(),
               code);
}

Status from_file(const Datarep& datarep, const char* in, int64_t bytes,
                 const pt2pt::Buffer& buffer) {
  const int64_t size = buffer.type.size();
  const int64_t whole = size ? std::min(buffer.count, bytes / size) : 0;
  auto* file = const_cast<char*>(in);
  int code = MPI_SUCCESS;
  if (whole == 0) return {};
  if (datarep.kind == Datarep::kExternal32) {
    MPI_Count position = 0;
    code = host::call([&](const host::Api& h) {
      return h.Unpack_external_c("external32", in, whole * size, &position, buffer.address, whole,
                                 buffer.type.host_handle());
    });
    return code == MPI_SUCCESS ? Status() : conversion_failed(datarep, code);
  }
  if (datarep.read)
    code = datarep.read(buffer.address, buffer.type.handle(), whole, file, 0, datarep.state);
  else if (datarep.read_small && whole <= INT_MAX)
    code = datarep.read_small(buffer.address, buffer.type.handle(), static_cast<int>(whole), file,
                              0, datarep.state);
  else
    return host::unpack(in, whole * size, buffer.address, buffer.count, buffer.type);
  if (code == MPI_SUCCESS) return {};
  return error(MPI_ERR_CONVERSION, "the read function of \"%s\" returned %d", datarep.name.c_str(),
               code);
}

}  // namespace fgmpi::file
