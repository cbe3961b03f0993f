/* Whatever mpi.h the library was built with: fgmpi.h declares all functions and constants of MPI 4.1
 * and 5.0, and the library has them under both names. */
#include <fgmpi.h>

#include "mpitest.h"

typedef void (*Function)(void);
#define BOTH(name) (Function) name, (Function)P##name

static const Function kFunctions[] = {
    BOTH(MPI_Abi_get_fortran_booleans),
    BOTH(MPI_Abi_get_fortran_info),
    BOTH(MPI_Abi_get_info),
    BOTH(MPI_Abi_get_version),
    BOTH(MPI_Abi_set_fortran_booleans),
    BOTH(MPI_Abi_set_fortran_info),
    BOTH(MPI_Buffer_flush),
    BOTH(MPI_Buffer_iflush),
    BOTH(MPI_Comm_attach_buffer),
    BOTH(MPI_Comm_attach_buffer_c),
    BOTH(MPI_Comm_detach_buffer),
    BOTH(MPI_Comm_detach_buffer_c),
    BOTH(MPI_Comm_flush_buffer),
    BOTH(MPI_Comm_iflush_buffer),
    BOTH(MPI_Get_hw_resource_info),
    BOTH(MPI_Precv_init_c),
    BOTH(MPI_Psend_init_c),
    BOTH(MPI_Remove_error_class),
    BOTH(MPI_Remove_error_code),
    BOTH(MPI_Remove_error_string),
    BOTH(MPI_Request_get_status_all),
    BOTH(MPI_Request_get_status_any),
    BOTH(MPI_Request_get_status_some),
    BOTH(MPI_Session_attach_buffer),
    BOTH(MPI_Session_attach_buffer_c),
    BOTH(MPI_Session_detach_buffer),
    BOTH(MPI_Session_detach_buffer_c),
    BOTH(MPI_Session_flush_buffer),
    BOTH(MPI_Session_iflush_buffer),
    BOTH(MPI_Status_get_error),
    BOTH(MPI_Status_get_source),
    BOTH(MPI_Status_get_tag),
    BOTH(MPI_Status_set_elements_c),
    BOTH(MPI_Status_set_error),
    BOTH(MPI_Status_set_source),
    BOTH(MPI_Status_set_tag),
    BOTH(MPI_Type_get_value_index),
    BOTH(MPI_Comm_fromint),
    BOTH(MPI_Comm_toint),
    BOTH(MPI_Errhandler_fromint),
    BOTH(MPI_Errhandler_toint),
    BOTH(MPI_File_fromint),
    BOTH(MPI_File_toint),
    BOTH(MPI_Group_fromint),
    BOTH(MPI_Group_toint),
    BOTH(MPI_Info_fromint),
    BOTH(MPI_Info_toint),
    BOTH(MPI_Message_fromint),
    BOTH(MPI_Message_toint),
    BOTH(MPI_Op_fromint),
    BOTH(MPI_Op_toint),
    BOTH(MPI_Request_fromint),
    BOTH(MPI_Request_toint),
    BOTH(MPI_Session_fromint),
    BOTH(MPI_Session_toint),
    BOTH(MPI_Type_fromint),
    BOTH(MPI_Type_toint),
    BOTH(MPI_Win_fromint),
    BOTH(MPI_Win_toint),
    (Function)MPIX_Comm_get_failed,
    (Function)MPIX_Comm_ack_failed,
    (Function)MPIX_Comm_is_revoked,
    (Function)MPIX_Comm_iagree,
    (Function)MPIX_Comm_ishrink,
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (unsigned i = 0; i < sizeof kFunctions / sizeof kFunctions[0]; ++i) CHECK(kFunctions[i]);
  CHECK(MPI_BUFFER_AUTOMATIC != NULL && MPI_COMBINER_VALUE_INDEX == 20);
  CHECK(MPI_COMM_TYPE_RESOURCE_GUIDED == 4);
  CHECK(MPI_T_ERR_NOT_SUPPORTED == 78 && MPI_T_ERR_NOT_ACCESSIBLE == 79);
  CHECK(MPI_ERR_ERRHANDLER == 80 && MPI_ERR_ABI == 81);
  return finish();
}
