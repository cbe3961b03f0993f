// Datatypes as the message layers see them: size, extent, contiguous or not, pack and unpack.
//
// A basic datatype is described by its handle alone (bits 8-15 are its size): no host, no lookup. A
// derived one is described once and cached by handle. The cache entry is dropped when the user
// frees the type (the forwarding stub of MPI_Type_free calls type_freed()), and lives on while
// messages use it. Thread rule: one thread. pack/unpack run on the host stack and never switch.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "host/handle_bits.h"

namespace fgmpi::host {
struct Api;
}

namespace fgmpi::datatype {

/// A description with an intrusive count; Type::of() makes it, and Type objects hold it.
struct DerivedType {
  MPI_Datatype handle;  ///< a duplicate that the library owns, valid after the user has freed his
  int64_t size, lb, extent, true_lb, true_extent;
  bool contiguous;  ///< `count` elements are count*size bytes in a row starting at true_lb
  bool freed;       ///< the user has freed his handle, which may name another type by now
  uint32_t references;
};

/// A datatype by value, 24 bytes: cheap for basic types, a counted pointer for derived ones.
class Type {
 public:
  /// Makes the byte type.
  Type() : handle_(MPI_BYTE), size_(1) {}
  /// An error (MPI_ERR_TYPE) names the handle when it is null, uncommitted or unknown.
  static Status of(MPI_Datatype handle, Type* out);
  Type(const Type& other);
  Type(Type&& other) noexcept;
  Type& operator=(Type other) noexcept;
  ~Type();

  MPI_Datatype handle() const { return handle_; }
  int64_t size() const { return size_; }  ///< bytes of data in one element
  int64_t extent() const { return derived_ ? derived_->extent : size_; }
  int64_t lb() const { return derived_ ? derived_->lb : 0; }
  int64_t true_lb() const { return derived_ ? derived_->true_lb : 0; }
  int64_t true_extent() const { return derived_ ? derived_->true_extent : size_; }
  /// True if data of any count is one run of bytes starting at true_lb().
  bool contiguous() const { return !derived_ || derived_->contiguous; }
  bool basic() const { return !derived_; }
  /// The host's handle of the type, valid as long as this object.
  MPI_Datatype host_handle() const {
    return derived_ && derived_->freed ? derived_->handle : handle_;
  }

 private:
  MPI_Datatype handle_;
  DerivedType* derived_ = nullptr;
  int64_t size_;
};

/// True for predefined types whose handle carries the size (no host needed).
inline bool is_basic(MPI_Datatype t) { return host::is_builtin(t, host::HandleObject::kDatatype); }
/// Bytes of a basic type. REQUIRES: is_basic(t).
inline int64_t basic_size(MPI_Datatype t) { return host::builtin_size(t); }

/// Called after the host's MPI_Pack has returned MPI_SUCCESS: copies what it has left out of
/// `count` elements. MPICH 4.0.2 packs a derived type whose data are one run only up to a multiple
/// of bits 8 to 15 of its handle, which are a size in handles of basic types only: with more than
/// 768 derived types bytes at the end are missing. `in` and `out` begin with the first element and
/// its packed bytes, of which there are `packed`. Returns the number of packed bytes now. Runs on
/// the host stack.
int64_t complete_packing(const host::Api& h, const void* in, int64_t count, MPI_Datatype type,
                         void* out, int64_t packed);

/// Packs `count` elements at `buffer` into `out` (count*size bytes).
Status pack(const void* buffer, int64_t count, const Type& type, void* out);
/// Unpacks `bytes` bytes (a whole message or a truncated one: not necessarily whole elements) into
/// `count` elements at `buffer`.
Status unpack(const void* in, int64_t bytes, void* buffer, int64_t count, const Type& type);
/// Returns an error (MPI_ERR_TYPE) when a message of `bytes` bytes ends within a basic element of
/// the type.
Status check_end(int64_t bytes, const Type& type);
/// Copies elements of one layout into another (collectives within a process), at most as many bytes
/// as the receiver has. Errors: MPI_ERR_TRUNCATE when the sender has more.
Status copy(const void* from, int64_t from_count, const Type& from_type, void* to, int64_t to_count,
            const Type& to_type);

/// Drops the cache entry of a type handle that the user frees. Called before the host frees it.
void type_freed(MPI_Datatype handle);

/// The number of derived types that the cache or a Type holds, for tests and statistics.
size_t cached_types();

}  // namespace fgmpi::datatype
