# The real doors of a project, with databases behind them.
set(doors door_accounts door_gateway door_scheduler door_uploads)
list(TRANSFORM doors APPEND :2048 OUTPUT_VARIABLE targets)
dedloc_fuzz(doors LABEL integration TARGETS ${targets} SOURCES door_world.cpp odd_requests.cpp
    LINKS dedloc::server_web dedloc::gateway)
target_compile_definitions(fuzz_doors_targets PRIVATE
    DEDLOC_CAPTURED="${PROJECT_SOURCE_DIR}/tests/project_server/scheduler/captured")
if(DEDLOC_FUZZ)
    # The servers have hundreds of threads, which a search for leaks would stop at each input.
    foreach(door IN LISTS doors)
        set_tests_properties(fuzz_${door} fuzz_${door}_corpus PROPERTIES
            ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endforeach()
endif()
