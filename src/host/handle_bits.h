// The bits of MPICH's handles, which are ints: what a handle says without its object.
//
//   31..30  29..26  25..0
//   kind    object  index                                  any handle
//   builtin datatype  0 (25..16), size (15..8), number     a predefined datatype
//   direct  keyval    object of its attributes (25..22), index (21..0)
//
// Handles of objects that this library has in place of MPICH's have the same bits, since the
// constants of mpi.h do. Thread rule: constants.
#pragma once

#include <cstdint>

namespace fgmpi::host {

enum class HandleKind : uint32_t {
  kNull,     ///< the null handle of each kind of object, with index 0
  kBuiltin,  ///< predefined objects
  kDirect,   ///< objects in a first table
  kIndirect  ///< objects beyond that table
};

/// The kinds of objects. 12 is MPICH's number of something that no program sees; here it is that of
/// files, whose handles are pointers in MPICH.
enum class HandleObject : uint32_t {
  kComm = 1,
  kGroup = 2,
  kDatatype = 3,
  kErrhandler = 5,
  kOp = 6,
  kInfo = 7,
  kWin = 8,
  kKeyval = 9,
  kRequest = 11,
  kFile = 12,
  kSession = 14
};

inline constexpr uint32_t kHandleIndexMask = 0x3ffffffu;
inline constexpr uint32_t kHandleTypeMask = ~kHandleIndexMask;  ///< kind and object

/// The bits of a handle with index 0.
constexpr uint32_t handle_base(HandleKind kind, HandleObject object) {
  return static_cast<uint32_t>(kind) << 30 | static_cast<uint32_t>(object) << 26;
}
/// The bits of a keyval with index 0, for attributes of an `object`.
constexpr uint32_t keyval_base(HandleKind kind, HandleObject object) {
  return handle_base(kind, HandleObject::kKeyval) | static_cast<uint32_t>(object) << 22;
}
inline constexpr uint32_t kKeyvalIndexMask = 0x3fffffu;

constexpr HandleKind handle_kind(int handle) {
  return static_cast<HandleKind>(static_cast<uint32_t>(handle) >> 30);
}
constexpr uint32_t handle_index(int handle) {
  return static_cast<uint32_t>(handle) & kHandleIndexMask;
}
constexpr bool is_null_handle(int handle) {
  return handle_kind(handle) == HandleKind::kNull && handle_index(handle) == 0;
}
/// Is the handle that of a predefined object of this kind? Bits 25 and 24 are 0 in all of these.
constexpr bool is_builtin(int handle, HandleObject object) {
  return (static_cast<uint32_t>(handle) & 0xff000000u) == handle_base(HandleKind::kBuiltin, object);
}
/// The bytes of a predefined datatype, and its number. REQUIRES: is_builtin(type, kDatatype).
constexpr uint32_t builtin_size(int type) { return static_cast<uint32_t>(type) >> 8 & 0xff; }
constexpr uint32_t builtin_number(int type) { return static_cast<uint32_t>(type) & 0xff; }

}  // namespace fgmpi::host
