set(UNIT_LIBS fgmpi_explorer)
