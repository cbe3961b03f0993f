// Extensions of our library that the checker needs; null with other MPI libraries, where it does
// nothing.
#pragma once

#include "fgmpi.h"
#include "proclet-sched/coroutine/debug_table.h"

#pragma weak MPIX_Tool_word
#pragma weak MPIX_Comm_key
#pragma weak MPIX_Comm_keys_unique
#pragma weak MPIX_Tool_process
#pragma weak MPIX_Tool_has_datatype
#pragma weak MPIX_Tool_handlers
#pragma weak MPIX_Tool_notify
#pragma weak MPIX_Tool_accessed
#pragma weak MPIX_Tool_accesses
#pragma weak MPIX_Tool_under_way
#pragma weak MPIX_Tool_orders
#pragma weak MPIX_Tool_used
#pragma weak MPIX_Tool_updates
#pragma weak MPIX_Tool_update_times
#pragma weak MPIX_Tool_parked
#pragma weak MPIX_Tool_ends
#pragma weak MPIX_Tool_leaks
#pragma weak MPIX_Tool_conflicts
#pragma weak MPIX_Tool_places
#pragma weak MPIX_Tool_enter
#pragma weak MPIX_Tool_leave
#pragma weak MPIX_Tool_wait
#pragma weak MPIX_Tool_wake
#pragma weak MPIX_Get_collocated_size
#pragma weak MPIX_Get_collocated_startrank
#pragma weak MPIX_Yield
#pragma weak fgmpi_debug_table
