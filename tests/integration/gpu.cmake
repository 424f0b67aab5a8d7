# A GPU in a swarm.
if(TARGET dedloc_cuda)
    dedloc_test(swarm_gpu_test LABEL gpu SOURCES swarm_gpu_test.cpp
        LINKS dedloc::training_worker dedloc::backbone)
    add_dependencies(swarm_gpu_test dedloc_cuda)
    set_target_properties(swarm_gpu_test PROPERTIES BUILD_RPATH ${PROJECT_BINARY_DIR}/bin)
    set_tests_properties(swarm_gpu_test PROPERTIES SKIP_RETURN_CODE 77)
endif()
