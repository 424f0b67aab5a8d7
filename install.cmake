# cmake --install BUILD --prefix DIR: programs into DIR/bin, licences and overview into
# DIR/share/doc/dedloc. Benches, test programs, libraries and headers are not installed.
include(GNUInstallDirs)
foreach(program dedloc dedloc-backbone dedloc-credit dedloc-evaluate dedloc-gateway dedloc-peer
        dedloc-plan dedloc-purge dedloc-runs dedloc-server dedloc-validator dedloc-work
        dedloc_aggregate dedloc_launcher dedloc_train)
    if(TARGET ${program})
        install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endforeach()
foreach(program dedloc_train dedloc-evaluate)
    if(TARGET ${program})
        # It finds libtorch in the unpacked wheel, as one in the build folder does.
        set_target_properties(${program} PROPERTIES
            INSTALL_RPATH "$ORIGIN;${DEDLOC_TORCH_ROOT}/torch/lib")
    endif()
endforeach()
# A release build strips what volunteers download.
foreach(program dedloc_aggregate dedloc_launcher dedloc_train dedloc_cuda)
    if(TARGET ${program})
        target_link_options(${program} PRIVATE $<$<CONFIG:Release>:-s>)
    endif()
endforeach()
install(FILES LICENSE COPYING README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# All other libraries are packages of the system, which has their licences.
if(TARGET dedloc-backbone)
    install(FILES ${DEDLOC_NNG_ROOT}/LICENSE.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}
        RENAME LICENSE.nng)
endif()
