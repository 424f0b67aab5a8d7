// One file → a picture for a shard: PNGs of all forms, metadata, and a folder of 83 odd files with
// the outcome that each must have.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "boinc_app/pictures/jpeg_decoder.hpp"
#include "boinc_app/pictures/jpeg_segments.hpp"
#include "peer/platform/files.hpp"
#include "project_server/pictures/jpeg_encoder.hpp"
#include "project_server/pictures/metadata.hpp"
#include "project_server/pictures/picture_source.hpp"
#include "project_server/pictures/png_reader.hpp"
#include "tests/boinc_app/pictures/made_jpeg.hpp"
#include "tests/project_server/pictures/made_png.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::pictures {
namespace {

namespace fs = std::filesystem;
using tests::made_jpeg;
using tests::made_png;
using tests::PngForm;
using tests::smooth_picture;

Buffer concatenated(std::span<const std::byte> a, std::span<const std::byte> b) {
    Buffer both(a.begin(), a.end());
    both.insert(both.end(), b.begin(), b.end());
    return both;
}

bool has_text(std::span<const std::byte> bytes, std::string_view text) {
    const auto wanted = bytes_of(text);
    return std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()) != bytes.end();
}

TEST_CASE("a PNG of every form has the pixels of its picture", "[pictures]") {
    const Picture source = smooth_picture(37, 29);
    for (const PngForm form :
         {PngForm::kRgb, PngForm::kRgb16, PngForm::kRgba, PngForm::kInterlaced}) {
        CAPTURE(static_cast<int>(form));
        const auto picture = read_png(made_png(source, form), kMaxPixels);
        REQUIRE(picture);
        CHECK(picture->rgb == source.rgb);
    }
    for (const PngForm form : {PngForm::kGray16, PngForm::kPalette}) {
        CAPTURE(static_cast<int>(form));
        const auto picture = read_png(made_png(source, form), kMaxPixels);
        REQUIRE(picture);
        REQUIRE(picture->rgb.size() == source.rgb.size());
        for (std::size_t i = 0; i < source.rgb.size(); ++i) {
            const int red = source.rgb[i - i % 3];
            CHECK(std::abs(picture->rgb[i] - red) <= (form == PngForm::kPalette ? 8 : 0));
        }
    }
}

TEST_CASE("a PNG that is cut or altered is refused, or decoded", "[pictures]") {
    const Buffer png = made_png(smooth_picture(20, 10), PngForm::kRgb);
    for (std::size_t size = 0; size < png.size(); ++size) {
        const auto cut = read_png(std::span{png}.first(size), kMaxPixels);
        REQUIRE(!cut);
        CHECK(cut.reason().fault == (size < 8 ? Fault::kNotAPicture : Fault::kTruncated));
    }
    for (std::size_t at = 8; at < png.size(); ++at) {
        Buffer altered = png;
        altered[at] ^= std::byte{0x55};
        const auto picture = read_png(altered, 1 << 16);
        if (!picture) CHECK(!picture.reason().sentence.empty());
    }
    const auto large = read_png(png, 199);
    REQUIRE(!large);
    CHECK(large.reason().fault == Fault::kTooLarge);
}

TEST_CASE("a JPEG loses what identifies people, and no pixel", "[pictures]") {
    const Picture source = smooth_picture(40, 24);
    for (const unsigned orientation : {0u, 1u, 6u}) {
        const Buffer jpeg =
            made_jpeg(source, {.orientation = orientation, .comment = "taken at my home"});
        const auto clean = without_metadata(concatenated(jpeg, bytes_of("a second picture")));
        REQUIRE(clean);
        CHECK_FALSE(has_text(*clean, "home"));
        CHECK_FALSE(has_text(*clean, "second"));
        CHECK(has_text(*clean, "Exif") == (orientation == 6));
        CHECK(exif_orientation(*clean) == exif_orientation(jpeg));
        const auto before = decode_jpeg(jpeg);
        const auto after = decode_jpeg(*clean);
        REQUIRE(before);
        REQUIRE(after);
        CHECK(before->rgb == after->rgb);
        const auto again = without_metadata(*clean);
        REQUIRE(again);
        CHECK(*again == *clean);
    }
    CHECK_FALSE(without_metadata(bytes_of("GIF89a")));
}

TEST_CASE("a progressive JPEG that is cut loses no scan unnoticed", "[pictures]") {
    const Buffer jpeg = made_jpeg(smooth_picture(40, 24), {.is_progressive = true});
    const auto whole = decode_jpeg(jpeg);
    REQUIRE(whole);
    for (std::size_t size = 0; size < jpeg.size(); ++size) {
        const auto clean = without_metadata(std::span{jpeg}.first(size));
        CHECK((!clean || !decode_jpeg(*clean)));
    }
}

/// One row of the table of odd files.
struct OddFile {
    std::string name;
    std::string expected;
    std::string pillow;
};

std::vector<OddFile> read_table(const fs::path& file) {
    std::ifstream in{file};
    std::vector<OddFile> rows;
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
        std::istringstream fields{line};
        OddFile row;
        std::string bytes;
        std::getline(fields, row.name, '\t');
        std::getline(fields, bytes, '\t');
        std::getline(fields, row.expected, '\t');
        std::getline(fields, row.pillow, '\t');
        rows.push_back(row);
    }
    return rows;
}

/// Whether a reason, empty for a picture that is taken, is one that the table allows.
bool is_expected(const std::string& expected, const std::string& reason) {
    const auto allows = [&](std::string_view word) { return expected.find(word) != expected.npos; };
    if (reason.empty()) return expected.starts_with("ok");
    if (reason == "truncated") return allows("truncated") || allows("error");
    if (reason == "too many pixels") return allows("size limit");
    if (reason == "not a picture") return allows("error") || expected.ends_with("reject");
    if (reason == "unsupported") return allows("unsupported");
    return reason == "broken" && allows("error");
}

TEST_CASE("83 odd files are taken or refused as their table says", "[pictures]") {
    const char* const named = std::getenv("DEDLOC_ODD_PICTURES");
    const fs::path folder = named != nullptr ? named : DEDLOC_ODD_PICTURES;
    if (!fs::exists(folder / "odd.tsv")) {
        WARN(fmt::format("{} is absent: the odd files were not looked at", folder.string()));
        return;
    }
    std::string table;
    const auto rows = read_table(folder / "odd.tsv");
    CHECK(rows.size() == 83);
    for (const OddFile& row : rows) {
        CAPTURE(row.name, row.expected);
        const auto source = read_source(folder / row.name, kMaxPixels);
        const std::string reason = source ? "" : source.reason().reason;
        CHECK(is_expected(row.expected, reason));
        table += fmt::format("{} | {} | {}\n", row.name, row.expected,
                             source ? fmt::format("{}x{}", source->width, source->height)
                                    : source.reason().sentence);
        if (!source) continue;
        CHECK(row.pillow.find(fmt::format(" {}x{} ", source->width, source->height)) !=
              std::string::npos);
        const auto picture = decode_jpeg(source->jpeg);
        REQUIRE(picture);
        CHECK(picture->width == source->width);
        const auto original = decode_jpeg(platform::read_file(folder / row.name, 1 << 24));
        if (original) CHECK(original->rgb == picture->rgb);
        const auto small = decode_jpeg(source->jpeg, {.min_side = 96});
        REQUIRE(small);
        const auto side = std::min(small->width, small->height);
        CHECK(side >= std::min({96u, source->width, source->height}));
    }
    if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(table);
}

}  // namespace
}  // namespace dedloc::pictures
