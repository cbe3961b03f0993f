# The reader, which needs OTF2, is a library of its own.
set(UNIT_LIBS fgmpi_track_reader)
