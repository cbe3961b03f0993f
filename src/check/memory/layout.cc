// Decoding datatypes into signatures and ranges of bytes, and comparing what two types describe.

#include "check/memory/layout.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/count_words.h"
#include "base/strings.h"
#include "check/rank.h"
#include "datatype/basic_type.h"

namespace fgmpi::check {
namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr uint64_t kBase = 0x16a09e667f3bcc9;  ///< the root of 2: any number below the prime

uint64_t multiply(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  const uint64_t sum =
      (static_cast<uint64_t>(product) & kPrime) + static_cast<uint64_t>(product >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}
uint64_t add(uint64_t a, uint64_t b) { return a + b >= kPrime ? a + b - kPrime : a + b; }
uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base = multiply(base, base))
    if (exponent & 1) result = multiply(result, base);
  return result;
}

/// Types of one class and size match: MPI_INT and MPI_INT32_T, or a type of C and one of Fortran.
using enum ElementClass;
using Class = ElementClass;

struct Predefined {
  MPI_Datatype type;
  Class of;
  const char* name;
};
#define ONE(type, of) \
  { type, of, #type }
const Predefined kClasses[] = {ONE(MPI_CHAR, kChar),
                               ONE(MPI_CHARACTER, kChar),
                               ONE(MPI_SIGNED_CHAR, kSigned),
                               ONE(MPI_UNSIGNED_CHAR, kUnsigned),
                               ONE(MPI_BYTE, kByte),
                               ONE(MPI_WCHAR, kChar),
                               ONE(MPI_SHORT, kSigned),
                               ONE(MPI_UNSIGNED_SHORT, kUnsigned),
                               ONE(MPI_INT, kSigned),
                               ONE(MPI_UNSIGNED, kUnsigned),
                               ONE(MPI_LONG, kSigned),
                               ONE(MPI_UNSIGNED_LONG, kUnsigned),
                               ONE(MPI_LONG_LONG, kSigned),
                               ONE(MPI_UNSIGNED_LONG_LONG, kUnsigned),
                               ONE(MPI_INT8_T, kSigned),
                               ONE(MPI_INT16_T, kSigned),
                               ONE(MPI_INT32_T, kSigned),
                               ONE(MPI_INT64_T, kSigned),
                               ONE(MPI_UINT8_T, kUnsigned),
                               ONE(MPI_UINT16_T, kUnsigned),
                               ONE(MPI_UINT32_T, kUnsigned),
                               ONE(MPI_UINT64_T, kUnsigned),
                               ONE(MPI_AINT, kSigned),
                               ONE(MPI_OFFSET, kSigned),
                               ONE(MPI_COUNT, kSigned),
                               ONE(MPI_INTEGER, kSigned),
                               ONE(MPI_INTEGER1, kSigned),
                               ONE(MPI_INTEGER2, kSigned),
                               ONE(MPI_INTEGER4, kSigned),
                               ONE(MPI_INTEGER8, kSigned),
                               ONE(MPI_INTEGER16, kSigned),
                               ONE(MPI_FLOAT, kFloat),
                               ONE(MPI_DOUBLE, kFloat),
                               ONE(MPI_LONG_DOUBLE, kFloat),
                               ONE(MPI_REAL, kFloat),
                               ONE(MPI_DOUBLE_PRECISION, kFloat),
                               ONE(MPI_REAL4, kFloat),
                               ONE(MPI_REAL8, kFloat),
                               ONE(MPI_C_FLOAT_COMPLEX, kComplex),
                               ONE(MPI_C_DOUBLE_COMPLEX, kComplex),
                               ONE(MPI_COMPLEX, kComplex),
                               ONE(MPI_DOUBLE_COMPLEX, kComplex),
                               ONE(MPI_COMPLEX8, kComplex),
                               ONE(MPI_COMPLEX16, kComplex),
                               ONE(MPI_CXX_FLOAT_COMPLEX, kComplex),
                               ONE(MPI_CXX_DOUBLE_COMPLEX, kComplex),
                               ONE(MPI_C_BOOL, kLogical),
                               ONE(MPI_CXX_BOOL, kLogical),
                               ONE(MPI_LOGICAL, kLogical),
                               ONE(MPI_LOGICAL1, kLogical),
                               ONE(MPI_LOGICAL2, kLogical),
                               ONE(MPI_LOGICAL4, kLogical),
                               ONE(MPI_LOGICAL8, kLogical),
                               ONE(MPI_LOGICAL16, kLogical),
                               ONE(MPI_PACKED, kPacked)};
#undef ONE

const Predefined* find_predefined(MPI_Datatype type) {
  static const auto* known = [] {
    auto* all = new std::unordered_map<int, const Predefined*>;
    for (const Predefined& p : kClasses) all->try_emplace(p.type, &p);
    return all;
  }();
  auto found = known->find(type);
  return found == known->end() ? nullptr : found->second;
}

/// MPICH stores the size of a predefined type, other than a pair type, in the second
/// byte of its handle.
int size_in_handle(MPI_Datatype type) {
  return static_cast<int>(static_cast<uint32_t>(type) >> 8 & 0xff);
}

struct PairType {
  MPI_Datatype type, first, second;
};
const PairType kPairs[] = {{MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
                           {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
                           {MPI_LONG_INT, MPI_LONG, MPI_INT},
                           {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
                           {MPI_2INT, MPI_INT, MPI_INT},
                           {MPI_2REAL, MPI_REAL, MPI_REAL},
                           {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
                           {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
                           {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION}};

void append_sequence(TypeLayout* l, const std::vector<uint8_t>& more, int64_t times) {
  for (int64_t i = 0; i < times && l->sequence.size() <= TypeLayout::kMostSequence; ++i)
    l->sequence.insert(l->sequence.end(), more.begin(), more.end());
}

void append_block(TypeLayout* l, int64_t offset, int64_t bytes) {
  if (bytes == 0) return;
  if (!l->blocks.empty() && l->blocks.back().offset + l->blocks.back().bytes == offset) {
    l->blocks.back().bytes += bytes;
  } else if (l->blocks.size() >= TypeLayout::kMostBlocks) {
    l->exact = false;
  } else {
    l->blocks.push_back({offset, bytes});
  }
}

/// Appends `count` elements of `part`, the first at `offset`.
void append_elements(TypeLayout* l, const TypeLayout& part, int64_t offset, int64_t count) {
  if (count <= 0) return;
  l->signature = joined(l->signature, repeated(part.signature, static_cast<uint64_t>(count)));
  append_sequence(l, part.sequence, count);
  l->exact = l->exact && part.exact;
  if (part.contiguous())
    return append_block(l, offset + part.blocks[0].offset, count * part.extent);
  for (int64_t i = 0; i < count && l->exact; ++i)
    for (const ByteBlock& b : part.blocks)
      append_block(l, offset + i * part.extent + b.offset, b.bytes);
}

void of_basic(MPI_Datatype type, TypeLayout* l) {
  const Predefined* p = find_predefined(type);
  int size = size_in_handle(type);
  if (!p) g_next.MPI_Type_size(type, &size);
  const Class of = p ? p->of : kOther;
  const auto number = static_cast<uint8_t>(
      static_cast<int>(of) * 16 + __builtin_popcount(static_cast<unsigned>(size) - 1) % 16);
  l->signature = {number + uint64_t{1}, 1, of != kOther, of == kPacked};
  l->sequence = {number};
  l->size = l->extent = l->high = size;
  append_block(l, 0, size);
}

/// The arguments that made a derived type. The destructor frees the datatypes among them.
struct TypeArguments {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> ints;
  std::vector<MPI_Aint> aints;
  std::vector<MPI_Datatype> types;

  bool read(MPI_Datatype type) {
    MPI_Count integers = 0, addresses = 0, large = 0, datatypes = 0;
    if (g_next.MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &datatypes,
                                       &combiner) != MPI_SUCCESS ||
        large > 0)
      return false;
    if (combiner == MPI_COMBINER_NAMED) return true;
    const int ni = static_cast<int>(integers), na = static_cast<int>(addresses),
              nt = static_cast<int>(datatypes);
    ints.resize(static_cast<size_t>(ni) + 1);
    aints.resize(static_cast<size_t>(na) + 1);
    types.resize(static_cast<size_t>(nt) + 1);
    const bool read = g_next.MPI_Type_get_contents(type, ni, na, nt, ints.data(), aints.data(),
                                                   types.data()) == MPI_SUCCESS;
    types.resize(read ? static_cast<size_t>(nt) : 0);
    return read;
  }
  ~TypeArguments() {
    for (MPI_Datatype& t : types)
      if (!is_predefined(t) && !is_permanent(t)) g_next.MPI_Type_free(&t);
  }
  /// Is it a predefined type, or one that MPI_Type_create_f90_* returns, which nobody may free?
  static bool is_permanent(MPI_Datatype type) {
    MPI_Count a = 0, b = 0, c = 0, d = 0;
    int combiner = MPI_COMBINER_NAMED;
    g_next.MPI_Type_get_envelope_c(type, &a, &b, &c, &d, &combiner);
    return combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == datatype::kCombinerValueIndex ||
           combiner == MPI_COMBINER_NAMED;
  }
};

void of_subarray(const TypeArguments& c, const TypeLayout& part, TypeLayout* l) {
  const int n = c.ints[0];
  const int *sizes = &c.ints[1], *sub = sizes + n, *starts = sub + n;
  const bool fortran = c.ints[static_cast<size_t>(1 + 3 * n)] == MPI_ORDER_FORTRAN;
  std::vector<int> at(static_cast<size_t>(n), 0);
  for (int i = 0; i < n; ++i)
    if (sub[i] <= 0) return;
  // `dimension` maps 0 to the dimension that changes slowest and n - 1 to the fastest.
  auto dimension = [&](int k) { return fortran ? n - 1 - k : k; };
  const int fastest = dimension(n - 1);
  int64_t rows = 1;
  for (int i = 0; i < n; ++i) rows *= i == fastest ? 1 : sub[i];
  for (int64_t row = 0; row < rows && (l->exact || l->signature.known); ++row) {
    int64_t offset = 0;
    for (int k = 0; k < n; ++k) {
      const int d = dimension(k);
      offset = offset * sizes[d] + starts[d] + (d == fastest ? 0 : at[static_cast<size_t>(d)]);
    }
    append_elements(l, part, offset * part.extent, sub[fastest]);
    if (row > int64_t{1} << 16) l->signature.known = l->exact = false;
    for (int k = n - 2; k >= 0; --k) {
      const auto d = static_cast<size_t>(dimension(k));
      if (++at[d] < sub[d]) break;
      at[d] = 0;
    }
  }
}

void of_contents(const TypeArguments& c, const std::vector<TypeLayout>& parts, TypeLayout* l) {
  const int n = c.ints[0];
  const TypeLayout& part = parts[0];
  switch (c.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return append_elements(l, part, 0, 1);
    case MPI_COMBINER_CONTIGUOUS:
      return append_elements(l, part, 0, n);
    case MPI_COMBINER_VECTOR:
      for (int i = 0; i < n; ++i)
        append_elements(l, part, int64_t{i} * c.ints[2] * part.extent, c.ints[1]);
      return;
    case MPI_COMBINER_HVECTOR:
      for (int i = 0; i < n; ++i) append_elements(l, part, i * c.aints[0], c.ints[1]);
      return;
    case MPI_COMBINER_INDEXED:
      for (size_t i = 1, m = static_cast<size_t>(n); i <= m; ++i)
        append_elements(l, part, c.ints[m + i] * part.extent, c.ints[i]);
      return;
    case MPI_COMBINER_HINDEXED:
      for (size_t i = 0, m = static_cast<size_t>(n); i < m; ++i)
        append_elements(l, part, c.aints[i], c.ints[i + 1]);
      return;
    case MPI_COMBINER_INDEXED_BLOCK:
      for (size_t i = 0, m = static_cast<size_t>(n); i < m; ++i)
        append_elements(l, part, c.ints[i + 2] * part.extent, c.ints[1]);
      return;
    case MPI_COMBINER_HINDEXED_BLOCK:
      for (size_t i = 0, m = static_cast<size_t>(n); i < m; ++i)
        append_elements(l, part, c.aints[i], c.ints[1]);
      return;
    case MPI_COMBINER_STRUCT:
      for (size_t i = 0, m = static_cast<size_t>(n); i < m; ++i)
        append_elements(l, parts[i], c.aints[i], c.ints[i + 1]);
      return;
    case MPI_COMBINER_SUBARRAY:
      return of_subarray(c, part, l);
    default:
      l->signature.known = l->exact = false;
  }
}

/// A type on the way from the outermost one inwards, with the layouts of those of its components
/// that are decoded so far.
struct TypeInDecoding {
  TypeLayout layout;
  TypeArguments arguments;  ///< without types where the layout is whole already
  std::vector<TypeLayout> parts;
};

/// Decodes what does not depend on components.
void begin_type(MPI_Datatype type, TypeInDecoding* out) {
  TypeLayout& l = out->layout;
  if (find_predefined(type)) return of_basic(type, &l);
  MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
  g_next.MPI_Type_get_extent(type, &low, &extent);
  g_next.MPI_Type_get_true_extent(type, &true_low, &true_extent);
  l.extent = extent;
  l.low = true_low;
  l.high = true_low + true_extent;
  MPI_Count size = 0;
  g_next.MPI_Type_size_x(type, &size);
  l.size = size;
  const auto of_pair = [&l](MPI_Datatype value, MPI_Datatype index) {
    TypeLayout first, second;
    of_basic(value, &first);
    of_basic(index, &second);
    l.signature = joined(first.signature, second.signature);
    l.sequence = {first.sequence[0], second.sequence[0]};
    append_block(&l, 0, l.high);
  };
  for (const PairType& pair : kPairs)
    if (pair.type == type) return of_pair(pair.first, pair.second);
  TypeArguments& c = out->arguments;
  const bool read = c.read(type);
  if (!read || c.types.empty()) l.signature.known = l.exact = false;
  if (read && c.combiner == datatype::kCombinerValueIndex) {
    of_pair(c.types[0], c.types[1]);
    c.types.clear();  // they are no parts to be decoded
  }
}

TypeLayout end_type(TypeInDecoding* type) {
  if (!type->parts.empty()) of_contents(type->arguments, type->parts, &type->layout);
  return std::move(type->layout);
}

/// Decodes a type. Its components are decoded in a loop, since types may be nested deeper than a
/// rank's stack could follow.
TypeLayout build(MPI_Datatype type) {
  std::vector<std::unique_ptr<TypeInDecoding>> open;
  for (MPI_Datatype next = type;;) {
    open.push_back(std::make_unique<TypeInDecoding>());
    begin_type(next, open.back().get());
    while (open.back()->parts.size() == open.back()->arguments.types.size()) {
      TypeLayout whole = end_type(open.back().get());
      open.pop_back();
      if (open.empty()) return whole;
      open.back()->parts.push_back(std::move(whole));
    }
    next = open.back()->arguments.types[open.back()->parts.size()];
  }
}

bool is_known(MPI_Datatype type) {
  for (const PairType& pair : kPairs)
    if (pair.type == type) return true;
  return find_predefined(type) != nullptr;
}

std::unordered_map<int, TypeLayout>& layouts() {
  static auto* all = new std::unordered_map<int, TypeLayout>;
  return *all;
}

}  // namespace

TypeSignature joined(const TypeSignature& a, const TypeSignature& b) {
  return {add(multiply(a.hash, power(kBase, b.length)), b.hash), a.length + b.length,
          a.known && b.known, a.packed || b.packed};
}

TypeSignature repeated(TypeSignature one, uint64_t times) {
  TypeSignature result{0, 0, one.known, one.packed && times > 0};
  uint64_t shift = power(kBase, one.length);  // factor of the hash for appending another `one`
  for (; times; times >>= 1) {
    if (times & 1) {
      result.hash = add(multiply(result.hash, shift), one.hash);
      result.length += one.length;
    }
    one.hash = add(multiply(one.hash, shift), one.hash);
    one.length *= 2;
    shift = multiply(shift, shift);
  }
  return result;
}

namespace {

/// Layouts of MPICH's basic types, by the last byte of their handles.
struct Basic {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const TypeLayout* layout = nullptr;
};
Basic g_basic[256];

Basic& basic_of(MPI_Datatype type) { return g_basic[static_cast<uint32_t>(type) & 0xff]; }

/// A cache of the last signatures, because programs send the same counts again and again.
TypeSignature repeated_basic(MPI_Datatype type, const TypeSignature& one, uint64_t count) {
  if (count == 1) return one;
  if (!is_predefined(type)) return repeated(one, count);
  struct CachedSignature {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    uint64_t count = 0;
    TypeSignature signature;
  };
  static CachedSignature kept[64];
  CachedSignature& k =
      kept[(count ^ count >> 6 ^ static_cast<uint32_t>(type) * 7) % std::size(kept)];
  if (k.type != type || k.count != count) k = {type, count, repeated(one, count)};
  return k.signature;
}

}  // namespace

const TypeLayout* layout_of(MPI_Datatype type) {
  if (basic_of(type).type == type && type != MPI_DATATYPE_NULL) return basic_of(type).layout;
  if (type == MPI_DATATYPE_NULL || (is_predefined(type) && !is_known(type))) return nullptr;
  const Rank* rank = current_rank();
  if (!is_predefined(type) &&
      (!rank ||
       !rank->made[static_cast<size_t>(Object::kDatatype)].contains(static_cast<uint32_t>(type))))
    return nullptr;
  auto found = layouts().find(type);
  if (found == layouts().end()) {
    TypeLayout built = build(type);
    built.overlaps = has_overlap(built.blocks);
    found = layouts().insert_or_assign(type, std::move(built)).first;
  }
  // Elements of an unordered_map keep their address.
  if (is_predefined(type)) basic_of(type) = {type, &found->second};
  return &found->second;
}

bool is_floating(MPI_Datatype type) {
  const Predefined* p = find_predefined(type);
  return p && (p->of == kFloat || p->of == kComplex);
}

bool basic_elements_of(MPI_Datatype type, std::vector<BasicElement>* elements) {
  elements->clear();
  const TypeLayout* l = layout_of(type);
  if (!l || !l->exact || !l->signature.known || l->sequence.size() != l->signature.length)
    return false;
  auto block = l->blocks.begin();
  int64_t at = 0;  // in the block
  for (const uint8_t number : l->sequence) {
    const int64_t bytes = int64_t{1} << number % 16;
    if (block == l->blocks.end() || at + bytes > block->bytes) return false;
    elements->push_back({static_cast<ElementClass>(number / 16), bytes, block->offset + at});
    at += bytes;
    if (at < block->bytes) continue;
    ++block;
    at = 0;
  }
  return block == l->blocks.end();
}

bool has_overlap(std::vector<ByteBlock> blocks) {
  std::sort(blocks.begin(), blocks.end(),
            [](const ByteBlock& a, const ByteBlock& b) { return a.offset < b.offset; });
  for (size_t i = 1; i < blocks.size(); ++i)
    if (blocks[i].offset < blocks[i - 1].offset + blocks[i - 1].bytes) return true;
  return false;
}

void forget_layout(MPI_Datatype type) { layouts().erase(type); }

TypeSignature signature_of(MPI_Datatype type, int64_t count) {
  if (count <= 0) return {};
  const TypeLayout* l = layout_of(type);
  if (!l) return {0, 0, false, false};
  return repeated_basic(type, l->signature, static_cast<uint64_t>(count));
}

TypeSignature beginning_of(MPI_Datatype type, int64_t count, uint64_t length) {
  if (length == 0) return {};
  TypeSignature unknown;
  unknown.known = false;
  const TypeLayout* l = layout_of(type);
  if (!l || !l->signature.known || l->signature.length == 0) return unknown;
  const uint64_t whole = std::min(length / l->signature.length, static_cast<uint64_t>(count));
  uint64_t rest = length - whole * l->signature.length;
  TypeSignature result = repeated_basic(type, l->signature, whole);
  if (rest == 0 || whole == static_cast<uint64_t>(count)) return result;
  if (l->sequence.size() < rest) return unknown;
  for (uint64_t i = 0; i < rest; ++i)
    result = joined(result, {l->sequence[i] + uint64_t{1}, 1, true,
                             static_cast<ElementClass>(l->sequence[i] / 16) == kPacked});
  return result;
}

std::string words_of(MPI_Datatype type, int64_t count) {
  if (type == MPI_DATATYPE_NULL) return "MPI_DATATYPE_NULL";
  if (const Predefined* p = find_predefined(type))
    return format("%lld x %s", static_cast<long long>(count), p->name);
  const TypeLayout* l = layout_of(type);
  return format("%lld x a type of %s", static_cast<long long>(count),
                count_words(l ? l->signature.length : 0, "element").c_str());
}

}  // namespace fgmpi::check
