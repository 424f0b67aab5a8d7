# dedloc_test(name LABEL unit SOURCES ... LINKS ... ARGUMENTS ...): a Catch2 program; an empty
# selection is a failure. Labels are those of tests/run; target tests_LABEL builds all of one.
foreach(label tidy unit sim integration net gpu bench fuzz)
    add_custom_target(tests_${label})
endforeach()
function(dedloc_test name)
    cmake_parse_arguments(A "" "LABEL;TIMEOUT" "SOURCES;LINKS;ARGUMENTS" ${ARGN})
    add_executable(${name} ${A_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE ${A_LINKS} dedloc_catch_main dedloc_warnings)
    add_test(NAME ${name} COMMAND ${name} -w NoTests ${A_ARGUMENTS})
    if(NOT A_TIMEOUT)
        set(A_TIMEOUT 120)
    endif()
    if(DEDLOC_SANITIZE)
        math(EXPR A_TIMEOUT "10 * ${A_TIMEOUT}")
    endif()
    set_tests_properties(${name} PROPERTIES LABELS ${A_LABEL} TIMEOUT ${A_TIMEOUT}
        ENVIRONMENT_MODIFICATION
        "TSAN_OPTIONS=set:suppressions=${PROJECT_SOURCE_DIR}/tests/thread_sanitizer.txt")
    add_dependencies(tests_${A_LABEL} ${name})
endfunction()

# dedloc_bench(name SOURCES ... LINKS ...): a program that prints measurements, for tests/run bench.
function(dedloc_bench name)
    dedloc_program(${name} ${ARGN})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS bench TIMEOUT 600)
    add_dependencies(tests_bench ${name})
endfunction()
