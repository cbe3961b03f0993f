// Datatypes that only the mpi.h of MPICH 5.0 has, with its handles, which earlier versions use for
// no type: programs that were compiled with it run with a library that was built with any version.
// src/abi/generate/abi.py reads these lines, too.
#pragma once

#include <mpi.h>

#ifndef MPI_LOGICAL1
#undef MPI_INTEGER16  // MPI_DATATYPE_NULL
#define MPI_INTEGER16 static_cast<MPI_Datatype>(0x4c001032)
#define MPI_LOGICAL1 static_cast<MPI_Datatype>(0x4c000147)
#define MPI_LOGICAL2 static_cast<MPI_Datatype>(0x4c000248)
#define MPI_LOGICAL4 static_cast<MPI_Datatype>(0x4c000449)
#define MPI_LOGICAL8 static_cast<MPI_Datatype>(0x4c00084a)
#define MPI_LOGICAL16 static_cast<MPI_Datatype>(0x4c00104b)
#define MPI_REAL2 static_cast<MPI_Datatype>(0x4c000226)
#define MPI_COMPLEX4 static_cast<MPI_Datatype>(0x4c00042e)
#define MPIX_BFLOAT16 static_cast<MPI_Datatype>(0x4c00024c)
#endif
