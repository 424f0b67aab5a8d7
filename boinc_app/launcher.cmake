# The launcher is linked statically: it must start where no other library of the version is found.
if(NOT DEDLOC_SANITIZE)
    dedloc_program(dedloc_launcher SOURCES launcher.cpp)
    target_link_options(dedloc_launcher PRIVATE -static)
endif()
