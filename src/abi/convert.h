// Values of the standard ABI as values of MPICH's ABI, and back.
//
//   kind       standard ABI                              MPICH's ABI
//   handle     a pointer; below 1024 if predefined       an int; bit 31 is clear if predefined
//   other      its value is the int as an unsigned       the int
//   MPI_File   as other handles                          a pointer, which both have; 0 is null
//   status     32 bytes: source, tag, error, 5 words     20 bytes: 2 words, source, tag, error
//   constant   generate/abi.py writes functions for each family of constants.table
//
// Classes whose names end in Out or InOut stand for an argument for the time of a call: they are
// made from the program's pointer, are passed to the library as a pointer to MPICH's form, and
// store the result in the standard form when the call's statement ends. A value that the call has
// not touched is not stored. Null pointers are passed on: the library reports them.
//
// Source: MPI-5.0 chapter 20. Thread rule: any thread; there is no state.
#pragma once

#include <mpi.h>

#include <array>
#include <bit>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "abi/abi_constants.h"

namespace fgmpi::abi {

/// A handle of the standard ABI.
using Handle = uintptr_t;

/// A status of the standard ABI. The first two internal words are MPICH's count of bytes.
struct StandardStatus {
  int source, tag, error;
  int internal[5];
};
static_assert(sizeof(StandardStatus) == 32);

inline constexpr Handle kPredefinedHandles = 1024;

// ---- Handles ------------------------------------------------------------------------------------

/// The value is chosen in the width of a register: an argument stays in its own.
inline int to_mpich(Handle handle, const uint32_t* predefined = kPredefined.data()) {
  if (handle < kPredefinedHandles) handle = predefined[handle];
  return static_cast<int>(handle);
}
/// The table's address in a register, for a function that has several handles: the compiler would
/// load it for each.
inline const uint32_t* predefined_in_register() {
  const uint32_t* table = kPredefined.data();
  asm("" : "+r"(table));
  return table;
}
/// The standard handle of one that may be predefined: bit 31 is clear, or it is that of a pair as
/// MPI_FLOAT_INT.
Handle predefined_to_standard(int handle);
inline bool may_be_predefined(int handle) {
  return handle >= 0 || (static_cast<uint32_t>(handle) & ~uint32_t{7}) == 0x8c000000;
}
inline Handle to_standard(int handle) {
  return may_be_predefined(handle) ? predefined_to_standard(handle) : static_cast<uint32_t>(handle);
}
inline Handle request_to_standard(int request) {
  return request == MPI_REQUEST_NULL ? Handle{kRequestNull} : to_standard(request);
}
/// MPICH's null message has the number of its null request.
inline Handle message_to_standard(int message) {
  if (message == MPI_MESSAGE_NULL) return kMessageNull;
  return to_standard(message);
}
using ConvertHandle = Handle (*)(int);

inline MPI_File to_mpich_file(Handle handle) {
  return handle == kFileNull ? MPI_FILE_NULL : reinterpret_cast<MPI_File>(handle);
}
inline Handle to_standard_file(MPI_File file) {
  return file == MPI_FILE_NULL ? Handle{kFileNull} : reinterpret_cast<Handle>(file);
}

/// A handle of the tools interface: a pointer in both ABIs.
template <class Pointer>
inline Pointer to_mpich_pointer(Handle handle) {
  return reinterpret_cast<Pointer>(handle);
}
template <>
inline MPI_T_pvar_handle to_mpich_pointer<MPI_T_pvar_handle>(Handle handle) {
  return handle == kAllVariables ? MPI_T_PVAR_ALL_HANDLES
                                 : reinterpret_cast<MPI_T_pvar_handle>(handle);
}

/// A handle that the call sets. No call sets one to 0, which is not a handle.
template <ConvertHandle kToStandard = to_standard>
class HandleOut {
 public:
  explicit HandleOut(Handle* standard) : standard_(standard) {}
  HandleOut(const HandleOut&) = delete;
  HandleOut& operator=(const HandleOut&) = delete;
  ~HandleOut() {
    if (mpich_ != 0) *standard_ = kToStandard(mpich_);
  }
  operator int*() { return standard_ ? &mpich_ : nullptr; }

 private:
  Handle* standard_;
  int mpich_ = 0;
};

/// The lower half of a handle of the standard ABI. Where the handle is not predefined, it is the
/// handle of MPICH's ABI.
inline int* lower_half(Handle* standard) {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<int*>(standard);
}

/// A handle that the call reads and may change: in place where it is not predefined.
template <ConvertHandle kToStandard = to_standard>
class HandleInOut {
 public:
  explicit HandleInOut(Handle* standard) : standard_(standard) {
    if (__builtin_expect(standard && *standard >= kPredefinedHandles, 1)) {
      passed_ = lower_half(standard);
    } else if (standard) {
      mpich_ = before_ = to_mpich(*standard);
      passed_ = &mpich_;
    }
  }
  HandleInOut(const HandleInOut&) = delete;
  HandleInOut& operator=(const HandleInOut&) = delete;
  ~HandleInOut() {
    if (passed_ != &mpich_) {
      if (passed_ && may_be_predefined(*passed_)) *standard_ = kToStandard(*passed_);
    } else if (mpich_ != before_) {
      *standard_ = kToStandard(mpich_);
    }
  }
  operator int*() { return passed_; }

 private:
  Handle* standard_;
  int* passed_ = nullptr;
  int mpich_ = 0, before_ = 0;
};

/// A request that the call reads and may change: in place. The only predefined one is null, which a
/// complete request becomes.
class RequestInOut {
 public:
  explicit RequestInOut(Handle* standard) : standard_(standard) {
    if (standard && *standard == kRequestNull) *lower_half(standard) = MPI_REQUEST_NULL;
  }
  RequestInOut(const RequestInOut&) = delete;
  RequestInOut& operator=(const RequestInOut&) = delete;
  ~RequestInOut() {
    if (standard_ && *lower_half(standard_) == MPI_REQUEST_NULL) *standard_ = kRequestNull;
  }
  operator int*() { return standard_ ? lower_half(standard_) : nullptr; }

 private:
  Handle* standard_;
};

/// A handle that a nonblocking call sets when its request is complete: in place. What the call
/// stores at first, MPI_COMM_NULL, becomes that of the standard ABI.
class HandleLater {
 public:
  explicit HandleLater(Handle* standard) : standard_(standard) {
    if (standard) *standard = 0;
  }
  HandleLater(const HandleLater&) = delete;
  HandleLater& operator=(const HandleLater&) = delete;
  ~HandleLater() {
    if (standard_ && may_be_predefined(*lower_half(standard_)))
      *standard_ = to_standard(*lower_half(standard_));
  }
  operator int*() { return standard_ ? lower_half(standard_) : nullptr; }

 private:
  Handle* standard_;
};

/// The handle of a request that a call of the fast paths makes: in place. After an error it is
/// MPICH's null request, which calls take for that of the standard ABI.
inline int* request_in_place(Handle* standard) {
  if (standard) *standard = 0;
  return lower_half(standard);
}

/// A file's handle that the call sets or changes.
class FileInOut {
 public:
  explicit FileInOut(Handle* standard, bool reads = true) : standard_(standard) {
    if (standard_ && reads) mpich_ = before_ = to_mpich_file(*standard_);
  }
  FileInOut(const FileInOut&) = delete;
  FileInOut& operator=(const FileInOut&) = delete;
  ~FileInOut() {
    if (mpich_ != before_) *standard_ = to_standard_file(mpich_);
  }
  operator MPI_File*() { return standard_ ? &mpich_ : nullptr; }

 private:
  static MPI_File untouched() { return reinterpret_cast<MPI_File>(UINTPTR_MAX); }
  Handle* standard_;
  MPI_File mpich_ = untouched(), before_ = untouched();
};
class FileOut : public FileInOut {
 public:
  explicit FileOut(Handle* standard) : FileInOut(standard, false) {}
};

/// Room for `n` elements; no memory is allocated for up to 32.
template <class Element>
class ArgumentArray {
 public:
  explicit ArgumentArray(int64_t n) : count_(n > 0 ? static_cast<size_t>(n) : 0) {
    if (count_ > kFew) many_ = std::make_unique_for_overwrite<Element[]>(count_);
  }
  Element* data() { return many_ ? many_.get() : few_; }
  size_t count() const { return count_; }
  Element& operator[](size_t i) { return data()[i]; }

 private:
  static constexpr size_t kFew = 32;
  size_t count_;
  Element few_[kFew];
  std::unique_ptr<Element[]> many_;
};

/// An array of handles that the call reads. MPICH 4.2 takes some without const.
class Handles {
 public:
  Handles(const Handle* standard, int64_t n) : is_null_(!standard), mpich_(standard ? n : 0) {
    for (size_t i = 0; i < mpich_.count(); ++i) mpich_[i] = to_mpich(standard[i]);
  }
  operator int*() { return is_null_ ? nullptr : mpich_.data(); }

 private:
  bool is_null_;
  ArgumentArray<int> mpich_;
};

/// An array of requests that the call reads and may change. Most calls complete requests, which are
/// null then.
class RequestsInOut {
 public:
  RequestsInOut(Handle* standard, int64_t n) : standard_(standard), mpich_(standard ? n : 0) {
    int* const mpich = mpich_.data();
    for (size_t i = 0; i < mpich_.count(); ++i) mpich[i] = to_mpich(standard[i]);
  }
  RequestsInOut(const RequestsInOut&) = delete;
  RequestsInOut& operator=(const RequestsInOut&) = delete;
  ~RequestsInOut() {
    const int* const mpich = mpich_.data();
    Handle* const standard = standard_;
    for (size_t i = 0; i < mpich_.count(); ++i) {
      if (__builtin_expect(mpich[i] == MPI_REQUEST_NULL, 1))
        standard[i] = kRequestNull;
      else if (static_cast<Handle>(static_cast<uint32_t>(mpich[i])) != standard[i])
        standard[i] = to_standard(mpich[i]);
    }
  }
  operator int*() { return standard_ ? mpich_.data() : nullptr; }

 private:
  Handle* standard_;
  ArgumentArray<int> mpich_;
};

/// A handle of the tools interface that the call sets or changes.
template <class Pointer>
class PointerInOut {
 public:
  explicit PointerInOut(Handle* standard) : standard_(standard) {
    if (standard_) mpich_ = to_mpich_pointer<Pointer>(*standard_);
  }
  PointerInOut(const PointerInOut&) = delete;
  PointerInOut& operator=(const PointerInOut&) = delete;
  ~PointerInOut() {
    if (standard_) *standard_ = reinterpret_cast<Handle>(mpich_);
  }
  operator Pointer*() { return standard_ ? &mpich_ : nullptr; }

 private:
  Handle* standard_;
  Pointer mpich_ = nullptr;
};

/// The address of a handle whose kind the library knows (the tools interface).
class ObjectHandle {
 public:
  explicit ObjectHandle(const void* standard) : is_null_(!standard) {
    if (!standard) return;
    std::memcpy(&mpich_, standard, sizeof mpich_);
    // A file's handle is a pointer in both ABIs; all others become an int.
    if (mpich_ >> 32 == 0) mpich_ = static_cast<uint32_t>(to_mpich(mpich_));
  }
  operator void*() { return is_null_ ? nullptr : &mpich_; }

 private:
  bool is_null_;
  Handle mpich_ = 0;
};

// ---- Ranks, tags, error codes -------------------------------------------------------------------

inline int rank_to_mpich(int rank) { return rank >= 0 ? rank : family_rank_to_mpich(rank); }
inline int tag_to_mpich(int tag) { return tag >= 0 ? tag : family_tag_to_mpich(tag); }
inline int rank_to_standard(int rank) { return rank >= 0 ? rank : family_rank_to_standard(rank); }
inline int tag_to_standard(int tag) { return tag >= 0 ? tag : family_tag_to_standard(tag); }

/// Error codes are error classes of MPI, which differ, or larger numbers, which both ABIs have.
inline int code_to_standard(int code) {
  if (__builtin_expect(code != MPI_SUCCESS, 0)) code = family_error_class_to_standard(code);
  return code;
}
inline int code_to_mpich(int code) { return code == 0 ? 0 : family_error_class_to_mpich(code); }

// ---- Statuses -----------------------------------------------------------------------------------

/// What no call stores: marks the fields of a status, and constants, that a call leaves alone.
inline constexpr int kUntouched = INT_MIN + 7;

/// Both fields, with one test: they are no constants where neither is negative.
inline void store_peer(const MPI_Status& mpich, StandardStatus* standard) {
  static_assert(offsetof(MPI_Status, MPI_TAG) == offsetof(MPI_Status, MPI_SOURCE) + sizeof(int) &&
                offsetof(StandardStatus, tag) == sizeof(int));
  uint64_t both;
  std::memcpy(&both, &mpich.MPI_SOURCE, sizeof both);
  constexpr auto kAny = std::bit_cast<uint64_t>(std::array<int, 2>{MPI_ANY_SOURCE, MPI_ANY_TAG});
  if (__builtin_expect(!(both & 0x8000000080000000), 1)) {
    std::memcpy(&standard->source, &both, sizeof both);
  } else if (both == kAny) {  // a send, or an empty status
    standard->source = family_rank_to_standard(MPI_ANY_SOURCE);
    standard->tag = family_tag_to_standard(MPI_ANY_TAG);
  } else if (mpich.MPI_SOURCE != kUntouched) {
    standard->source = rank_to_standard(mpich.MPI_SOURCE);
    standard->tag = tag_to_standard(mpich.MPI_TAG);
  }
}

/// MPICH's form lies in the internal words for the time of a call: its count stays there.
/// store_in_place() ends it.
inline MPI_Status* in_place(StandardStatus* standard) {
  static_assert(sizeof(MPI_Status) == sizeof standard->internal &&
                offsetof(MPI_Status, count_lo) == 0);
  auto* mpich = reinterpret_cast<MPI_Status*>(standard->internal);
  mpich->MPI_SOURCE = mpich->MPI_ERROR = kUntouched;
  return mpich;
}
inline void store_in_place(StandardStatus* standard) {
  const auto* mpich = reinterpret_cast<const MPI_Status*>(standard->internal);
  if (__builtin_expect(mpich->MPI_ERROR != kUntouched, 0))
    standard->error = code_to_standard(mpich->MPI_ERROR);
  store_peer(*mpich, standard);
}

inline MPI_Status to_mpich(const StandardStatus& standard) {
  MPI_Status mpich;
  mpich.count_lo = standard.internal[0];
  mpich.count_hi_and_cancelled = standard.internal[1];
  mpich.MPI_SOURCE = rank_to_mpich(standard.source);
  mpich.MPI_TAG = tag_to_mpich(standard.tag);
  mpich.MPI_ERROR = code_to_mpich(standard.error);
  return mpich;
}
/// Stores the fields that a call has touched. The count comes with the source.
inline void store(const MPI_Status& mpich, StandardStatus* standard) {
  if (__builtin_expect(mpich.MPI_ERROR == MPI_SUCCESS, 1))
    standard->error = MPI_SUCCESS;
  else if (mpich.MPI_ERROR != kUntouched)
    standard->error = code_to_standard(mpich.MPI_ERROR);
  store_peer(mpich, standard);
  if (mpich.MPI_SOURCE != kUntouched) std::memcpy(standard->internal, &mpich, 2 * sizeof(int));
}

/// A status that the call reads. MPICH 4.2's accessors take it without const.
class StatusIn {
 public:
  explicit StatusIn(const StandardStatus* standard) : is_null_(!standard) {
    if (standard) mpich_ = to_mpich(*standard);
  }
  operator MPI_Status*() { return is_null_ ? nullptr : &mpich_; }

 private:
  bool is_null_;
  MPI_Status mpich_;
};

/// A status that the call sets; a null pointer is MPI_STATUS_IGNORE.
class StatusOut {
 public:
  explicit StatusOut(StandardStatus* standard) : standard_(standard) {}
  StatusOut(const StatusOut&) = delete;
  StatusOut& operator=(const StatusOut&) = delete;
  ~StatusOut() {
    if (standard_) store_in_place(standard_);
  }
  operator MPI_Status*() { return standard_ ? in_place(standard_) : MPI_STATUS_IGNORE; }

 private:
  StandardStatus* standard_;
};

/// A status that the call changes.
class StatusInOut {
 public:
  explicit StatusInOut(StandardStatus* standard) : standard_(standard) {
    if (standard_) mpich_ = to_mpich(*standard_);
  }
  StatusInOut(const StatusInOut&) = delete;
  StatusInOut& operator=(const StatusInOut&) = delete;
  ~StatusInOut() {
    if (standard_) store(mpich_, standard_);
  }
  operator MPI_Status*() { return standard_ ? &mpich_ : nullptr; }

 private:
  StandardStatus* standard_;
  MPI_Status mpich_;
};

/// Statuses that the call sets; a null pointer is MPI_STATUSES_IGNORE.
class StatusesOut {
 public:
  StatusesOut(StandardStatus* standard, int64_t n) : standard_(standard), mpich_(standard ? n : 0) {
    MPI_Status* const mpich = mpich_.data();
    for (size_t i = 0; i < mpich_.count(); ++i)
      mpich[i].MPI_SOURCE = mpich[i].MPI_ERROR = kUntouched;
  }
  StatusesOut(const StatusesOut&) = delete;
  StatusesOut& operator=(const StatusesOut&) = delete;
  ~StatusesOut() {
    const MPI_Status* const mpich = mpich_.data();
    StandardStatus* const standard = standard_;
    for (size_t i = 0; i < mpich_.count(); ++i) store(mpich[i], standard + i);
  }
  operator MPI_Status*() { return standard_ ? mpich_.data() : MPI_STATUSES_IGNORE; }

 private:
  StandardStatus* standard_;
  ArgumentArray<MPI_Status> mpich_;
};

// ---- Constants and addresses --------------------------------------------------------------------

using ConvertConstant = int (*)(int);

/// A constant that the call sets, in MPICH's type, which is an int or an enumeration.
template <ConvertConstant kToStandard, class Type = int>
class ConstantOut {
 public:
  explicit ConstantOut(int* standard) : standard_(standard) {}
  ConstantOut(const ConstantOut&) = delete;
  ConstantOut& operator=(const ConstantOut&) = delete;
  ~ConstantOut() {
    if (mpich_ != kUntouched) *standard_ = kToStandard(mpich_);
  }
  operator Type*() { return standard_ ? reinterpret_cast<Type*>(&mpich_) : nullptr; }

 private:
  static_assert(sizeof(Type) == sizeof(int));
  int* standard_;
  int mpich_ = kUntouched;
};

/// A constant that the call reads and may change.
template <ConvertConstant kToMpich, ConvertConstant kToStandard>
class ConstantInOut {
 public:
  explicit ConstantInOut(int* standard) : standard_(standard) {
    if (standard_) mpich_ = before_ = kToMpich(*standard_);
  }
  ConstantInOut(const ConstantInOut&) = delete;
  ConstantInOut& operator=(const ConstantInOut&) = delete;
  ~ConstantInOut() {
    if (mpich_ != before_) *standard_ = kToStandard(mpich_);
  }
  operator int*() { return standard_ ? &mpich_ : nullptr; }

 private:
  int* standard_;
  int mpich_ = 0, before_ = 0;
};

/// An array of constants that the call reads.
template <ConvertConstant kToMpich>
class Constants {
 public:
  Constants(const int* standard, int64_t n) : is_null_(!standard), mpich_(standard ? n : 0) {
    for (size_t i = 0; i < mpich_.count(); ++i) mpich_[i] = kToMpich(standard[i]);
  }
  operator int*() { return is_null_ ? nullptr : mpich_.data(); }

 private:
  bool is_null_;
  ArgumentArray<int> mpich_;
};

/// An array of constants that the call sets.
template <ConvertConstant kToStandard>
class ConstantsOut {
 public:
  ConstantsOut(int* standard, int64_t n) : standard_(standard), mpich_(standard ? n : 0) {
    for (size_t i = 0; i < mpich_.count(); ++i) mpich_[i] = kUntouched;
  }
  ConstantsOut(const ConstantsOut&) = delete;
  ConstantsOut& operator=(const ConstantsOut&) = delete;
  ~ConstantsOut() {
    for (size_t i = 0; i < mpich_.count(); ++i)
      if (mpich_[i] != kUntouched) standard_[i] = kToStandard(mpich_[i]);
  }
  operator int*() { return standard_ ? mpich_.data() : nullptr; }

 private:
  int* standard_;
  ArgumentArray<int> mpich_;
};

/// A buffer of a collective that may be MPI_IN_PLACE, or of an attachment that may be
/// MPI_BUFFER_AUTOMATIC.
inline void* buffer_to_mpich(const void* buffer) {
  const auto value = reinterpret_cast<uintptr_t>(buffer);
  return __builtin_expect(value - 1 < 2, 0) ? special_buffer_to_mpich(value)
                                            : const_cast<void*>(buffer);
}

/// The address of an attached buffer, which the call stores in the program's pointer.
class AddressOut {
 public:
  explicit AddressOut(void* standard) : standard_(standard) {}
  AddressOut(const AddressOut&) = delete;
  AddressOut& operator=(const AddressOut&) = delete;
  ~AddressOut() {
    if (!standard_ || mpich_ == &mpich_) return;
    void* value = buffer_to_standard(mpich_);
    std::memcpy(standard_, &value, sizeof value);
  }
  operator void*() { return standard_ ? &mpich_ : nullptr; }

 private:
  void* standard_;
  void* mpich_ = &mpich_;  ///< untouched
};

/// Weights of edges, which may be MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY.
inline int* weights_to_mpich(const int* weights) {
  const auto value = reinterpret_cast<uintptr_t>(weights);
  if (value == kUnweighted) return MPI_UNWEIGHTED;
  if (value == kWeightsEmpty) return MPI_WEIGHTS_EMPTY;
  return const_cast<int*>(weights);
}

}  // namespace fgmpi::abi
