/* Functions that the host exports although mpi.h does not declare them. The host's Fortran and C++
 * bindings (libmpichfort, libmpichcxx) call them, so this library exports them too. Prototypes
 * only; plain C. */
#ifndef FGMPI_HOST_INTERNAL_H
#define FGMPI_HOST_INTERNAL_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The form of an attribute's value: pointer, address-sized integer or Fortran integer. */
typedef int fgmpi_attr_kind;

int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag, fgmpi_attr_kind kind);
int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void* value, fgmpi_attr_kind kind);
int MPII_Type_get_attr(MPI_Datatype type, int keyval, void* value, int* flag, fgmpi_attr_kind kind);
int MPII_Type_set_attr(MPI_Datatype type, int keyval, void* value, fgmpi_attr_kind kind);
int MPII_Win_get_attr(MPI_Win win, int keyval, void* value, int* flag, fgmpi_attr_kind kind);
int MPII_Win_set_attr(MPI_Win win, int keyval, void* value, fgmpi_attr_kind kind);

/* The bindings' proxies for user functions, called in place of the C functions. */
typedef int fgmpi_copy_proxy(void);
typedef int fgmpi_delete_proxy(void);
typedef void fgmpi_cxx_caller(void);
void MPII_Keyval_set_proxy(int keyval, fgmpi_copy_proxy* copy, fgmpi_delete_proxy* remove);
void MPII_Grequest_set_lang_f77(MPI_Request request);
void MPII_Op_set_cxx(MPI_Op op, fgmpi_cxx_caller* caller);
void MPII_Errhandler_set_cxx(MPI_Errhandler handler, fgmpi_cxx_caller* caller);

/* Functions of programs with a pointer of theirs, for MPIX_Op_create_x and its like, which the
 * Fortran and C++ bindings call from MPICH 5.0 on. */
#if MPICH_NUMVERSION < 50000000
typedef void MPIX_User_function_x(void*, void*, MPI_Count, MPI_Datatype, void*);
typedef void MPIX_Comm_errhandler_function_x(MPI_Comm, int, void*);
typedef void MPIX_File_errhandler_function_x(MPI_File, int, void*);
typedef void MPIX_Win_errhandler_function_x(MPI_Win, int, void*);
typedef void MPIX_Session_errhandler_function_x(MPI_Session, int, void*);
typedef void MPIX_Destructor_function(void*);
#endif

#ifdef __cplusplus
}
#endif

#endif
