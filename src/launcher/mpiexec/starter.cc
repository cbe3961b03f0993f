// fgmpi-start: MPI_Comm_spawn starts it in place of a program; it executes that program, and
// reports whether that succeeded.

#include "dynamic/starter.h"

int main(int argc, char** argv) { return fgmpi::dynamic::start_program(argc, argv); }
