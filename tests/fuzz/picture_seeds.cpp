// Writes JPEGs of each coding, kind of colours and orientation: make_picture_seeds FOLDER.
#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/boinc_app/pictures/made_jpeg.hpp"
#include "tests/fuzz/seeds.hpp"

int main(int count, char** arguments) {
    using dedloc::tests::Colours;
    if (count != 2) {
        std::fprintf(stderr, "usage: make_picture_seeds FOLDER\n");
        return 2;
    }
    const dedloc::fuzz::Corpus corpus(arguments[1], "picture");
    const auto picture = dedloc::tests::smooth_picture(29, 19);
    for (const int colours : {0, 1, 2, 3, 4}) {
        for (const int coding : {0, 1, 2, 3}) {  // progressive, arithmetic
            corpus.add("colours_" + std::to_string(colours) + "_coding_" + std::to_string(coding),
                       dedloc::tests::made_jpeg(
                           picture, {.colours = static_cast<Colours>(colours),
                                     .quality = 60,
                                     .is_progressive = (coding & 1) != 0,
                                     .has_arithmetic_codes = (coding & 2) != 0,
                                     .restart_rows = coding == 0 ? 1u : 0u,
                                     .orientation = static_cast<unsigned>(colours + coding),
                                     .is_little_endian = coding == 2}));
        }
    }
    return 0;
}
