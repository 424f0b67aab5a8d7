# Device code by nvcc, called by hand: as a language of CMake's it would be tried out at every
# configuration, and would link everything that uses it.

# Every product of a multiplication rounded, division and root as IEEE 754 has them, denormals kept.
set(DEDLOC_EXACT_DEVICE_CODE -fmad=false -prec-div=true -prec-sqrt=true -ftz=false)

# All that nvcc 13 knows of consumers' and data centres' chips; others of a family run what their
# elder does, later ones compile the PTX of the last.
set(architectures 75 80 86 89 90 100 120)
set(targets "")
foreach(architecture IN LISTS architectures)
    list(APPEND targets -gencode arch=compute_${architecture},code=sm_${architecture})
    list(APPEND targets -gencode arch=compute_${architecture},code=compute_${architecture})
endforeach()

set(options -std=c++20 -O3 --expt-relaxed-constexpr -I ${PROJECT_SOURCE_DIR}
    # Tests read the code of objects; what ships may be compressed when it is linked.
    --compress-mode=none
    -Xcompiler=-fPIC,-ffp-contract=off,-Wall,-Wextra,-Wshadow,-Wconversion)
if(DEDLOC_WERROR)
    list(APPEND options -Werror all-warnings -Xcompiler=-Werror)
endif()
set(DEDLOC_NVCC ${CCACHE} ${NVCC} ${options} ${targets})

# dedloc_nvcc_object(object x.cu option...): an object file of this folder's x.cu for every
# architecture; its path into `object`.
function(dedloc_nvcc_object object source)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    add_custom_command(OUTPUT ${path}
        COMMAND ${DEDLOC_NVCC} ${ARGN} -MD -MF ${path}.d
            -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${path}
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} DEPFILE ${path}.d VERBATIM)
    set(${object} ${path} PARENT_SCOPE)
endfunction()
