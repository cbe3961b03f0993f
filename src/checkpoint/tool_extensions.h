// Functions of fgmpi.h for tools, which are weak: a program without MPI may load the layer, too.
#pragma once

#include "fgmpi.h"

#pragma weak MPIX_Tool_word
#pragma weak MPIX_Tool_process
#pragma weak MPIX_Tool_peer
#pragma weak MPIX_Tool_handlers
#pragma weak MPIX_Tool_parked
#pragma weak MPIX_Tool_notify
#pragma weak MPIX_Tool_await
#pragma weak MPIX_Tool_await_message
#pragma weak MPIX_Tool_interrupt
#pragma weak MPIX_Tool_post
#pragma weak MPIX_Comm_key
#pragma weak MPIX_Comm_keys_unique
