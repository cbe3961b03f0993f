// The words of the predefined error classes.

#include "mpi/errors/error_texts.h"

namespace fgmpi::mpi {

const char* class_text(int error_class) {
  switch (error_class) {
    case MPI_SUCCESS:
      return "No error";
    case MPI_ERR_BUFFER:
      return "Invalid buffer pointer";
    case MPI_ERR_COUNT:
      return "Invalid count";
    case MPI_ERR_TYPE:
      return "Invalid datatype";
    case MPI_ERR_TAG:
      return "Invalid tag";
    case MPI_ERR_COMM:
      return "Invalid communicator";
    case MPI_ERR_RANK:
      return "Invalid rank";
    case MPI_ERR_ROOT:
      return "Invalid root";
    case MPI_ERR_TRUNCATE:
      return "Message truncated";
    case MPI_ERR_GROUP:
      return "Invalid group";
    case MPI_ERR_OP:
      return "Invalid operation";
    case MPI_ERR_REQUEST:
      return "Invalid request";
    case MPI_ERR_TOPOLOGY:
      return "Invalid topology";
    case MPI_ERR_DIMS:
      return "Invalid dimension argument";
    case MPI_ERR_ARG:
      return "Invalid argument";
    case MPI_ERR_ERRHANDLER:
      return "Invalid error handler";
    case MPI_ERR_ABI:
      return "Property of the ABI is set already";
    case MPI_ERR_OTHER:
      return "Other error";
    case MPI_ERR_UNKNOWN:
      return "Unknown error";
    case MPI_ERR_INTERN:
      return "Internal error";
    case MPI_ERR_IN_STATUS:
      return "Error code is in the status";
    case MPI_ERR_PENDING:
      return "Operation is pending";
    case MPI_ERR_ACCESS:
      return "Access denied";
    case MPI_ERR_AMODE:
      return "Invalid access mode";
    case MPI_ERR_BAD_FILE:
      return "Invalid file name";
    case MPI_ERR_CONVERSION:
      return "Error in data conversion";
    case MPI_ERR_DUP_DATAREP:
      return "Data representation is defined already";
    case MPI_ERR_FILE_EXISTS:
      return "File exists";
    case MPI_ERR_FILE_IN_USE:
      return "File is in use";
    case MPI_ERR_FILE:
      return "Invalid file handle";
    case MPI_ERR_IO:
      return "I/O error";
    case MPI_ERR_NO_SPACE:
      return "Not enough space";
    case MPI_ERR_NO_SUCH_FILE:
      return "File does not exist";
    case MPI_ERR_READ_ONLY:
      return "File or file system is read-only";
    case MPI_ERR_UNSUPPORTED_DATAREP:
      return "Unsupported data representation";
    case MPI_ERR_INFO:
      return "Invalid info object";
    case MPI_ERR_INFO_KEY:
      return "Invalid info key";
    case MPI_ERR_INFO_VALUE:
      return "Invalid info value";
    case MPI_ERR_INFO_NOKEY:
      return "Info key is not set";
    case MPI_ERR_NAME:
      return "Service name is not published";
    case MPI_ERR_NO_MEM:
      return "Out of memory";
    case MPI_ERR_NOT_SAME:
      return "Arguments differ between ranks";
    case MPI_ERR_PORT:
      return "Invalid port";
    case MPI_ERR_QUOTA:
      return "Quota exceeded";
    case MPI_ERR_SERVICE:
      return "Invalid service name";
    case MPI_ERR_SPAWN:
      return "Cannot spawn processes";
    case MPI_ERR_UNSUPPORTED_OPERATION:
      return "Unsupported operation";
    case MPI_ERR_WIN:
      return "Invalid window";
    case MPI_ERR_BASE:
      return "Invalid base address";
    case MPI_ERR_LOCKTYPE:
      return "Invalid lock type";
    case MPI_ERR_KEYVAL:
      return "Invalid keyval";
    case MPI_ERR_RMA_CONFLICT:
      return "Conflicting accesses to a window";
    case MPI_ERR_RMA_SYNC:
      return "Wrong synchronization of RMA calls";
    case MPI_ERR_SIZE:
      return "Invalid size";
    case MPI_ERR_DISP:
      return "Invalid displacement";
    case MPI_ERR_ASSERT:
      return "Invalid assert argument";
    case MPI_ERR_RMA_RANGE:
      return "Target memory is not part of the window";
    case MPI_ERR_RMA_ATTACH:
      return "Memory cannot be attached";
    case MPI_ERR_RMA_SHARED:
      return "Memory cannot be shared";
    case MPI_ERR_RMA_FLAVOR:
      return "Wrong window flavor";
    case MPI_ERR_SESSION:
      return "Invalid session";
    case MPI_ERR_PROC_ABORTED:
      return "A peer process aborted";
    case MPI_ERR_VALUE_TOO_LARGE:
      return "Value is too large to store";
    case MPIX_ERR_PROC_FAILED:
      return "Process has failed";
    case MPIX_ERR_PROC_FAILED_PENDING:
      return "Operation is pending since a process has failed";
    case MPIX_ERR_REVOKED:
      return "Communicator was revoked";
    case MPI_T_ERR_MEMORY:
      return "MPI_T: out of memory";
    case MPI_T_ERR_NOT_INITIALIZED:
      return "MPI_T: not initialized";
    case MPI_T_ERR_CANNOT_INIT:
      return "MPI_T: cannot be initialized";
    case MPI_T_ERR_INVALID_INDEX:
      return "MPI_T: invalid index";
    case MPI_T_ERR_INVALID_ITEM:
      return "MPI_T: invalid item";
    case MPI_T_ERR_INVALID_HANDLE:
      return "MPI_T: invalid handle";
    case MPI_T_ERR_OUT_OF_HANDLES:
      return "MPI_T: out of handles";
    case MPI_T_ERR_OUT_OF_SESSIONS:
      return "MPI_T: out of sessions";
    case MPI_T_ERR_INVALID_SESSION:
      return "MPI_T: invalid session";
    case MPI_T_ERR_CVAR_SET_NOT_NOW:
      return "MPI_T: the variable cannot be set now";
    case MPI_T_ERR_CVAR_SET_NEVER:
      return "MPI_T: the variable cannot be set";
    case MPI_T_ERR_PVAR_NO_STARTSTOP:
      return "MPI_T: the variable cannot be started or stopped";
    case MPI_T_ERR_PVAR_NO_WRITE:
      return "MPI_T: the variable cannot be written";
    case MPI_T_ERR_PVAR_NO_ATOMIC:
      return "MPI_T: the variable cannot be read and reset at once";
    case MPI_T_ERR_INVALID_NAME:
      return "MPI_T: invalid name";
    case MPI_T_ERR_INVALID:
      return "MPI_T: invalid use";
    case MPI_T_ERR_NOT_ACCESSIBLE:
      return "Requested information is not accessible";
    case MPI_T_ERR_NOT_SUPPORTED:
      return "MPI_T: not supported";
    default:
      return "Unknown error class";
  }
}

}  // namespace fgmpi::mpi
