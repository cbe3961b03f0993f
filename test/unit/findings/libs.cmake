set(UNIT_LIBS fgmpi_findings_report)
