// Arguments of Fortran's procedures as C has them: buffers and arrays that may be constants of MPI
// (recognised by their addresses), strings without a null, logicals, files.
//
// Constants of mpif.h and the module mpi are common blocks of the program, those of mpi_f08
// variables of the library (constants.cc). Every procedure serves all three, so each constant has
// two addresses.
//
// Thread rule: any thread. Nothing here switches.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "fgmpi_standard.h"
#include "fortran/descriptor.h"
#include "host/exported_fortran.h"

/// Marks a procedure that the library's version script exports by its aliases.
#define FGMPI_PROCEDURE extern "C" __attribute__((visibility("hidden")))
/// Gives a procedure another name. Aliases are weak: a tool may define procedures of these names.
#define FGMPI_NAME(procedure, name) \
  extern "C"                        \
      __attribute__((weak, visibility("default"), alias(#procedure))) decltype(procedure) name
/// The names of a procedure as compilers spell it. `prefix`: mpi or pmpi.
#define FGMPI_SPELLINGS(procedure, prefix, PREFIX, lower, UPPER) \
  FGMPI_NAME(procedure, prefix##_##lower##_);                    \
  FGMPI_NAME(procedure, prefix##_##lower##__);                   \
  FGMPI_NAME(procedure, prefix##_##lower);                       \
  FGMPI_NAME(procedure, PREFIX##_##UPPER)

extern "C" {
// Where the constants of mpif.h lie in the running rank's program. src/privatize/image/fortran.cc
// changes these cells from rank to rank.
extern void* MPIR_F_MPI_BOTTOM;
extern void* MPIR_F_MPI_IN_PLACE;
extern int* MPIR_F_MPI_UNWEIGHTED;
extern int* MPIR_F_MPI_WEIGHTS_EMPTY;
extern void* MPIR_F_MPI_BUFFER_AUTOMATIC;
extern int* MPI_F_ERRCODES_IGNORE;
extern char* MPI_F_ARGV_NULL;
extern char* MPI_F_ARGVS_NULL;
// The constants of mpi_f08 that C programs do not know, under the names that gfortran gives the
// variables of MPICH's module. A program that is not position-independent has copies of them.
#define FGMPI_F08_CONSTANT(name) __mpi_f08_link_constants_MOD_mpi_##name
extern int FGMPI_F08_CONSTANT(unweighted)[1];
extern int FGMPI_F08_CONSTANT(weights_empty)[1];
extern int FGMPI_F08_CONSTANT(buffer_automatic)[1];
extern int FGMPI_F08_CONSTANT(errcodes_ignore)[1];
extern char FGMPI_F08_CONSTANT(argv_null)[1];
extern char FGMPI_F08_CONSTANT(argvs_null)[1];
}

namespace fgmpi::mpichfort {

using Logical = int;

inline void* buffer_or_bottom(const void* buffer) {
  if (__builtin_expect(buffer == MPIR_F_MPI_BOTTOM || buffer == &MPIR_F08_MPI_BOTTOM, 0))
    return MPI_BOTTOM;
  return const_cast<void*>(buffer);
}
/// Memory, not a message: MPI_Buffer_attach and its like have a constant of their own.
inline void* memory_or_constant(const void* memory) {
  if (memory == MPIR_F_MPI_BUFFER_AUTOMATIC || memory == FGMPI_F08_CONSTANT(buffer_automatic))
    return MPI_BUFFER_AUTOMATIC;
  return buffer_or_bottom(memory);
}
inline void* buffer_or_in_place(const void* buffer) {
  if (__builtin_expect(buffer == MPIR_F_MPI_IN_PLACE || buffer == &MPIR_F08_MPI_IN_PLACE, 0))
    return const_cast<void*>(MPI_IN_PLACE);
  return buffer_or_bottom(buffer);
}
inline MPI_Status* one_status(MPI_Status* status) {
  if (reinterpret_cast<MPI_Fint*>(status) == MPI_F_STATUS_IGNORE ||
      reinterpret_cast<MPI_F08_status*>(status) == &MPIR_F08_MPI_STATUS_IGNORE_OBJ)
    return MPI_STATUS_IGNORE;
  return status;
}
inline MPI_Status* all_statuses(MPI_Status* statuses) {
  if (reinterpret_cast<MPI_Fint*>(statuses) == MPI_F_STATUSES_IGNORE ||
      reinterpret_cast<MPI_F08_status*>(statuses) == MPIR_F08_MPI_STATUSES_IGNORE_OBJ)
    return MPI_STATUSES_IGNORE;
  return statuses;
}
static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status) &&
              sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint));

inline int* weights_or_constant(const int* weights) {
  if (weights == MPIR_F_MPI_UNWEIGHTED || weights == FGMPI_F08_CONSTANT(unweighted))
    return MPI_UNWEIGHTED;
  if (weights == MPIR_F_MPI_WEIGHTS_EMPTY || weights == FGMPI_F08_CONSTANT(weights_empty))
    return MPI_WEIGHTS_EMPTY;
  return const_cast<int*>(weights);
}
inline int* codes_or_ignore(int* codes) {
  if (codes == MPI_F_ERRCODES_IGNORE || codes == FGMPI_F08_CONSTANT(errcodes_ignore))
    return MPI_ERRCODES_IGNORE;
  return codes;
}

/// The descriptor of an array or scalar as the standard's ISO_Fortran_binding.h has it, which flang
/// passes for an assumed-rank argument.
struct StandardDescriptor {
  void* base;
  size_t element_bytes;
  int32_t version;
  uint8_t rank;
  uint8_t others[3];  ///< type and attribute, whose places differ between compilers
  struct Dimension {
    ptrdiff_t lower, extent, step;  ///< of bytes
  } dimensions[fortran::kMostDimensions];
};
static_assert(offsetof(StandardDescriptor, rank) == 20 &&
              offsetof(StandardDescriptor, dimensions) == 24);

/// gfortran's descriptor of the same array.
class SectionDescriptor {
 public:
  explicit SectionDescriptor(const StandardDescriptor& array) {
    array_.base = array.base;
    array_.offset = 0;
    array_.element_bytes = array.element_bytes;
    array_.version = 0;
    array_.rank = static_cast<int8_t>(array.rank);
    array_.type = 0;
    array_.attribute = 0;
    array_.span = 1;
    for (int i = 0; i < array_.rank; ++i)
      array_.dimensions[i] = {array.dimensions[i].step, 0, array.dimensions[i].extent - 1};
  }
  operator fortran::ArrayDescriptor*() { return &array_; }

 private:
  fortran::ArrayDescriptor array_;
};

/// Fortran counts indices from 1.
inline void count_from_one(int* index) {
  if (*index != MPI_UNDEFINED) ++*index;
}
inline void count_all_from_one(int found, int* indices) {
  for (int i = 0; i < found; ++i) ++indices[i];
}
/// Fortran compilers agree on 1 for .true. but some take other numbers for it, too.
inline void make_logical(Logical* value) { *value = *value != 0; }

/// A file's handle is a number in Fortran, a pointer in C.
class FileArgument {
 public:
  explicit FileArgument(MPI_Fint* number) : number_(number), file_(MPI_File_f2c(*number)) {}
  operator MPI_File*() { return &file_; }
  ~FileArgument() { *number_ = MPI_File_c2f(file_); }
  FileArgument(const FileArgument&) = delete;
  FileArgument& operator=(const FileArgument&) = delete;

 private:
  MPI_Fint* number_;
  MPI_File file_;
};
class NewFileArgument {
 public:
  explicit NewFileArgument(MPI_Fint* number) : number_(number) {}
  operator MPI_File*() { return &file_; }
  ~NewFileArgument() { *number_ = MPI_File_c2f(file_); }
  NewFileArgument(const NewFileArgument&) = delete;
  NewFileArgument& operator=(const NewFileArgument&) = delete;

 private:
  MPI_Fint* number_;
  MPI_File file_ = MPI_FILE_NULL;
};

/// A string without its trailing blanks.
inline std::string trimmed(const char* text, size_t length) {
  while (length > 0 && text[length - 1] == ' ') --length;
  return {text, length};
}
/// A key or value of an info object: without leading blanks, either (MPI-4.0 chapter 10).
inline std::string stripped(const char* text, size_t length) {
  while (length > 0 && *text == ' ') ++text, --length;
  return trimmed(text, length);
}

/// Room for a string of C; when the call is over, it is copied, with blanks behind it, unless the
/// call wrote none.
class StringResult {
 public:
  /// `most`: bytes that the call may write, with the null.
  StringResult(char* text, size_t length, size_t most)
      : text_(text), length_(length), room_(most + 1, '\0') {
    room_[0] = kUnwritten;
  }
  operator char*() { return room_.data(); }
  ~StringResult() {
    if (room_[0] == kUnwritten) return;
    const size_t n = std::min(strnlen(room_.data(), room_.size()), length_);
    std::memcpy(text_, room_.data(), n);
    std::memset(text_ + n, ' ', length_ - n);
  }
  StringResult(const StringResult&) = delete;
  StringResult& operator=(const StringResult&) = delete;

 private:
  static constexpr char kUnwritten = '\1';
  char* text_;
  size_t length_;
  std::string room_;
};

/// The length of a string in Fortran, and that of C, which counts the null.
class LengthArgument {
 public:
  explicit LengthArgument(int* length)
      : length_(length), with_null_(*length > 0 ? *length + 1 : *length) {}
  operator int*() { return &with_null_; }
  size_t most() const { return with_null_ > 0 ? static_cast<size_t>(with_null_) : 0; }
  ~LengthArgument() {
    if (with_null_ > 0) *length_ = with_null_ - 1;
  }
  LengthArgument(const LengthArgument&) = delete;
  LengthArgument& operator=(const LengthArgument&) = delete;

 private:
  int* length_;
  int with_null_;
};

/// Strings of one length as C's list of pointers that ends with a null pointer.
class StringList {
 public:
  /// Strings up to a blank one, `step` strings apart.
  StringList(const char* text, size_t length, size_t step = 1) {
    for (; !trimmed(text, length).empty(); text += step * length)
      strings_.push_back(stripped(text, length));
    point();
  }
  /// `count` strings.
  struct StringCount {
    int count;
  };
  StringList(const char* text, size_t length, StringCount counted) {
    for (int i = 0; i < counted.count; ++i, text += length)
      strings_.push_back(stripped(text, length));
    point();
  }
  operator char**() { return pointers_.data(); }

 private:
  void point() {
    for (std::string& string : strings_) pointers_.push_back(string.data());
    pointers_.push_back(nullptr);
  }
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

/// The arguments of a spawned program, or MPI_ARGV_NULL.
class ArgvArgument {
 public:
  ArgvArgument(const char* text, size_t length)
      : null_(text == MPI_F_ARGV_NULL || text == FGMPI_F08_CONSTANT(argv_null)),
        list_(null_ ? " " : text, null_ ? 1 : length) {}
  operator char**() { return null_ ? MPI_ARGV_NULL : static_cast<char**>(list_); }

 private:
  bool null_;
  StringList list_;
};

/// A list of arguments for each of `count` programs: argument j of program i is element (i, j) of
/// Fortran's array, so those of a program lie `count` strings apart. Or MPI_ARGVS_NULL.
class ArgvsArgument {
 public:
  ArgvsArgument(int count, const char* text, size_t length)
      : null_(text == MPI_F_ARGVS_NULL || text == FGMPI_F08_CONSTANT(argvs_null)) {
    if (null_ || count <= 0) return;
    const auto n = static_cast<size_t>(count);
    lists_.reserve(n);
    for (size_t i = 0; i < n; ++i) lists_.emplace_back(text + i * length, length, n);
    for (StringList& list : lists_) pointers_.push_back(list);
  }
  operator char***() { return null_ ? MPI_ARGVS_NULL : pointers_.data(); }

 private:
  bool null_;
  std::vector<StringList> lists_;
  std::vector<char**> pointers_;
};

/// Default integers as addresses: MPI-1's calls.
class WideList {
 public:
  WideList(const int* numbers, int count) : wide_(numbers, numbers + (count > 0 ? count : 0)) {}
  operator const MPI_Aint*() const { return wide_.data(); }
  operator MPI_Aint*() { return wide_.data(); }

 private:
  std::vector<MPI_Aint> wide_;
};
class NarrowResult {
 public:
  explicit NarrowResult(int* number) : number_(number) {}
  operator MPI_Aint*() { return &wide_; }
  ~NarrowResult() { *number_ = static_cast<int>(wide_); }
  NarrowResult(const NarrowResult&) = delete;
  NarrowResult& operator=(const NarrowResult&) = delete;

 private:
  int* number_;
  MPI_Aint wide_ = 0;
};

}  // namespace fgmpi::mpichfort
