// Procedures that are unlike others: functions, procedures without an error code, those whose
// arguments mpif.h and mpi_f08 have differently, and those that Fortran alone has.
#include "fortran/call_with_sections.h"
#include "mpichfort/arguments.h"

using namespace fgmpi::fortran;
using namespace fgmpi::mpichfort;

FGMPI_PROCEDURE double f_wtime() { return MPI_Wtime(); }
FGMPI_PROCEDURE double pf_wtime() { return PMPI_Wtime(); }
FGMPI_PROCEDURE double f_wtick() { return MPI_Wtick(); }
FGMPI_PROCEDURE double pf_wtick() { return PMPI_Wtick(); }
FGMPI_PROCEDURE MPI_Aint f_aint_add(const MPI_Aint* base, const MPI_Aint* displacement) {
  return MPI_Aint_add(*base, *displacement);
}
FGMPI_PROCEDURE MPI_Aint pf_aint_add(const MPI_Aint* base, const MPI_Aint* displacement) {
  return PMPI_Aint_add(*base, *displacement);
}
FGMPI_PROCEDURE MPI_Aint f_aint_diff(const MPI_Aint* one, const MPI_Aint* other) {
  return MPI_Aint_diff(*one, *other);
}
FGMPI_PROCEDURE MPI_Aint pf_aint_diff(const MPI_Aint* one, const MPI_Aint* other) {
  return PMPI_Aint_diff(*one, *other);
}
FGMPI_PROCEDURE void f_pcontrol(const int* level) { MPI_Pcontrol(*level); }
FGMPI_PROCEDURE void pf_pcontrol(const int* level) { PMPI_Pcontrol(*level); }

#define FGMPI_BOTH(lower, UPPER)                      \
  FGMPI_SPELLINGS(f_##lower, mpi, MPI, lower, UPPER); \
  FGMPI_SPELLINGS(pf_##lower, pmpi, PMPI, lower, UPPER)
#define FGMPI_ALL(lower, UPPER)                \
  FGMPI_BOTH(lower, UPPER);                    \
  FGMPI_NAME(f_##lower, mpi_##lower##_f08_);   \
  FGMPI_NAME(pf_##lower, pmpi_##lower##_f08_); \
  FGMPI_NAME(pf_##lower, pmpir_##lower##_f08_)
FGMPI_ALL(wtime, WTIME);
FGMPI_ALL(wtick, WTICK);
FGMPI_ALL(aint_add, AINT_ADD);
FGMPI_ALL(aint_diff, AINT_DIFF);
FGMPI_ALL(pcontrol, PCONTROL);

// MPI_Buffer_detach: mpif.h's buffer_addr is a choice buffer of no meaning (MPI-4.0 section 3.6),
// that of mpi_f08 gets the address.
FGMPI_PROCEDURE void f_buffer_detach(void*, int* size, int* ierror) {
  void* address = nullptr;
  const int code = MPI_Buffer_detach(&address, size);
  if (ierror) *ierror = code;
}
FGMPI_PROCEDURE void pf_buffer_detach(void*, int* size, int* ierror) {
  void* address = nullptr;
  const int code = PMPI_Buffer_detach(&address, size);
  if (ierror) *ierror = code;
}
FGMPI_BOTH(buffer_detach, BUFFER_DETACH);
#define FGMPI_DETACH(procedure, call, Size)                                \
  FGMPI_PROCEDURE void procedure(void* address, Size* size, int* ierror) { \
    const int code = call(address, size);                                  \
    if (ierror) *ierror = code;                                            \
  }
FGMPI_DETACH(f_buffer_detach_f08, MPI_Buffer_detach, int)
FGMPI_DETACH(pf_buffer_detach_f08, PMPI_Buffer_detach, int)
FGMPI_DETACH(f_buffer_detach_c, MPI_Buffer_detach_c, MPI_Count)
FGMPI_DETACH(pf_buffer_detach_c, PMPI_Buffer_detach_c, MPI_Count)
FGMPI_NAME(f_buffer_detach_f08, mpi_buffer_detach_f08_);
FGMPI_NAME(pf_buffer_detach_f08, pmpi_buffer_detach_f08_);
FGMPI_NAME(pf_buffer_detach_f08, pmpir_buffer_detach_f08_);
FGMPI_NAME(f_buffer_detach_c, mpi_buffer_detach_c_f08_);
FGMPI_NAME(f_buffer_detach_c, mpi_buffer_detach_f08_large_);
FGMPI_NAME(pf_buffer_detach_c, pmpi_buffer_detach_c_f08_);
FGMPI_NAME(pf_buffer_detach_c, pmpir_buffer_detach_f08_large_);
FGMPI_NAME(pf_buffer_detach_c, pmpir_buffer_detach_c_f08_);

// A procedure that does nothing keeps the compiler from moving accesses to the buffer.
FGMPI_PROCEDURE void f_f_sync_reg(void*) {}
FGMPI_SPELLINGS(f_f_sync_reg, mpi, MPI, f_sync_reg, F_SYNC_REG);
FGMPI_SPELLINGS(f_f_sync_reg, pmpi, PMPI, f_sync_reg, F_SYNC_REG);
FGMPI_NAME(f_f_sync_reg, mpi_f_sync_reg_f08ts_);
FGMPI_NAME(f_f_sync_reg, pmpi_f_sync_reg_f08ts_);
FGMPI_NAME(f_f_sync_reg, pmpir_f_sync_reg_f08ts_);
FGMPI_NAME(f_f_sync_reg, mpi_f_sync_reg_f08cfi_);
FGMPI_NAME(f_f_sync_reg, pmpi_f_sync_reg_f08cfi_);

// MPI_Sizeof of any type: the descriptor has the bytes of an element.
FGMPI_PROCEDURE void f_sizeof(const ArrayDescriptor* x, int* size, int* ierror) {
  *size = static_cast<int>(x->element_bytes);
  if (ierror) *ierror = MPI_SUCCESS;
}
FGMPI_NAME(f_sizeof, mpi_sizeof_f08ts_);
FGMPI_NAME(f_sizeof, pmpi_sizeof_f08ts_);
FGMPI_NAME(f_sizeof, mpi_sizeof_fts_);
FGMPI_PROCEDURE void f_sizeof_f08cfi(const StandardDescriptor* x, int* size, int* ierror) {
  *size = static_cast<int>(x->element_bytes);
  if (ierror) *ierror = MPI_SUCCESS;
}
FGMPI_NAME(f_sizeof_f08cfi, mpi_sizeof_f08cfi_);
FGMPI_NAME(f_sizeof_f08cfi, pmpi_sizeof_f08cfi_);
FGMPI_NAME(f_sizeof_f08cfi, mpi_sizeof_fcfi_);

// MPI_Sizeof of MPICH's modules, a procedure for each type; the names with sizes are those of 4.2.
// Those of mpi_f08 get descriptors.
#define FGMPI_F08_SIZEOF(type) FGMPI_NAME(f_sizeof, __mpi_f08_types_MOD_mpi_sizeof_##type)
FGMPI_F08_SIZEOF(character);
FGMPI_F08_SIZEOF(logical);
FGMPI_F08_SIZEOF(xcomplex128);
FGMPI_F08_SIZEOF(xcomplex32);
FGMPI_F08_SIZEOF(xcomplex64);
FGMPI_F08_SIZEOF(xint16);
FGMPI_F08_SIZEOF(xint32);
FGMPI_F08_SIZEOF(xint64);
FGMPI_F08_SIZEOF(xint8);
FGMPI_F08_SIZEOF(xreal128);
FGMPI_F08_SIZEOF(xreal32);
FGMPI_F08_SIZEOF(xreal64);
template <int bytes>
static inline void set_size(int* size, int* ierror) {
  *size = bytes;
  *ierror = MPI_SUCCESS;
}
#define FGMPI_SIZEOF(type, bytes)                                       \
  FGMPI_PROCEDURE void f_sizeof_##type(void*, int* size, int* ierror) { \
    set_size<bytes>(size, ierror);                                      \
  }                                                                     \
  FGMPI_NAME(f_sizeof_##type, __mpi_sizeofs_MOD_mpi_sizeof_##type);     \
  FGMPI_NAME(f_sizeof_##type, __mpi_sizeofs_MOD_mpi_sizeof_##type##v)
FGMPI_SIZEOF(ch, 1);
FGMPI_SIZEOF(ch1, 1);
FGMPI_SIZEOF(cx, 8);
FGMPI_SIZEOF(cx16, 16);
FGMPI_SIZEOF(cx8, 8);
FGMPI_SIZEOF(d, 8);
FGMPI_SIZEOF(i, 4);
FGMPI_SIZEOF(i1, 1);
FGMPI_SIZEOF(i2, 2);
FGMPI_SIZEOF(i4, 4);
FGMPI_SIZEOF(i8, 8);
FGMPI_SIZEOF(l, 4);
FGMPI_SIZEOF(l4, 4);
FGMPI_SIZEOF(r, 4);
FGMPI_SIZEOF(r4, 4);
FGMPI_SIZEOF(r8, 8);

// Statuses of mpif.h and mpi_f08 have one layout.
FGMPI_PROCEDURE void f_status_f2f08(const MPI_Fint* from, MPI_F08_status* to, int* ierror) {
  std::memcpy(to, from, sizeof *to);
  if (ierror) *ierror = MPI_SUCCESS;
}
FGMPI_PROCEDURE void f_status_f082f(const MPI_F08_status* from, MPI_Fint* to, int* ierror) {
  std::memcpy(to, from, sizeof *from);
  if (ierror) *ierror = MPI_SUCCESS;
}
FGMPI_NAME(f_status_f2f08, mpi_status_f2f08_);
FGMPI_NAME(f_status_f2f08, mpi_status_f2f08_f08_);
FGMPI_NAME(f_status_f2f08, pmpi_status_f2f08_f08_);
FGMPI_NAME(f_status_f2f08, __mpi_f08_types_MOD_mpi_status_f2f08);
FGMPI_NAME(f_status_f2f08, __mpi_f08_types_MOD_pmpi_status_f2f08);
FGMPI_NAME(f_status_f082f, mpi_status_f082f_);
FGMPI_NAME(f_status_f082f, mpi_status_f082f_f08_);
FGMPI_NAME(f_status_f082f, pmpi_status_f082f_f08_);
FGMPI_NAME(f_status_f082f, __mpi_f08_types_MOD_mpi_status_f082f);
FGMPI_NAME(f_status_f082f, __mpi_f08_types_MOD_pmpi_status_f082f);
