/* What MPI 4.1 and MPI 5.0 have and the installed mpi.h, of an older version, lacks. The functions
 * behave as the standard says; this header adds nothing to it. fgmpi.h includes it. */
#ifndef FGMPI_STANDARD_H
#define FGMPI_STANDARD_H

#include <mpi.h>

#define FGMPI_BEFORE_4_1 (MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1))
#define FGMPI_BEFORE_5_0 (MPI_VERSION < 5)

/* The numbers are those of MPICH. */
#if FGMPI_BEFORE_4_1
#ifndef MPI_BUFFER_AUTOMATIC
#define MPI_BUFFER_AUTOMATIC ((void*)-2)
#endif
#ifndef MPI_COMM_TYPE_RESOURCE_GUIDED
#define MPI_COMM_TYPE_RESOURCE_GUIDED 4
#endif
#ifndef MPI_COMBINER_VALUE_INDEX
#define MPI_COMBINER_VALUE_INDEX 20
#endif
#ifndef MPI_T_ERR_NOT_SUPPORTED
#define MPI_T_ERR_NOT_SUPPORTED 78
#endif
#ifndef MPI_T_ERR_NOT_ACCESSIBLE
#define MPI_T_ERR_NOT_ACCESSIBLE 79
#endif
#ifndef MPI_ERR_ERRHANDLER
#define MPI_ERR_ERRHANDLER 80
#endif
#endif
#if FGMPI_BEFORE_5_0 && !defined(MPI_ERR_ABI)
#define MPI_ERR_ABI 81
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* MPI_NAME, and PMPI_NAME for tools. */
#define FGMPI_DECLARE(result, name, parameters) \
  result MPI_##name parameters;                 \
  result PMPI_##name parameters

#if FGMPI_BEFORE_4_1
/* Buffers of buffered sends: MPI-4.1 section 3.6. */
FGMPI_DECLARE(int, Buffer_flush, (void));
FGMPI_DECLARE(int, Buffer_iflush, (MPI_Request * request));
FGMPI_DECLARE(int, Comm_attach_buffer, (MPI_Comm comm, void* buffer, int size));
FGMPI_DECLARE(int, Comm_attach_buffer_c, (MPI_Comm comm, void* buffer, MPI_Count size));
FGMPI_DECLARE(int, Comm_detach_buffer, (MPI_Comm comm, void* buffer_addr, int* size));
FGMPI_DECLARE(int, Comm_detach_buffer_c, (MPI_Comm comm, void* buffer_addr, MPI_Count* size));
FGMPI_DECLARE(int, Comm_flush_buffer, (MPI_Comm comm));
FGMPI_DECLARE(int, Comm_iflush_buffer, (MPI_Comm comm, MPI_Request* request));
FGMPI_DECLARE(int, Session_attach_buffer, (MPI_Session session, void* buffer, int size));
FGMPI_DECLARE(int, Session_attach_buffer_c, (MPI_Session session, void* buffer, MPI_Count size));
FGMPI_DECLARE(int, Session_detach_buffer, (MPI_Session session, void* buffer_addr, int* size));
FGMPI_DECLARE(int, Session_detach_buffer_c,
              (MPI_Session session, void* buffer_addr, MPI_Count* size));
FGMPI_DECLARE(int, Session_flush_buffer, (MPI_Session session));
FGMPI_DECLARE(int, Session_iflush_buffer, (MPI_Session session, MPI_Request* request));

/* Statuses and requests: sections 3.2.5, 3.7.6 and 13.3. */
FGMPI_DECLARE(int, Request_get_status_all,
              (int count, const MPI_Request array_of_requests[], int* flag,
               MPI_Status* array_of_statuses));
FGMPI_DECLARE(int, Request_get_status_any,
              (int count, const MPI_Request array_of_requests[], int* indx, int* flag,
               MPI_Status* status));
FGMPI_DECLARE(int, Request_get_status_some,
              (int incount, const MPI_Request array_of_requests[], int* outcount,
               int array_of_indices[], MPI_Status* array_of_statuses));
FGMPI_DECLARE(int, Status_get_error, (const MPI_Status* status, int* error));
FGMPI_DECLARE(int, Status_get_source, (const MPI_Status* status, int* source));
FGMPI_DECLARE(int, Status_get_tag, (const MPI_Status* status, int* tag));
FGMPI_DECLARE(int, Status_set_elements_c,
              (MPI_Status * status, MPI_Datatype datatype, MPI_Count count));
FGMPI_DECLARE(int, Status_set_error, (MPI_Status * status, int error));
FGMPI_DECLARE(int, Status_set_source, (MPI_Status * status, int source));
FGMPI_DECLARE(int, Status_set_tag, (MPI_Status * status, int tag));

/* Datatypes of MPI_MINLOC and MPI_MAXLOC: section 6.9.4. */
FGMPI_DECLARE(int, Type_get_value_index,
              (MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype* pair_type));

/* The machine, and errors of programs: sections 9.1.2 and 9.5. */
FGMPI_DECLARE(int, Get_hw_resource_info, (MPI_Info * hw_info));
FGMPI_DECLARE(int, Remove_error_class, (int errorclass));
FGMPI_DECLARE(int, Remove_error_code, (int errorcode));
FGMPI_DECLARE(int, Remove_error_string, (int errorcode));
#endif

#if FGMPI_BEFORE_5_0
/* The ABI: MPI-5.0 chapter 20. */
FGMPI_DECLARE(int, Abi_get_version, (int* abi_major, int* abi_minor));
FGMPI_DECLARE(int, Abi_get_info, (MPI_Info * info));
FGMPI_DECLARE(int, Abi_get_fortran_info, (MPI_Info * info));
FGMPI_DECLARE(int, Abi_set_fortran_info, (MPI_Info info));
FGMPI_DECLARE(int, Abi_get_fortran_booleans,
              (int logical_size, void* logical_true, void* logical_false, int* is_set));
FGMPI_DECLARE(int, Abi_set_fortran_booleans,
              (int logical_size, void* logical_true, void* logical_false));

/* Handles as numbers. */
FGMPI_DECLARE(int, Comm_toint, (MPI_Comm comm));
FGMPI_DECLARE(MPI_Comm, Comm_fromint, (int comm));
FGMPI_DECLARE(int, Errhandler_toint, (MPI_Errhandler errhandler));
FGMPI_DECLARE(MPI_Errhandler, Errhandler_fromint, (int errhandler));
FGMPI_DECLARE(int, File_toint, (MPI_File file));
FGMPI_DECLARE(MPI_File, File_fromint, (int file));
FGMPI_DECLARE(int, Group_toint, (MPI_Group group));
FGMPI_DECLARE(MPI_Group, Group_fromint, (int group));
FGMPI_DECLARE(int, Info_toint, (MPI_Info info));
FGMPI_DECLARE(MPI_Info, Info_fromint, (int info));
FGMPI_DECLARE(int, Message_toint, (MPI_Message message));
FGMPI_DECLARE(MPI_Message, Message_fromint, (int message));
FGMPI_DECLARE(int, Op_toint, (MPI_Op op));
FGMPI_DECLARE(MPI_Op, Op_fromint, (int op));
FGMPI_DECLARE(int, Request_toint, (MPI_Request request));
FGMPI_DECLARE(MPI_Request, Request_fromint, (int request));
FGMPI_DECLARE(int, Session_toint, (MPI_Session session));
FGMPI_DECLARE(MPI_Session, Session_fromint, (int session));
FGMPI_DECLARE(int, Type_toint, (MPI_Datatype datatype));
FGMPI_DECLARE(MPI_Datatype, Type_fromint, (int datatype));
FGMPI_DECLARE(int, Win_toint, (MPI_Win win));
FGMPI_DECLARE(MPI_Win, Win_fromint, (int win));
#endif

/* Partitioned communication with large counts: MPI-5.0 section 4.2. No mpi.h up to MPICH 5.0.2
 * declares these, whose MPI_Psend_init and MPI_Precv_init have a large count already. */
FGMPI_DECLARE(int, Psend_init_c,
              (const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
               int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request));
FGMPI_DECLARE(int, Precv_init_c,
              (void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm, MPI_Info info, MPI_Request* request));

#undef FGMPI_DECLARE

#ifdef __cplusplus
}
#endif
#endif
