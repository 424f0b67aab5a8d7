# What every target is compiled with.
add_library(dedloc_warnings INTERFACE)
target_compile_options(dedloc_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -ffp-contract=off
    # g++ 12 warns wrongly about inlined std::string and std::vector (its bug 105651 and similar).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    # In a batch it takes each source for a header, where local types in others are a mistake.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${DEDLOC_BATCHES}>>:-Wno-subobject-linkage>
    $<$<BOOL:${DEDLOC_WERROR}>:-Werror>)
if(DEDLOC_SANITIZE)
    target_compile_options(dedloc_warnings INTERFACE
        -fsanitize=${DEDLOC_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(dedloc_warnings INTERFACE -fsanitize=${DEDLOC_SANITIZE})
endif()
