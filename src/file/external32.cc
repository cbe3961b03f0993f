// Encoding and decoding of each basic type in external32.

#include "file/external32.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstring>

#include "base/count_words.h"
#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "datatype/value_index.h"

namespace fgmpi::file::external32 {
namespace {

enum class FieldConversion : uint8_t { kSwap, kSigned, kUnsigned, kQuad };

/// One member of an item: its bytes in memory and in the file.
struct External32Field {
  FieldConversion how = FieldConversion::kSwap;
  uint8_t memory = 0, file = 0;
};
struct External32Layout {
  External32Field parts[2];
  int count = 1;
};

constexpr External32Field swapped(size_t bytes) {
  return {FieldConversion::kSwap, static_cast<uint8_t>(bytes), static_cast<uint8_t>(bytes)};
}
constexpr External32Field kLong{FieldConversion::kSigned, sizeof(long), 4};
constexpr External32Field kUnsignedLong{FieldConversion::kUnsigned, sizeof(unsigned long), 4};
constexpr External32Field kWide{FieldConversion::kUnsigned, sizeof(wchar_t), 2};
constexpr External32Field kLongDouble{FieldConversion::kQuad, sizeof(long double), 16};

External32Layout layout_of(MPI_Datatype type) {
  if (datatype::is_value_index(type))
    return {{layout_of(datatype::value_of_pair(type)).parts[0],
             layout_of(datatype::index_of_pair(type)).parts[0]},
            2};
  const External32Field integer = swapped(sizeof(int));
  switch (type) {
    case MPI_LONG:
      return {{kLong}, 1};
    case MPI_UNSIGNED_LONG:
      return {{kUnsignedLong}, 1};
    case MPI_WCHAR:
      return {{kWide}, 1};
    case MPI_LONG_DOUBLE:
      return {{kLongDouble}, 1};
    case MPI_C_LONG_DOUBLE_COMPLEX:
    case MPI_CXX_LONG_DOUBLE_COMPLEX:
      return {{kLongDouble, kLongDouble}, 2};
    case MPI_FLOAT_INT:
      return {{swapped(sizeof(float)), integer}, 2};
    case MPI_DOUBLE_INT:
      return {{swapped(sizeof(double)), integer}, 2};
    case MPI_LONG_INT:
      return {{kLong, integer}, 2};
    case MPI_SHORT_INT:
      return {{swapped(sizeof(short)), integer}, 2};
    case MPI_LONG_DOUBLE_INT:
      return {{kLongDouble, integer}, 2};
    default:
      break;
  }
  const auto bytes = static_cast<size_t>(datatype::basic_size(type));
  const datatype::BasicType* known = datatype::basic_type(type);
  const bool two = known && (known->kind == datatype::BasicKind::kComplex ||
                             known->kind == datatype::BasicKind::kPair);
  if (two) return {{swapped(bytes / 2), swapped(bytes / 2)}, 2};
  return {{swapped(bytes)}, 1};
}

template <class T>
T load(const char* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

/// Converts the processor's byte order to the file's, or back.
void reverse(const char* in, size_t bytes, char* out) {
  if constexpr (std::endian::native == std::endian::little)
    std::reverse_copy(in, in + bytes, out);
  else
    std::memcpy(out, in, bytes);
}

int64_t integer_at(const char* in, const External32Field& part) {
  if (part.memory == 8) return load<int64_t>(in);
  return part.how == FieldConversion::kSigned ? int64_t{load<int32_t>(in)}
                                              : int64_t{load<uint32_t>(in)};
}

/// Returns false where the file's form has no such value.
bool encode_one(const External32Field& part, const char* in, char* out) {
  switch (part.how) {
    case FieldConversion::kSwap:
      reverse(in, part.file, out);
      return true;
    case FieldConversion::kQuad: {
      const auto quad = static_cast<processor::Quad>(load<long double>(in));
      reverse(reinterpret_cast<const char*>(&quad), sizeof quad, out);
      return true;
    }
    default: {
      const int64_t value = integer_at(in, part);
      const int bits = 8 * part.file;
      const int64_t least = part.how == FieldConversion::kSigned ? -(int64_t{1} << (bits - 1)) : 0;
      const int64_t most =
          (int64_t{1} << (part.how == FieldConversion::kSigned ? bits - 1 : bits)) - 1;
      for (int i = 0; i < part.file; ++i)
        out[i] = static_cast<char>(value >> (8 * (part.file - 1 - i)));
      return value >= least && value <= most;
    }
  }
}

void decode_one(const External32Field& part, const char* in, char* out) {
  switch (part.how) {
    case FieldConversion::kSwap:
      return reverse(in, part.file, out);
    case FieldConversion::kQuad: {
      processor::Quad quad;
      reverse(in, sizeof quad, reinterpret_cast<char*>(&quad));
      const auto value = static_cast<long double>(quad);
      std::memset(out, 0, part.memory);
      std::memcpy(out, &value, LDBL_MANT_DIG == 64 ? 10 : sizeof value);  // x86 has padding behind
      return;
    }
    default: {
      uint64_t value = part.how == FieldConversion::kSigned && (in[0] & 0x80) ? ~uint64_t{0} : 0;
      for (int i = 0; i < part.file; ++i) value = value << 8 | static_cast<uint8_t>(in[i]);
      const auto low = static_cast<uint32_t>(value);
      if (part.memory == 8)
        std::memcpy(out, &value, 8);
      else
        std::memcpy(out, &low, 4);
      return;
    }
  }
}

}  // namespace

int64_t size_of(MPI_Datatype type) {
  const External32Layout layout = layout_of(type);
  int64_t bytes = 0;
  for (int i = 0; i < layout.count; ++i) bytes += layout.parts[i].file;
  return bytes;
}

Status encode(MPI_Datatype type, const char* in, int64_t count, char* out) {
  const External32Layout layout = layout_of(type);
  for (int64_t n = 0; n < count; ++n) {
    for (int i = 0; i < layout.count; ++i) {
      const External32Field& part = layout.parts[i];
      if (!encode_one(part, in, out))
        return error(MPI_ERR_CONVERSION,
                     "a value is %lld, of a type with %s in \"external32\"; allowed is what "
                     "these can hold",
                     static_cast<long long>(integer_at(in, part)),
                     count_words(static_cast<uint64_t>(part.file), "byte").c_str());
      in += part.memory;
      out += part.file;
    }
  }
  return {};
}

void decode(MPI_Datatype type, const char* in, int64_t count, char* out) {
  const External32Layout layout = layout_of(type);
  for (int64_t n = 0; n < count; ++n) {
    for (int i = 0; i < layout.count; ++i) {
      decode_one(layout.parts[i], in, out);
      in += layout.parts[i].file;
      out += layout.parts[i].memory;
    }
  }
}

}  // namespace fgmpi::file::external32
