// Descriptions of datatypes and their cache; packing, unpacking and copying.

#include "datatype/datatype.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/count_words.h"
#include "datatype/basic_type.h"
#include "host/host.h"

namespace fgmpi::datatype {
namespace {

/// MPI_FLOAT_INT and the other pair types. Their handles look like derived types', but they are
/// described here, without the host. Their reference count starts at 1 and so never reaches 0.
template <class V>
constexpr DerivedType pair_type(MPI_Datatype handle) {
  using Pair = PairOf<V, int>;
  constexpr int64_t data = sizeof(V) + sizeof(int);
  constexpr int64_t reach = offsetof(Pair, index) + sizeof(int);
  return {handle, data, 0, sizeof(Pair), 0, reach, data == sizeof(Pair), false, 1};
}
DerivedType g_pairs[kPairTypes] = {pair_type<float>(MPI_FLOAT_INT),
                                   pair_type<double>(MPI_DOUBLE_INT), pair_type<long>(MPI_LONG_INT),
                                   pair_type<short>(MPI_SHORT_INT),
                                   pair_type<long double>(MPI_LONG_DOUBLE_INT)};

/// Derived types by the user's handle. An entry holds one reference of its own, so that a type that
/// is used again and again is examined once.
std::unordered_map<MPI_Datatype, DerivedType*>& cache() {
  static auto* map = new std::unordered_map<MPI_Datatype, DerivedType*>;
  return *map;
}

/// The predefined types of the same size, for types of MPI_Type_create_f90_integer and similar
/// calls that have been described. Programs cannot free these types, so a handle never gets
/// another type.
std::unordered_map<MPI_Datatype, MPI_Datatype>& types_of_precision() {
  static auto* map = new std::unordered_map<MPI_Datatype, MPI_Datatype>;
  return *map;
}

void release(DerivedType* type) {
  if (--type->references > 0) return;
  if (host::initialised())
    host::call([&](const host::Api& h) { return h.Type_free(&type->handle); });
  delete type;
}

/// True if the constructor shows that the type is one run of bytes: a basic type without padding,
/// or contiguous copies of one. False for all other constructors, whatever their layout.
bool constructed_contiguous(const host::Api& h, MPI_Datatype handle) {
  MPI_Count size, lb, extent, integers, addresses, counts, types;
  int combiner;
  if (h.Type_size_x(handle, &size) != MPI_SUCCESS ||
      h.Type_get_extent_x(handle, &lb, &extent) != MPI_SUCCESS || size != extent ||
      h.Type_get_envelope_c(handle, &integers, &addresses, &counts, &types, &combiner) !=
          MPI_SUCCESS)
    return false;
  if (combiner == MPI_COMBINER_NAMED) return true;
  if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS &&
      combiner != MPI_COMBINER_RESIZED)
    return false;
  std::vector<int> integer(integers);
  std::vector<MPI_Aint> address(addresses);
  std::vector<MPI_Count> count(counts);
  MPI_Datatype inner = MPI_DATATYPE_NULL;  // these constructors have one
  if (h.Type_get_contents_c(handle, integers, addresses, counts, types, integer.data(),
                            address.data(), count.data(), &inner) != MPI_SUCCESS)
    return false;
  bool in_order = constructed_contiguous(h, inner);
  if (h.Type_get_envelope_c(inner, &integers, &addresses, &counts, &types, &combiner) ==
          MPI_SUCCESS &&
      combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
      combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER)
    h.Type_free(&inner);
  return in_order;
}

/// True if the type map is one run of bytes in ascending order. Equal size and extent do not prove
/// that: blocks may be swapped, or overlap next to a gap. So this function packs an element in
/// which each byte holds its own position, one digit of base 256 a pass, and checks the order.
/// Types above the limit count as scattered, which is slower but correct.
bool packs_contiguous(const host::Api& h, const DerivedType& type) {
  constexpr int64_t kLimit = 64 << 20;
  if (type.size != type.true_extent) return false;
  if (constructed_contiguous(h, type.handle)) return true;
  if (type.size > kLimit) return false;
  std::vector<unsigned char> element(type.size), packed(type.size);
  for (int shift = 0; shift == 0 || (type.size - 1) >> shift; shift += 8) {
    for (int64_t i = 0; i < type.size; ++i) element[i] = static_cast<unsigned char>(i >> shift);
    int position = 0;
    if (h.Pack(element.data() - type.true_lb, 1, type.handle, packed.data(),
               static_cast<int>(type.size), &position, MPI_COMM_SELF) != MPI_SUCCESS)
      return false;
    complete_packing(h, element.data() - type.true_lb, 1, type.handle, packed.data(), position);
    if (element != packed) return false;
  }
  return true;
}

/// Fills `type` from the host; returns the host's code. Runs on the host stack.
int describe(const host::Api& h, MPI_Datatype handle, DerivedType* type) {
  // Packing zero elements fails if the type is unknown or not committed; no other call of the host
  // shows that.
  char nothing[1] = {};
  int position = 0;
  int code = h.Pack(nothing, 0, handle, nothing, 0, &position, MPI_COMM_SELF);
  if (code != MPI_SUCCESS) return code;
  MPI_Count size, lb, extent, true_lb, true_extent, integers, addresses, counts, types;
  int combiner = MPI_COMBINER_NAMED;
  code = h.Type_size_x(handle, &size);
  if (code == MPI_SUCCESS) code = h.Type_get_extent_x(handle, &lb, &extent);
  if (code == MPI_SUCCESS) code = h.Type_get_true_extent_x(handle, &true_lb, &true_extent);
  if (code == MPI_SUCCESS)
    code = h.Type_get_envelope_c(handle, &integers, &addresses, &counts, &types, &combiner);
  // This type of the same layout cannot be freed by the user. MPI_Type_dup would call the user's
  // attribute copy functions.
  if (code == MPI_SUCCESS) code = h.Type_create_resized(handle, lb, extent, &type->handle);
  if (code == MPI_SUCCESS) code = h.Type_commit(&type->handle);
  if (code != MPI_SUCCESS) return code;
  if (const MPI_Datatype values = type_of_precision(combiner, size); values != MPI_DATATYPE_NULL)
    types_of_precision()[handle] = values;
  type->size = size;
  type->lb = lb;
  type->extent = extent;
  type->true_lb = true_lb;
  type->true_extent = true_extent;
  type->contiguous = size == 0 || (size == extent && packs_contiguous(h, *type));
  type->references = 1;  // the cache's reference
  return MPI_SUCCESS;
}

Status describe_new_type(MPI_Datatype handle, DerivedType** out) {
  if (handle == MPI_DATATYPE_NULL)
    return error(MPI_ERR_TYPE, "datatype MPI_DATATYPE_NULL: allowed is a committed datatype");
  auto& map = cache();
  if (auto found = map.find(handle); found != map.end()) {
    *out = found->second;
    return {};
  }
  DerivedType type{};
  int code = MPI_ERR_TYPE;
  if (!is_basic(handle))
    code = host::call([&](const host::Api& h) { return describe(h, handle, &type); });
  if (code != MPI_SUCCESS)
    return error(MPI_ERR_TYPE,
                 "datatype 0x%08x is unknown or not committed: allowed is a committed datatype",
                 static_cast<unsigned>(handle));
  *out = map.emplace(handle, new DerivedType(type)).first->second;
  return {};
}

Status host_failed(const char* what, int code) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  host::call([&](const host::Api& h) { return h.Error_string(code, words, &length); });
  return error(MPI_ERR_TYPE, "the hosted MPI cannot %s this datatype: %s", what, words);
}

/// Runs the host's packing in pieces of about a gibibyte, at least one element. `step(h, first,
/// elements, offset)` packs or unpacks some elements and returns the host's code.
template <class Step>
Status in_pieces(const char* what, int64_t count, int64_t size, Step&& step) {
  constexpr int64_t kMost = 1 << 30;
  const int64_t piece = std::max<int64_t>(1, kMost / size);
  int code = host::call([&](const host::Api& h) {
    for (int64_t first = 0; first < count; first += piece) {
      int64_t elements = std::min(piece, count - first);
      int code = step(h, first, elements, first * size);
      if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
  });
  return code == MPI_SUCCESS ? Status() : host_failed(what, code);
}

const char* at(const void* buffer, int64_t offset) {
  return static_cast<const char*>(buffer) + offset;
}
char* at(void* buffer, int64_t offset) { return static_cast<char*>(buffer) + offset; }

}  // namespace

int64_t complete_packing(const host::Api& h, const void* in, int64_t count, MPI_Datatype type,
                         void* out, int64_t packed) {
  MPI_Count size, true_lb, true_extent;
  if (h.Type_size_x(type, &size) != MPI_SUCCESS || packed >= count * size ||
      h.Type_get_true_extent_x(type, &true_lb, &true_extent) != MPI_SUCCESS)
    return packed;
  std::memcpy(at(out, packed), at(in, true_lb + packed), count * size - packed);
  return count * size;
}

namespace {

/// Copies pairs that have padding on one side: in `to` if `unpacking`, else in `from`.
template <class V>
void copy_padded_pairs(const char* from, char* to, int64_t count, bool unpacking) {
  using Pair = PairOf<V, int>;
  constexpr size_t kIndex = offsetof(Pair, index), kPadded = sizeof(Pair);
  constexpr size_t kPacked = sizeof(V) + sizeof(int);
  for (; count > 0; --count) {
    std::memcpy(to, from, sizeof(V));
    std::memcpy(to + (unpacking ? kIndex : sizeof(V)), from + (unpacking ? sizeof(V) : kIndex),
                sizeof(int));
    from += unpacking ? kPacked : kPadded;
    to += unpacking ? kPadded : kPacked;
  }
}

/// Copies padded pairs. Returns false when the type is not one of them.
bool copy_if_padded_pairs(MPI_Datatype handle, const void* from, void* to, int64_t count,
                          bool unpacking) {
  const char* in = static_cast<const char*>(from);
  char* out = static_cast<char*>(to);
  switch (handle) {
    case MPI_DOUBLE_INT:
      copy_padded_pairs<double>(in, out, count, unpacking);
      return true;
    case MPI_LONG_INT:
      copy_padded_pairs<long>(in, out, count, unpacking);
      return true;
    case MPI_SHORT_INT:
      copy_padded_pairs<short>(in, out, count, unpacking);
      return true;
    case MPI_LONG_DOUBLE_INT:
      copy_padded_pairs<long double>(in, out, count, unpacking);
      return true;
    default:
      return false;
  }
}

/// Calls use(h, address, type) with an address that is not null. With MPI_BOTTOM the type holds
/// absolute addresses (MPI-4.0 section 5.1.12), and the host's packing refuses the null pointer: so
/// the address is moved up, and the type down by as many bytes.
template <class Address, class Use>
int with_nonnull_address(const host::Api& h, Address* address, MPI_Datatype type, Use&& use) {
  if (address) return use(address, type);
  constexpr MPI_Aint kUp = 64, kDown = -kUp;
  const int one = 1;
  MPI_Datatype moved;
  int code = h.Type_create_hindexed(1, &one, &kDown, type, &moved);
  if (code != MPI_SUCCESS) return code;
  code = h.Type_commit(&moved);
  if (code == MPI_SUCCESS) code = use(reinterpret_cast<Address*>(kUp), moved);
  int freed = h.Type_free(&moved);
  return code == MPI_SUCCESS ? freed : code;
}

Status pack_scattered(const void* buffer, int64_t count, const Type& type, void* out) {
  if (copy_if_padded_pairs(type.handle(), buffer, out, count, false)) return {};
  const int64_t size = type.size();
  return in_pieces(
      "pack", count, size, [&](const host::Api& h, int64_t first, int64_t n, int64_t offset) {
        MPI_Count position = 0;
        return with_nonnull_address(
            h, at(buffer, first * type.extent()), type.host_handle(),
            [&](const char* address, MPI_Datatype t) {
              int code =
                  h.Pack_c(address, n, t, at(out, offset), n * size, &position, MPI_COMM_SELF);
              if (code == MPI_SUCCESS)
                complete_packing(h, address, n, t, at(out, offset), position);
              return code;
            });
      });
}

Status unpack_scattered(const void* in, void* buffer, int64_t count, const Type& type) {
  if (copy_if_padded_pairs(type.handle(), in, buffer, count, true)) return {};
  const int64_t size = type.size();
  return in_pieces(
      "unpack", count, size, [&](const host::Api& h, int64_t first, int64_t n, int64_t offset) {
        MPI_Count position = 0;
        return with_nonnull_address(h, at(buffer, first * type.extent()), type.host_handle(),
                                    [&](char* address, MPI_Datatype t) {
                                      return h.Unpack_c(at(in, offset), n * size, &position,
                                                        address, n, t, MPI_COMM_SELF);
                                    });
      });
}

/// Unpacks the first `bytes` bytes of one element, fewer than it has, and leaves the rest of it
/// untouched. It does so by a message from the host's MPI_COMM_SELF to itself: the host's unpacking
/// accepts whole elements only, a receive does not.
Status unpack_part(const void* in, int64_t bytes, void* element, const Type& type) {
  if (pair_index(type.handle()) < kPairTypes) {
    const int64_t value = std::min(bytes, type.size() - int64_t{sizeof(int)});
    std::memcpy(element, in, value);
    std::memcpy(at(element, type.true_extent() - int64_t{sizeof(int)}), at(in, value),
                bytes - value);
    return {};
  }
  int code = host::call([&](const host::Api& h) {
    return with_nonnull_address(h, static_cast<char*>(element), type.host_handle(),
                                [&](char* address, MPI_Datatype t) {
                                  MPI_Datatype sent = MPI_BYTE;
                                  int count = static_cast<int>(bytes), code = MPI_SUCCESS;
                                  if (bytes > INT_MAX) {
                                    count = 1;
                                    code = h.Type_contiguous_c(bytes, MPI_BYTE, &sent);
                                    if (code == MPI_SUCCESS) code = h.Type_commit(&sent);
                                  }
                                  if (code == MPI_SUCCESS)
                                    code = h.Sendrecv(in, count, sent, 0, 0, address, 1, t, 0, 0,
                                                      MPI_COMM_SELF, MPI_STATUS_IGNORE);
                                  if (sent != MPI_BYTE && sent != MPI_DATATYPE_NULL)
                                    h.Type_free(&sent);
                                  return code;
                                });
  });
  return code == MPI_SUCCESS ? Status() : host_failed("unpack a part of", code);
}

}  // namespace

Status Type::of(MPI_Datatype handle, Type* out) {
  DerivedType* derived = nullptr;
  int64_t size;
  if (__builtin_expect(is_basic(handle) && basic_type(handle), 1)) {
    size = basic_size(handle);
  } else {
    if (pair_index(handle) < kPairTypes)
      derived = &g_pairs[pair_index(handle)];
    else
      FGMPI_TRY(describe_new_type(handle, &derived));
    size = derived->size;
    ++derived->references;
  }
  if (out->derived_) release(out->derived_);
  out->handle_ = handle;
  out->derived_ = derived;
  out->size_ = size;
  return {};
}

Type::Type(const Type& other)
    : handle_(other.handle_), derived_(other.derived_), size_(other.size_) {
  if (derived_) ++derived_->references;
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

Type::~Type() {
  if (derived_) release(derived_);
}

MPI_Datatype values_of(const Type& type) {
  const MPI_Datatype handle = type.handle();
  if (type.basic() || pair_index(handle) < kPairTypes) return handle;
  auto found = types_of_precision().find(handle);
  return found == types_of_precision().end() ? MPI_DATATYPE_NULL : found->second;
}

void type_freed(MPI_Datatype handle) {
  auto found = cache().find(handle);
  if (found == cache().end()) return;
  DerivedType* type = found->second;
  cache().erase(found);
  type->freed = true;
  release(type);
}

size_t cached_types() { return cache().size(); }

Status pack(const void* buffer, int64_t count, const Type& type, void* out) {
  if (count <= 0 || type.size() == 0) return {};
  if (!type.contiguous()) return pack_scattered(buffer, count, type, out);
  std::memcpy(out, at(buffer, type.true_lb()), count * type.size());
  return {};
}

Status unpack(const void* in, int64_t bytes, void* buffer, int64_t count, const Type& type) {
  const int64_t size = type.size();
  if (count <= 0 || size == 0 || bytes <= 0) return {};
  bytes = std::min(bytes, count * size);
  if (type.contiguous()) {
    std::memcpy(at(buffer, type.true_lb()), in, bytes);
    return {};
  }
  const int64_t whole = bytes / size, rest = bytes % size;
  if (whole > 0) FGMPI_TRY(unpack_scattered(in, buffer, whole, type));
  if (rest == 0) return {};
  return unpack_part(at(in, whole * size), rest, at(buffer, whole * type.extent()), type);
}

Status check_end(int64_t bytes, const Type& type) {
  const int64_t size = type.size();
  if (size == 0 || bytes % size == 0) return {};
  // MPICH 4.0 counts whole elements: if the last byte ends an element, the counts differ by one.
  // Later versions answer MPI_UNDEFINED where the bytes end within an element.
  MPI_Count elements[2] = {0, 0};
  int code = MPI_SUCCESS;
  for (int i = 0; i < 2 && code == MPI_SUCCESS; ++i)
    code = host::call([&](const host::Api& h) {
      MPI_Status status;
      int failed = h.Status_set_elements_x(&status, MPI_BYTE, bytes - i);
      return failed ? failed : h.Get_elements_x(&status, type.host_handle(), &elements[i]);
    });
  if (code != MPI_SUCCESS) return host_failed("count elements of", code);
  if (elements[0] != MPI_UNDEFINED && elements[0] != elements[1]) return {};
  return error(MPI_ERR_TYPE,
               "a message of %s ends within a basic element of the receive's datatype "
               "0x%08x; allowed are messages of the receive's type signature or its beginning",
               count_words(static_cast<uint64_t>(bytes), "byte").c_str(),
               static_cast<unsigned>(type.handle()));
}

Status copy(const void* from, int64_t from_count, const Type& from_type, void* to, int64_t to_count,
            const Type& to_type) {
  const int64_t sent = std::max<int64_t>(from_count, 0) * from_type.size();
  const int64_t room = std::max<int64_t>(to_count, 0) * to_type.size();
  if (from_type.contiguous()) {
    FGMPI_TRY(unpack(at(from, from_type.true_lb()), std::min(sent, room), to, to_count, to_type));
  } else if (to_type.contiguous() && sent <= room) {
    FGMPI_TRY(pack(from, from_count, from_type, at(to, to_type.true_lb())));
  } else if (room > 0 && sent > 0) {
    std::vector<char> packed(sent);
    FGMPI_TRY(pack(from, from_count, from_type, packed.data()));
    FGMPI_TRY(unpack(packed.data(), std::min(sent, room), to, to_count, to_type));
  }
  if (sent <= room) return {};
  return error(MPI_ERR_TRUNCATE, "%s sent, but the receive buffer holds %lld",
               sent == 1 ? "1 byte was" : (std::to_string(sent) + " bytes were").c_str(),
               static_cast<long long>(room));
}

}  // namespace fgmpi::datatype
