fgmpi rank 5
print g_done
fgmpi last-write g_done
print neighbour
fgmpi back
fgmpi sender
print g_part
fgmpi last-write g_part
