fgmpi who-else &g_table[3][15]
fgmpi last-write g_table[3][15]
print word
print rank
reverse-next
reverse-next
