// Extensions of our library that the tracker uses if they exist; null with other MPI libraries.
#pragma once

#include "fgmpi.h"

#pragma weak MPIX_Tool_word
#pragma weak MPIX_Comm_key
#pragma weak MPIX_Comm_keys_unique
#pragma weak MPIX_Comm_map_bytes
#pragma weak MPIX_Program_address
#pragma weak MPIX_Get_collocated_size
#pragma weak MPIX_Get_collocated_startrank
