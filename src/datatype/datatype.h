// Datatypes as the message layers see them: size, extent, contiguous or not, the positions of the
// bytes.
//
// A basic datatype is described by its handle alone (bits 8-15 are its size): no lookup. A derived
// one is an object that ranks share (derived_type.h); a Type holds a reference to it, so that it
// lives on while messages use it, whatever the user does with the handle. Thread rule: one thread.
// Nothing here switches.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "datatype/derived_type.h"
#include "host/handle_bits.h"

namespace fgmpi::datatype {

/// True for predefined types whose handle carries the size.
inline bool is_basic(MPI_Datatype t) { return host::is_builtin(t, host::HandleObject::kDatatype); }
/// Bytes of a basic type. REQUIRES: is_basic(t).
inline int64_t basic_size(MPI_Datatype t) { return host::builtin_size(t); }

/// A datatype by value, 24 bytes: cheap for basic types, a counted pointer for derived ones.
class Type {
 public:
  /// Makes the byte type.
  Type() : handle_(MPI_BYTE), size_(1) {}
  /// A derived type by its object. `handle`: the user's, which is only a name and may be
  /// MPI_DATATYPE_NULL.
  Type(MPI_Datatype handle, DerivedType* derived)
      : handle_(handle), derived_(derived), size_(derived->size()) {
    hold(derived_);
  }
  /// An error (MPI_ERR_TYPE) names the handle when it is null, uncommitted or unknown.
  static Status of(MPI_Datatype handle, Type* out);
  /// As of(), for types that need not be committed.
  static Status of_any(MPI_Datatype handle, Type* out);
  Type(const Type& other) : handle_(other.handle_), derived_(other.derived_), size_(other.size_) {
    if (derived_) hold(derived_);
  }
  Type(Type&& other) noexcept;
  Type& operator=(Type other) noexcept;
  ~Type() {
    if (derived_) release(derived_);
  }

  /// The handle that the user has given. It may have been freed since, and name another type.
  MPI_Datatype handle() const { return handle_; }
  int64_t size() const { return size_; }  ///< bytes of data in one element
  int64_t extent() const { return derived_ ? derived_->tree.extent : size_; }
  int64_t lb() const { return derived_ ? derived_->bounds.lb() : 0; }
  int64_t true_lb() const { return derived_ ? derived_->tree.low() : 0; }
  int64_t true_extent() const {
    return derived_ ? derived_->tree.high() - derived_->tree.low() : size_;
  }
  /// True if data of any count is one run of bytes starting at true_lb().
  bool contiguous() const { return !derived_ || derived_->contiguous; }
  /// True if pack_short() and its like copy data of at most kMostShortBytes bytes.
  bool has_short_rows() const { return derived_ && derived_->short_rows.shape != ShortRows::kNone; }
  bool basic() const { return !derived_; }
  /// The object of a derived type or of a pair; nullptr for a basic type, which a pair of two equal
  /// types with a name is, too.
  DerivedType* derived() const { return derived_; }
  /// The handle of a predefined type, a pair included; MPI_DATATYPE_NULL for others.
  MPI_Datatype predefined() const {
    return !derived_ ? handle_ : derived_->is_pair() ? derived_->values : MPI_DATATYPE_NULL;
  }
  /// The positions of the bytes. It lives as long as somebody holds the type.
  const TypeTree& tree() const;
  /// The tree with an owner.
  TypeTreePtr shared_tree() const;
  /// True for the same type, whatever its handles are.
  bool operator==(const Type& other) const {
    return derived_ ? derived_ == other.derived_ : !other.derived_ && handle_ == other.handle_;
  }

 private:
  MPI_Datatype handle_;
  DerivedType* derived_ = nullptr;
  int64_t size_;
};

}  // namespace fgmpi::datatype
