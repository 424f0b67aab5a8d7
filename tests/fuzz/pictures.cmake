# The decoder of pictures, and the program that writes its seeds: make_picture_seeds FOLDER.
if(TARGET dedloc::jpeg_decoder)
    dedloc_fuzz(pictures TARGETS picture:16384 LINKS dedloc::jpeg_decoder)
    dedloc_program(make_picture_seeds
        SOURCES picture_seeds.cpp ${PROJECT_SOURCE_DIR}/tests/boinc_app/pictures/made_jpeg.cpp
        LINKS dedloc::base PkgConfig::JPEG)
endif()
