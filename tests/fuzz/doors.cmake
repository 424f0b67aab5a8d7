# The real doors of a project, with databases behind them.
add_library(dedloc_fuzz_doors STATIC door_world.cpp odd_requests.cpp)
target_link_libraries(dedloc_fuzz_doors PUBLIC dedloc::server_web dedloc::gateway
    PRIVATE dedloc_warnings)
# The servers have hundreds of threads, which a search for leaks would stop at each input.
foreach(door scheduler accounts uploads gateway)
    dedloc_fuzz(door_${door} LABEL integration MAX_LEN 2048 LINKS dedloc_fuzz_doors)
    target_compile_definitions(fuzz_door_${door} PRIVATE
        DEDLOC_CAPTURED="${PROJECT_SOURCE_DIR}/tests/project_server/scheduler/captured")
    if(DEDLOC_FUZZ)
        set_tests_properties(fuzz_door_${door} fuzz_door_${door}_corpus PROPERTIES
            ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
endforeach()
