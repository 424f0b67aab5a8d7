# Compiles device code with nvcc by custom commands. As a CMake language, CUDA would be tested at
# every configuration, and would change how everything that uses it is linked.

# Rounds every product, computes division and root as in IEEE 754, and keeps denormals.
set(DEDLOC_EXACT_DEVICE_CODE -fmad=false -prec-div=true -prec-sqrt=true -ftz=false)

# The consumer and data centre GPUs that nvcc 13 supports. Other GPUs of a family run the code of an
# older member; later families compile the newest PTX.
set(architectures 75 80 86 89 90 100 120)
set(targets "")
foreach(architecture IN LISTS architectures)
    list(APPEND targets -gencode arch=compute_${architecture},code=sm_${architecture})
    list(APPEND targets -gencode arch=compute_${architecture},code=compute_${architecture})
endforeach()

set(options -std=c++20 -O3 --expt-relaxed-constexpr -I ${PROJECT_SOURCE_DIR}
    # Tests read the machine code in the objects, so it is not compressed.
    --compress-mode=none
    -Xcompiler=-fPIC,-ffp-contract=off,-Wall,-Wextra,-Wshadow,-Wconversion)
if(DEDLOC_WERROR)
    list(APPEND options -Werror all-warnings -Xcompiler=-Werror)
endif()
set(DEDLOC_NVCC ${CCACHE} ${NVCC} ${options} ${targets})

# dedloc_nvcc_object(object x.cu option...): compiles this folder's x.cu for every architecture into
# one object file, and sets `object` to its path.
function(dedloc_nvcc_object object source)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    add_custom_command(OUTPUT ${path}
        COMMAND ${DEDLOC_NVCC} ${ARGN} -MD -MF ${path}.d
            -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${path}
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} DEPFILE ${path}.d VERBATIM)
    set(${object} ${path} PARENT_SCOPE)
endfunction()
