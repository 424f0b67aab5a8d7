# Tests of nvcc's output: its code, its behaviour on a GPU, its speed.
dedloc_bench(kernels_cuda_bench SOURCES ../../bench/kernels_cuda_bench.cpp
    LINKS dedloc::kernels_cuda dedloc::base)
include(${PROJECT_SOURCE_DIR}/kernels/cuda/nvcc.cmake)
dedloc_nvcc_object(contracted contracted.cu -fmad=true -prec-div=false -prec-sqrt=false -ftz=true)
add_custom_target(contracted_kernels DEPENDS ${contracted})
dedloc_test(device_code_test LABEL unit SOURCES ${code_cases})
add_dependencies(device_code_test dedloc_kernels_cuda contracted_kernels)
target_compile_definitions(device_code_test PRIVATE DEDLOC_CONTRACTED_OBJECT="${contracted}"
    DEDLOC_DEVICE_LIBRARY="$<TARGET_FILE:dedloc_kernels_cuda>")

# The same cases on a GPU, and cases that need one.
dedloc_test(device_gpu_test LABEL gpu
    SOURCES ${gpu_cases} LINKS dedloc::kernels_cuda dedloc::base)
get_filename_component(nvcc ${NVCC} REALPATH)
cmake_path(GET nvcc PARENT_PATH bin)
foreach(target device_gpu_test kernels_cuda_bench)  # stopwatch.hpp
    target_include_directories(${target} SYSTEM PRIVATE ${bin}/../include)
endforeach()
set_tests_properties(device_gpu_test device_gpu_test_hidden PROPERTIES SKIP_RETURN_CODE 77)
find_program(COMPUTE_SANITIZER compute-sanitizer PATHS /usr/local/cuda/bin)
if(COMPUTE_SANITIZER)
    # These checks are slow, and the tool does not follow forks, which tests of misuse need.
    foreach(tool memcheck racecheck)
        add_test(NAME device_gpu_${tool} COMMAND ${COMPUTE_SANITIZER} --tool ${tool}
            --error-exitcode 1 $<TARGET_FILE:device_gpu_test> ~*refuse* ~*hundred*
            "~*own error type*" "~*failed call*")
        set_tests_properties(device_gpu_${tool} PROPERTIES LABELS gpu TIMEOUT 600
            SKIP_RETURN_CODE 77)
    endforeach()
endif()
