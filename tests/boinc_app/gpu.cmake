# The code of GPUs: its kernels for layers on the host, the plug-in, and the replica on a GPU.
set(layers ${PROJECT_SOURCE_DIR}/boinc_app/cuda/layers)
set_source_files_properties(${layers}.cu PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
dedloc_test(fused_layers_test LABEL unit
    SOURCES fused_layers_test.cpp ../kernels/cuda/host_device.cpp ${layers}.cpp ${layers}.cu
    LINKS dedloc::training torch::torch_cpu torch::c10)
set_property(TARGET fused_layers_test PROPERTY JOB_POOL_COMPILE torch)
if(TARGET dedloc_cuda)
    dedloc_test(cuda_plugin_test LABEL unit SOURCES cuda_plugin_test.cpp LINKS dedloc::gpu)
    add_dependencies(cuda_plugin_test dedloc_cuda played_driver_13010_0_64)
    target_compile_definitions(cuda_plugin_test PRIVATE DEDLOC_PLAYED_DRIVERS="${folder}"
        DEDLOC_PLUGIN="$<TARGET_FILE:dedloc_cuda>")
    dedloc_test(replica_gpu_test LABEL gpu SOURCES replica_gpu_test.cpp
        LINKS dedloc::gpu)
    add_dependencies(replica_gpu_test dedloc_cuda)
    set_target_properties(replica_gpu_test PROPERTIES BUILD_RPATH ${PROJECT_BINARY_DIR}/bin)
    set_tests_properties(replica_gpu_test PROPERTIES SKIP_RETURN_CODE 77)
endif()
