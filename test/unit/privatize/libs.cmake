# The tests make images of this program itself, so it is linked as the wrappers link programs.
add_library(unit_privatize_flags INTERFACE)
target_compile_options(unit_privatize_flags INTERFACE -fPIC)
target_link_options(unit_privatize_flags INTERFACE -pie -Wl,-z,now)
set(UNIT_LIBS unit_privatize_flags)
