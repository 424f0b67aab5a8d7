# The golden bits: compiles the kernels again with other compilers and flags than this build's, and
# links each to the same cases. Only one program compares the slow reference with these bits.
add_library(golden_cases OBJECT ${golden} ${slow})
target_include_directories(golden_cases PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(golden_cases PRIVATE Catch2::Catch2 dedloc_warnings)
set(golden_links dedloc::base PkgConfig::SODIUM Threads::Threads)
list(TRANSFORM DEDLOC_KERNEL_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/kernels/ OUTPUT_VARIABLE kernels)

dedloc_test(golden_test LABEL unit SOURCES $<TARGET_OBJECTS:golden_cases>
    LINKS dedloc::kernels dedloc::base)

function(dedloc_golden_test name)
    add_library(${name}_kernels OBJECT ${kernels})
    target_include_directories(${name}_kernels PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name}_kernels PRIVATE dedloc_warnings PkgConfig::SODIUM)
    target_compile_options(${name}_kernels PRIVATE ${DEDLOC_KERNEL_OPTIONS} ${ARGN}
        $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)  # as in kernels/
    dedloc_test(${name} LABEL unit SOURCES $<TARGET_OBJECTS:golden_cases>
        LINKS ${name}_kernels ${golden_links} ARGUMENTS ~[reference])
endfunction()

# Custom commands, because this is another compiler than CMake's.
function(dedloc_golden_clang_test name)
    set(objects "")
    foreach(source IN LISTS DEDLOC_KERNEL_SOURCES)
        set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}_kernels/${source}.o)
        file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}_kernels)
        add_custom_command(OUTPUT ${object}
            COMMAND ${CLANG} -std=c++20 ${DEDLOC_KERNEL_OPTIONS} ${ARGN} -I ${PROJECT_SOURCE_DIR}
                -MD -MF ${object}.d -c ${PROJECT_SOURCE_DIR}/kernels/${source} -o ${object}
            DEPENDS ${PROJECT_SOURCE_DIR}/kernels/${source} DEPFILE ${object}.d VERBATIM)
        list(APPEND objects ${object})
    endforeach()
    dedloc_test(${name} LABEL unit SOURCES $<TARGET_OBJECTS:golden_cases> ${objects}
        LINKS ${golden_links} ARGUMENTS ~[reference])
endfunction()
