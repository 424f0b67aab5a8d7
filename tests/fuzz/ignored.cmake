# A path with blanks cannot be among the flags of a preset. A relative one lets ccache find in one
# clone what it has compiled in another; the digest tells it when the list changes.
if(DEDLOC_FUZZ)
    set(ignored ${CMAKE_CURRENT_SOURCE_DIR}/ignored.txt)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ignored})
    file(SHA256 ${ignored} digest)
    file(RELATIVE_PATH ignored ${CMAKE_BINARY_DIR} ${ignored})
    target_compile_options(dedloc_warnings INTERFACE
        -fsanitize-ignorelist=${ignored} -DDEDLOC_IGNORED_${digest})
endif()
