// fgmpi-start: takes the place of a program that MPI_Comm_spawn starts, and tells whether that
// could be executed.

#include "dynamic/starter.h"

int main(int argc, char** argv) { return fgmpi::dynamic::start_program(argc, argv); }
