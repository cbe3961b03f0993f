// Registered data representations, and conversion of elements between memory and file.

#include "file/datarep.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <vector>

#include "comm/of_rank.h"
#include "datatype/copy.h"
#include "file/external32.h"
#include "host/host.h"
#include "proclet-sched/sched.h"

namespace fgmpi::file {
namespace {

using Datareps = std::vector<DatarepPtr>;

DatarepPtr of_standard(const char* name, Datarep::DatarepKind kind) {
  Datarep made;
  made.name = name;
  made.kind = kind;
  return std::make_shared<const Datarep>(std::move(made));
}

const Datareps& standard() {
  static const auto* list = new Datareps{of_standard("native", Datarep::kAsInMemory),
                                         of_standard("internal", Datarep::kAsInMemory),
                                         of_standard("external32", Datarep::kExternal32)};
  return *list;
}

/// The representations that each rank has registered.
comm::OfRank<Datareps>& registered() {
  static auto* table = new comm::OfRank<Datareps>;
  return *table;
}

/// f(predefined type, count) for runs of a signature, in order, as long as it returns true.
template <class F>
bool for_each_run(const datatype::Signature& signature, F&& f) {
  if (signature.inner.empty()) return signature.count == 0 || f(signature.type, signature.count);
  for (int64_t i = 0; i < signature.count; ++i)
    for (const datatype::Signature& inner : signature.inner)
      if (!for_each_run(inner, f)) return false;
  return true;
}

void collect(const datatype::Signature& signature, datatype::PlacedSizes* sizes) {
  if (signature.inner.empty()) sizes->emplace(signature.type, 0);
  for (const datatype::Signature& inner : signature.inner) collect(inner, sizes);
}

int64_t size_in_memory(MPI_Datatype type) {
  datatype::Type known;
  return datatype::Type::of(type, &known).ok() ? known.size() : 0;
}

/// Sums up one element: predefined items, and their bytes.
void sum_up(const datatype::Signature& signature, const datatype::PlacedSizes& sizes,
            int64_t* items, int64_t* bytes) {
  int64_t n = 0, sum = 0;
  if (signature.inner.empty()) {
    n = 1;
    sum = sizes.at(signature.type);
  }
  for (const datatype::Signature& inner : signature.inner) sum_up(inner, sizes, &n, &sum);
  *items += n * signature.count;
  *bytes += sum * signature.count;
}

}  // namespace

DatarepPtr find_datarep(const char* name) {
  for (const DatarepPtr& d : standard())
    if (d->name == name) return d;
  if (const Datareps* own = registered().find_mine())
    for (const DatarepPtr& d : *own)
      if (d->name == name) return d;
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
  registered().mine().push_back(std::make_shared<const Datarep>(std::move(what)));
  return {};
}

Status place(const Datarep& datarep, const datatype::Type& type, Placed* out) {
  *out = {};
  out->bytes = type.size();
  if (!datarep.converts() || type.size() == 0) return {};
  out->signature = datatype::signature_of(type);
  collect(out->signature, &out->sizes);
  for (auto& [predefined, bytes] : out->sizes) {
    out->memory[predefined] = size_in_memory(predefined);
    if (datarep.kind == Datarep::kExternal32) {
      bytes = external32::size_of(predefined);
      continue;
    }
    MPI_Aint extent = 0;
    const sched::UserCallback in_callback;
    const int code = datarep.extent(predefined, &extent, datarep.state);
    if (code != MPI_SUCCESS || extent <= 0)
      return error(
          MPI_ERR_CONVERSION,
          "the extent function of \"%s\" returned %d and %lld for datatype 0x%08x; allowed "
          "are MPI_SUCCESS and more than 0",
          datarep.name.c_str(), code, static_cast<long long>(extent),
          static_cast<unsigned>(predefined));
    bytes = extent;
  }
  out->bytes = 0;
  sum_up(out->signature, out->sizes, &out->items, &out->bytes);
  return {};
}

Status tree_in_file(const Datarep& datarep, const datatype::Type& type,
                    datatype::TypeTreePtr* out) {
  if (!datarep.converts()) {
    *out = type.shared_tree();
    return {};
  }
  Placed placed;
  FGMPI_TRY(place(datarep, type, &placed));
  *out = std::make_shared<const datatype::TypeTree>(datatype::placed_tree_of(type, placed.sizes));
  return {};
}

Status file_extent(const Datarep& datarep, const datatype::Type& type, int64_t* bytes) {
  *bytes = type.extent();
  if (!datarep.converts()) return {};
  datatype::TypeTreePtr tree;
  FGMPI_TRY(tree_in_file(datarep, type, &tree));
  *bytes = tree->extent;
  return {};
}

Whole whole_items(const Placed& placed, int64_t file_bytes) {
  Whole whole;
  if (placed.bytes == 0) return whole;
  const int64_t elements = file_bytes / placed.bytes;
  int64_t left = file_bytes % placed.bytes, memory = 0, items = 0;
  sum_up(placed.signature, placed.memory, &items, &memory);
  whole.items = elements * placed.items;
  whole.memory = elements * memory;
  for_each_run(placed.signature, [&](MPI_Datatype type, int64_t count) {
    const int64_t n = std::min(count, left / placed.sizes.at(type));
    whole.items += n;
    whole.memory += n * placed.memory.at(type);
    left -= n * placed.sizes.at(type);
    return n == count;
  });
  return whole;
}

namespace {

Status returned(const Datarep& datarep, const char* function, int code) {
  if (code == MPI_SUCCESS) return {};
  return error(MPI_ERR_CONVERSION, "the %s function of \"%s\" returned %d", function,
               datarep.name.c_str(), code);
}

/// The signature of `count` elements.
datatype::Signature repeated(const datatype::Signature& one, int64_t count) {
  if (one.inner.empty()) return {one.type, one.count * count, {}};
  return {MPI_DATATYPE_NULL, count, {one}};
}

/// Calls one of the program's functions with a number of predefined items (MPI-4.0 section 14.5.3).
Status convert(const Datarep& datarep, bool reads, const pt2pt::Buffer& buffer, int64_t items,
               char* file) {
  const char* name = reads ? "read" : "write";
  const sched::UserCallback in_callback;
  const MPI_Datatype type = buffer.type.handle();
  if (auto* large = reads ? datarep.read : datarep.write)
    return returned(datarep, name, large(buffer.address, type, items, file, 0, datarep.state));
  auto* small = reads ? datarep.read_small : datarep.write_small;
  if (items > INT_MAX)
    return error(MPI_ERR_CONVERSION,
                 "%lld items are to be converted by the %s function of \"%s\"; allowed are at most "
                 "%d, unless it is registered by MPI_Register_datarep_c",
                 static_cast<long long>(items), name, datarep.name.c_str(), INT_MAX);
  return returned(datarep, name,
                  small(buffer.address, type, static_cast<int>(items), file, 0, datarep.state));
}

}  // namespace

Status to_file(const Datarep& datarep, const Placed& placed, const pt2pt::Buffer& buffer,
               char* out) {
  if (datarep.kind == Datarep::kRegistered) {
    if (!datarep.write && !datarep.write_small) {
      datatype::pack(buffer.address, buffer.count, buffer.type, out);
      return {};
    }
    return convert(datarep, false, buffer, buffer.count * placed.items, out);
  }
  const std::unique_ptr<char[]> packed(new char[static_cast<size_t>(buffer.bytes())]);
  datatype::pack(buffer.address, buffer.count, buffer.type, packed.get());
  const char* in = packed.get();
  Status status;
  for_each_run(repeated(placed.signature, buffer.count), [&](MPI_Datatype type, int64_t count) {
    status = external32::encode(type, in, count, out);
    in += count * placed.memory.at(type);
    out += count * placed.sizes.at(type);
    return status.ok();
  });
  return status;
}

Status from_file(const Datarep& datarep, const Placed& placed, const char* in, int64_t bytes,
                 const pt2pt::Buffer& buffer) {
  const Whole whole = whole_items(placed, bytes);
  if (whole.items == 0) return {};
  if (datarep.kind == Datarep::kRegistered) {
    if (datarep.read || datarep.read_small)
      return convert(datarep, true, buffer, whole.items, const_cast<char*>(in));
    datatype::unpack(in, bytes, buffer.address, buffer.count, buffer.type);
    return {};
  }
  const std::unique_ptr<char[]> packed(new char[static_cast<size_t>(whole.memory)]);
  char* out = packed.get();
  int64_t left = whole.items;
  for_each_run(repeated(placed.signature, buffer.count), [&](MPI_Datatype type, int64_t count) {
    const int64_t n = std::min(count, left);
    external32::decode(type, in, n, out);
    in += n * placed.sizes.at(type);
    out += n * placed.memory.at(type);
    left -= n;
    return left > 0;
  });
  datatype::unpack(packed.get(), whole.memory, buffer.address, buffer.count, buffer.type);
  return {};
}

}  // namespace fgmpi::file
