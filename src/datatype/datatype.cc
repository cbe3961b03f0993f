// Types by their handles.

#include "datatype/datatype.h"

#include <array>
#include <utility>

#include "datatype/basic_type.h"
#include "datatype/type_handles.h"

namespace fgmpi::datatype {
namespace {

Status unknown(MPI_Datatype handle) {
  if (handle == MPI_DATATYPE_NULL)
    return error(MPI_ERR_TYPE, "datatype MPI_DATATYPE_NULL: allowed is a datatype");
  return error(MPI_ERR_TYPE, "datatype 0x%08x is unknown or was freed: allowed is a datatype",
               static_cast<unsigned>(handle));
}

/// Trees of basic types, by their size and the low byte of the handle.
const TypeTree& basic_tree(MPI_Datatype handle) {
  static auto* trees = new std::array<TypeTree, 256>;
  TypeTree& tree = (*trees)[host::builtin_number(handle)];
  if (tree.element != handle) {
    const int64_t size = basic_size(handle);
    tree = {make_run(0, size), size, size, handle};
  }
  return tree;
}

}  // namespace

Status Type::of_any(MPI_Datatype handle, Type* out) {
  if (is_basic(handle)) {
    if (!basic_type(handle)) return unknown(handle);
    *out = Type();
    out->handle_ = handle;
    out->size_ = basic_size(handle);
    return {};
  }
  DerivedType* derived = find_derived(handle).type;
  if (!derived) return unknown(handle);
  *out = Type(handle, derived);
  return {};
}

Status Type::of(MPI_Datatype handle, Type* out) {
  DerivedType* derived = nullptr;
  int64_t size;
  if (__builtin_expect(is_basic(handle) && basic_type(handle), 1)) {
    size = basic_size(handle);
  } else {
    const FoundType found = find_derived(handle);
    if (__builtin_expect(!found.type, 0)) return unknown(handle);
    if (__builtin_expect(!found.committed, 0))
      return error(MPI_ERR_TYPE,
                   "datatype 0x%08x is not committed: allowed is a committed datatype",
                   static_cast<unsigned>(handle));
    derived = found.type;
    size = derived->size();
    hold(derived);
  }
  if (out->derived_) release(out->derived_);
  out->handle_ = handle;
  out->derived_ = derived;
  out->size_ = size;
  return {};
}

Type::Type(Type&& other) noexcept
    : handle_(other.handle_), derived_(std::exchange(other.derived_, nullptr)), size_(other.size_) {
  other.handle_ = MPI_BYTE;
  other.size_ = 1;
}

Type& Type::operator=(Type other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(derived_, other.derived_);
  std::swap(size_, other.size_);
  return *this;
}

const TypeTree& Type::tree() const { return derived_ ? derived_->tree : basic_tree(handle_); }

TypeTreePtr Type::shared_tree() const {
  auto owner = std::make_shared<Type>(*this);
  const TypeTree* tree = &owner->tree();
  return TypeTreePtr(std::move(owner), tree);
}

MPI_Datatype values_of(const Type& type) {
  return type.derived() ? type.derived()->values : type.handle();
}

}  // namespace fgmpi::datatype
