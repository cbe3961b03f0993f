print g_rod.conductivity[0]
fgmpi last-write g_rod.conductivity[0]
print step
print wide
print &g_rod.heat[66] == &g_rod.conductivity[0]
