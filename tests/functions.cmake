# dedloc_test(name LABEL unit SOURCES ... LINKS ... ARGUMENTS ...): a Catch2 program; an empty
# selection is a failure. Labels are those of tests/run; target tests_LABEL builds all of one.
# THREADS adds the label threads: processes of ours that have several, for the thread sanitizer.
# Sources share a batch, so that the headers they share are read once: local helpers have names of
# their own, and a folder has one program for each label.
# TIMEOUT is for tests that hang: the default leaves time on a machine that is busy.
# Tests themselves gain nothing from -O3 and take a quarter longer to compile with it; those that wait
# for others gain nothing from -O1. With the address sanitizer a batch of tests takes clang 28 s with
# -O1 and the fuzzer's counters, and 10 s with -O0 and without them; COMPUTES is for those that save
# more with -O1 when they run.
add_library(dedloc_test_code INTERFACE)  # its options must follow those of dedloc_warnings
if(DEDLOC_FUZZ)
    target_compile_options(dedloc_test_code INTERFACE
        $<$<NOT:$<BOOL:$<TARGET_PROPERTY:dedloc_computes>>>:-O0>)
endif()
foreach(label tidy unit sim integration threads pages net gpu bench fuzz)
    add_custom_target(tests_${label})
endforeach()
function(dedloc_test name)
    cmake_parse_arguments(A "COMPUTES;THREADS" "LABEL;TIMEOUT" "SOURCES;LINKS;ARGUMENTS" ${ARGN})
    add_executable(${name} ${A_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE ${A_LINKS} Catch2::Catch2WithMain dedloc_warnings
        dedloc_test_code)
    set(level -O1)
    if(A_LABEL STREQUAL integration)
        set(level -O0)
    endif()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:${level}>)
    set_target_properties(${name} PROPERTIES dedloc_computes ${A_COMPUTES})
    dedloc_cases(${name} ${ARGN} PROGRAM ${name})
    # Hidden cases, such as "[.slow]", are a test of their own for tests/run nightly. It names only
    # tags that some case has, because Catch2 fails if a part of the selection matches no case.
    list(FILTER A_SOURCES INCLUDE REGEX "_test\\.cpp$")
    set(tags "")
    foreach(source IN LISTS A_SOURCES)
        foreach(tag slow soak)
            file(STRINGS ${source} hidden REGEX "\\[\\.${tag}\\]")
            if(hidden)
                list(APPEND tags "[${tag}]")
            endif()
        endforeach()
    endforeach()
    if(tags)
        list(REMOVE_DUPLICATES tags)
        list(JOIN tags "," tags)
        add_test(NAME ${name}_hidden COMMAND ${name} -w NoTests ${tags})
        set_tests_properties(${name}_hidden PROPERTIES LABELS ${A_LABEL}_hidden TIMEOUT 3600)
    endif()
endfunction()

# dedloc_cases(name PROGRAM program LABEL unit ARGUMENTS ...): a test of some cases of a program.
function(dedloc_cases name)
    cmake_parse_arguments(A "COMPUTES;THREADS" "PROGRAM;LABEL;TIMEOUT" "SOURCES;LINKS;ARGUMENTS"
        ${ARGN})
    add_test(NAME ${name} COMMAND ${A_PROGRAM} -w NoTests ${A_ARGUMENTS})
    if(NOT A_TIMEOUT)
        set(A_TIMEOUT 3600)
    endif()
    if(DEDLOC_SANITIZE)
        math(EXPR A_TIMEOUT "10 * ${A_TIMEOUT}")
    endif()
    set(labels ${A_LABEL})
    if(A_THREADS)
        list(APPEND labels threads)
        add_dependencies(tests_threads ${A_PROGRAM})
    endif()
    add_dependencies(tests_${A_LABEL} ${A_PROGRAM})
    # Some tests fork a child that is killed, and start threads in it.
    set(tsan suppressions=${PROJECT_SOURCE_DIR}/tests/thread_sanitizer.txt)
    string(APPEND tsan ":halt_on_error=1:die_after_fork=0")
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${A_TIMEOUT}
        ENVIRONMENT_MODIFICATION "TSAN_OPTIONS=set:${tsan}")
endfunction()

# uses_ssh_server(name): a test that starts an SSH server (tests/ssh_server.hpp).
function(uses_ssh_server name)
    target_compile_definitions(${name} PRIVATE
        DEDLOC_SSH_SERVER="${PROJECT_SOURCE_DIR}/tests/ssh_server.sh")
endfunction()

# dedloc_bench(name SOURCES ... LINKS ...): a program that prints measurements, for tests/run bench.
function(dedloc_bench name)
    dedloc_program(${name} ${ARGN})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS bench TIMEOUT 600)
    add_dependencies(tests_bench ${name})
endfunction()
