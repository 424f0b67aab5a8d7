# A path with blanks cannot be among the flags of a preset.
if(DEDLOC_FUZZ)
    target_compile_options(dedloc_warnings INTERFACE
        -fsanitize-ignorelist=${CMAKE_CURRENT_SOURCE_DIR}/ignored.txt)
endif()
if(DEDLOC_FUZZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "DEDLOC_FUZZ=ON needs clang: cmake --preset asan")
endif()
# dedloc_fuzz(name MAX_LEN bytes LABEL unit SOURCES ... LINKS ...): fuzz_name on fuzz_name.cpp, which
# runs on the inputs in corpus/name as a test with that label. With DEDLOC_FUZZ it also searches for
# inputs that break it, of at most that many bytes (0: libFuzzer chooses).
function(dedloc_fuzz name)
    cmake_parse_arguments(A "" "MAX_LEN;LABEL" "SOURCES;LINKS" ${ARGN})
    if(NOT A_LABEL)
        set(A_LABEL unit)
    endif()
    set(target fuzz_${name})
    set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    add_executable(${target} ${target}.cpp ${A_SOURCES})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE ${A_LINKS} dedloc_warnings)
    add_dependencies(tests_${A_LABEL} ${target})
    if(NOT DEDLOC_FUZZ)
        target_sources(${target} PRIVATE replay_main.cpp)
        add_test(NAME ${target}_corpus COMMAND ${target} ${corpus})
    else()
        if(NOT A_MAX_LEN)
            set(A_MAX_LEN 0)
        endif()
        target_sources(${target} PRIVATE libfuzzer_entry.cpp)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
        add_test(NAME ${target}_corpus COMMAND ${target} -runs=0 -timeout=20 ${corpus})
        add_test(NAME ${target} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/search
            $<TARGET_FILE:${target}> ${corpus} ${A_MAX_LEN} $<TARGET_FILE:make_corpus>)
        # Undefined behaviour is a finding here; unit tests only print it.
        set_tests_properties(${target} PROPERTIES LABELS fuzz TIMEOUT 100000
            ENVIRONMENT_MODIFICATION "UBSAN_OPTIONS=set:halt_on_error=1:print_stacktrace=1")
        add_dependencies(tests_fuzz ${target} make_corpus)
    endif()
    set_tests_properties(${target}_corpus PROPERTIES LABELS ${A_LABEL} TIMEOUT 120)
endfunction()
