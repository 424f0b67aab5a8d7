# light_trainer: the trainer's package without libtorch, which is 451 of its 497 MB. The program
# finds libtorch where it was linked (RUNPATH), so the package serves clients on this machine, in
# tests of something else than packages: a client takes 5 s of a processor to fetch and verify the
# whole one.
set(light_trainer ${PROJECT_BINARY_DIR}/bin/light_trainer)
add_custom_command(OUTPUT ${light_trainer}/dedloc_train
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${light_trainer}
    COMMAND dedloc app package --binary $<TARGET_FILE:dedloc_train> --out ${light_trainer} --json
    COMMAND ${CMAKE_COMMAND} -E rm ${light_trainer}/libtorch_cpu.so
    DEPENDS dedloc dedloc_train dedloc_launcher
    VERBATIM)
add_custom_target(light_trainer ALL DEPENDS ${light_trainer}/dedloc_train)
