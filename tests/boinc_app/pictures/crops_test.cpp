// Crops have the pixels that Pillow gives them (fixtures/make_augmentation_fixtures.py), and no
// picture makes them read elsewhere or allocate much.
#include "boinc_app/pictures/crops.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <new>
#include <span>

#include "boinc_app/pictures/colours.hpp"
#include "peer/base/sha256.hpp"
#include "tests/boinc_app/pictures/crop_cases.hpp"

namespace {

std::size_t allocated_bytes = 0;  // in all; this program has one thread

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    allocated_bytes += bytes;
    if (void* memory = std::malloc(bytes)) return memory;
    throw std::bad_alloc{};
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    allocated_bytes += bytes;
    return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace dedloc::pictures {
namespace {

const std::filesystem::path kFolder = std::filesystem::path{DEDLOC_FIXTURES} / "augmentation";

struct AugmentationFixture {
    AugmentationFixture() {
        std::ifstream text{kFolder / "cases.txt"};
        for (std::string line; std::getline(text, line);) cases.push_back(parse_case(line));
        for (const CropCase& crop : cases) {
            if (pictures.contains(crop.picture)) continue;
            pictures[crop.picture] = read_ppm(kFolder / (crop.picture + ".ppm"));
        }
        std::ifstream file{kFolder / "pixels.bin", std::ios::binary};
        pixels.assign(std::istreambuf_iterator<char>{file}, {});
    }

    std::vector<CropCase> cases{};
    std::map<std::string, Picture> pictures{};
    std::vector<std::uint8_t> pixels{};
};

Picture filled(Extent extent, std::uint8_t value) {
    return {.width = extent.width,
            .height = extent.height,
            .rgb = std::vector<std::uint8_t>(std::size_t{3} * extent.width * extent.height, value)};
}

TEST_CASE("crops have Pillow's pixels", "[pictures]") {
    const AugmentationFixture fixture;
    REQUIRE(fixture.cases.size() >= 300);
    Scratch scratch;
    std::vector<std::uint8_t> crop_bytes;
    std::size_t at = 0;
    for (const CropCase& crop : fixture.cases) {
        make(crop, fixture.pictures.at(crop.picture), crop_bytes, scratch);
        REQUIRE(at + crop_bytes.size() <= fixture.pixels.size());
        const auto expected = std::span{fixture.pixels}.subspan(at, crop_bytes.size());
        at += crop_bytes.size();
        INFO(line_of(crop));
        CHECK(std::ranges::equal(crop_bytes, expected));
    }
    CHECK(at == fixture.pixels.size());
}

TEST_CASE("floats are the normalised bytes", "[pictures]") {
    const AugmentationFixture fixture;
    const formats::ColourSpec colours{};
    Scratch scratch;
    std::vector<std::uint8_t> bytes;
    for (const CropCase& crop : fixture.cases) {
        const Picture& picture = fixture.pictures.at(crop.picture);
        make(crop, picture, bytes, scratch);
        std::vector<float> floats(bytes.size());
        if (crop.is_middle()) {
            make_middle_crop(picture, crop.middle, colours, floats, scratch);
        } else {
            make_crop(picture, crop.parameters, colours, floats, scratch);
        }
        const std::size_t plane = bytes.size() / 3;
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const auto mean = static_cast<float>(colours.mean[i / plane]);
            const auto deviation = static_cast<float>(colours.deviation[i / plane]);
            const float value = (static_cast<float>(bytes[i]) / 255.0f - mean) / deviation;
            wrong += floats[i] == value ? 0 : 1;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("hues of all colours have Pillow's digests", "[pictures][.slow]") {
    std::ifstream text{kFolder / "hues.txt"};
    double turns = 0;
    int found = 0;
    for (std::string expected; text >> turns >> expected; ++found) {
        Sha256 digest;
        std::vector<std::uint8_t> row(3 * 256);
        const std::span<std::uint8_t> all{row};
        const Planes planes{all.first(256), all.subspan(256, 256), all.last(256)};
        for (int colour = 0; colour < 1 << 16; ++colour) {
            for (std::size_t red = 0; red < 256; ++red) {
                planes.red[red] = static_cast<std::uint8_t>(red);
                planes.green[red] = static_cast<std::uint8_t>(colour & 255);
                planes.blue[red] = static_cast<std::uint8_t>(colour >> 8);
            }
            shift_hue(planes, turns);
            digest.update(std::as_bytes(all));
        }
        CHECK(digest.hex() == expected);
    }
    CHECK(found == 5);
}

TEST_CASE("pictures of any shape have crops of any size", "[pictures]") {
    const formats::ColourSpec always{.jitter = 1, .gray = 0, .blur = 1};
    Scratch scratch;
    for (const Extent extent :
         {Extent{1, 1}, {1, 500}, {500, 1}, {1, 65'500}, {65'500, 1}, {65'500, 7}, {17, 3}}) {
        const Picture picture = filled(extent, 100);
        for (const std::uint32_t size : {1u, 31u, 33u, 97u}) {
            const std::size_t count = std::size_t{3} * size * size;
            const formats::CropSpec spec{.size = size, .count = 1, .min_area = 0.01, .max_area = 1};
            std::vector<std::uint8_t> out(count);
            make_crop(picture, draw_crop(spec, always, extent, Random{size}), out, scratch);
            // The whole picture, which draw_crop() does not give for these shapes.
            const CropParameters whole{.size = size, .region = {0, 0, extent}};
            std::vector<std::uint8_t> same(count, 100);
            make_crop(picture, whole, out, scratch);
            CHECK(out == same);
            make_middle_crop(picture, {.shorter_side = size, .size = size}, out, scratch);
            CHECK(out == same);
            make_middle_crop(picture, {.shorter_side = 4'096, .size = size}, out, scratch);
            CHECK(out == same);
        }
    }
}

TEST_CASE("buffers are allocated once, and are small for pictures of a strange shape",
          "[pictures]") {
    const formats::ColourSpec always{.jitter = 1, .gray = 1, .blur = 1};
    const formats::CropSpec spec{.size = 64, .count = 1, .min_area = 0.1, .max_area = 1};
    const Picture picture = filled({300, 200}, 100);
    std::vector<float> out(3 * 64 * 64);
    Scratch scratch;
    make_crop(picture, {.size = 64, .region = {0, 0, {300, 200}}, .blur_radius = 1}, always, out,
              scratch);
    make_middle_crop(picture, {.shorter_side = 64, .size = 64}, always, out, scratch);
    std::size_t before = allocated_bytes;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const CropParameters parameters = draw_crop(spec, always, {300, 200}, Random{seed});
        make_crop(picture, parameters, always, out, scratch);
        make_middle_crop(picture, {.shorter_side = 64, .size = 64}, always, out, scratch);
    }
    CHECK(allocated_bytes == before);

    for (const Extent extent : {Extent{1, 65'500}, {65'500, 1}, {65'500, 2}}) {
        const Picture strange = filled(extent, 100);
        Scratch own;
        before = allocated_bytes;
        make_crop(strange, draw_crop(spec, always, extent, Random{1}), always, out, own);
        make_middle_crop(strange, {.shorter_side = 64, .size = 64}, always, out, own);
        CHECK(allocated_bytes - before < 200'000);
    }
}

TEST_CASE("a radius much larger than a crop blurs it to its mean", "[pictures]") {
    Picture picture = filled({4, 4}, 0);
    for (std::size_t i = 0; i < picture.rgb.size() / 2; ++i) picture.rgb[i] = 200;
    Scratch scratch;
    std::vector<std::uint8_t> out(3 * 4 * 4);
    CropParameters parameters{.size = 4, .region = {0, 0, {4, 4}}};
    parameters.blur_radius = 1e6;
    make_crop(picture, parameters, out, scratch);
    for (const std::uint8_t value : out) CHECK(value == Approx(100).margin(1));
}

}  // namespace
}  // namespace dedloc::pictures
