# The reader, which needs OTF2, is a library of its own.
if(FGMPI_HAVE_OTF2)
  set(UNIT_LIBS fgmpi_track_reader)
else()
  set(sources)
  fgmpi_tests_without(OTF2 unit.track)
endif()
