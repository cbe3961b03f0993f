// Replaces standard input, output and error that are closed when the process starts.
//
// The next descriptor that is opened would have the number of a closed one. It might be a socket of
// this library or of hydra, which the program's printf() would write to and its scanf() read from.
//
// Thread rule: one thread, before there are others. Nothing here switches.
#pragma once

namespace fgmpi {

/// Opens /dev/null in place of the closed ones. REQUIRES: the process has opened nothing yet.
void open_standard_files();

}  // namespace fgmpi
