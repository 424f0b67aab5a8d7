// Crops are drawn as torchvision draws them, and follow from public numbers.
#include "boinc_app/pictures/crop_parameters.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/boinc_app/pictures/crop_cases.hpp"

namespace dedloc::pictures {
namespace {

constexpr double kDraws = 10'000;

/// Calls `visit` with many crops of a picture.
template <class Visit>
void draw_many(const formats::CropSpec& crop, const formats::ColourSpec& colours, Extent picture,
               Visit visit) {
    const Random random{43};
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(kDraws); ++i) {
        visit(draw_crop(crop, colours, picture, random.split(i)));
    }
}

/// A number of successes with this probability, within five standard deviations. Seeds are fixed.
Approx about(double probability) {
    const double deviation = std::sqrt(kDraws * probability * (1 - probability));
    return Approx(kDraws * probability).margin(5 * deviation);
}

Region draw_one(const formats::CropSpec& crop, Extent picture, std::uint64_t seed = 1) {
    return draw_crop(crop, {}, picture, Random{seed}).region;
}

TEST_CASE("areas, ratios and positions of crops are within their bounds", "[pictures][property]") {
    for (const formats::CropSpec& crop : formats::SwavSpec{}.crops) {
        constexpr Extent kPicture{500, 375};
        double wide = 0;
        double moderate = 0;
        double small = 0;
        draw_many(crop, {}, kPicture, [&](const CropParameters& p) {
            const double width = p.region.extent.width;
            const double height = p.region.extent.height;
            // Both sides are rounded.
            const double area = 500.0 * 375.0;
            REQUIRE((width + 0.5) * (height + 0.5) >= crop.min_area * area);
            REQUIRE((width - 0.5) * (height - 0.5) <= crop.max_area * area);
            REQUIRE((width + 0.5) / (height - 0.5) >= 3.0 / 4.0);
            REQUIRE((width - 0.5) / (height + 0.5) <= 4.0 / 3.0);
            REQUIRE(p.region.left + p.region.extent.width <= kPicture.width);
            REQUIRE(p.region.top + p.region.extent.height <= kPicture.height);
            REQUIRE(p.size == crop.size);
            wide += width > height ? 1 : 0;
            moderate += std::abs(std::log(width / height)) < std::log(4.0 / 3.0) / 2 ? 1 : 0;
            small += width * height < (crop.min_area + crop.max_area) / 2 * area ? 1 : 0;
        });
        if (crop.max_area == 1) continue;  // large areas fit only with some ratios
        // Widths equal to heights and roundings move the shares a little.
        CHECK(wide / kDraws == Approx(0.5).margin(0.02));
        CHECK(moderate / kDraws == Approx(0.5).margin(0.02));
        CHECK(small / kDraws == Approx(0.5).margin(0.02));
    }
}

TEST_CASE("every position of a crop is as likely", "[pictures][property]") {
    // A quarter of 8 × 8 with a ratio near 1 is 4 × 4, which fits at 5 × 5 places.
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> places;
    double squares = 0;
    draw_many({.size = 4, .count = 1, .min_area = 0.25, .max_area = 0.25}, {}, {8, 8},
              [&](const CropParameters& p) {
                  if (p.region.extent != Extent{4, 4}) return;
                  ++squares;
                  ++places[{p.region.left, p.region.top}];
              });
    CHECK(places.size() == 25);
    for (const auto& [place, times] : places) {
        CHECK(times == Approx(squares / 25).margin(5 * std::sqrt(squares / 25)));
    }
}

TEST_CASE("extreme pictures give the largest region in the middle", "[pictures]") {
    const formats::CropSpec crop{};
    CHECK(draw_one(crop, {1, 1}) == Region{0, 0, {1, 1}});
    CHECK(draw_one(crop, {1, 500}) == Region{0, 249, {1, 1}});
    CHECK(draw_one(crop, {500, 1}) == Region{249, 0, {1, 1}});
    CHECK(draw_one(crop, {2, 500}) == Region{0, 248, {2, 3}});
    CHECK(draw_one(crop, {65'500, 1}) == Region{32'749, 0, {1, 1}});
    // No region has the whole area of a picture whose ratio is out of bounds.
    const formats::CropSpec whole{.size = 8, .count = 1, .min_area = 1, .max_area = 1};
    CHECK(draw_one(whole, {300, 100}) == Region{83, 0, {133, 100}});
    CHECK(draw_one(whole, {100, 300}) == Region{0, 83, {100, 133}});
    CHECK(draw_one(whole, {100, 100}) == Region{0, 0, {100, 100}});
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
        for (const Extent picture : {Extent{1, 2}, {2, 1}, {2, 2}, {3, 2}, {7, 65'500}}) {
            const Region region = draw_one(crop, picture, seed);
            REQUIRE(region.extent.width >= 1);
            REQUIRE(region.extent.height >= 1);
            REQUIRE(region.left + region.extent.width <= picture.width);
            REQUIRE(region.top + region.extent.height <= picture.height);
        }
    }
}

TEST_CASE("colours change with their probabilities and within their bounds",
          "[pictures][property]") {
    const formats::ColourSpec colours{};
    std::map<std::array<JitterOperation, 4>, double> orders;
    double flipped = 0;
    double jittered = 0;
    double gray = 0;
    double blurred = 0;
    draw_many({}, colours, {40, 30}, [&](const CropParameters& p) {
        flipped += p.is_flipped ? 1 : 0;
        gray += p.is_gray ? 1 : 0;
        if (p.blur_radius != 0) {
            ++blurred;
            REQUIRE(p.blur_radius >= colours.min_radius);
            REQUIRE(p.blur_radius <= colours.max_radius);
        }
        if (p.jitter == Jitter{}) return;
        ++jittered;
        ++orders[p.jitter.order];
        for (const double factor : {p.jitter.brightness, p.jitter.contrast, p.jitter.saturation}) {
            REQUIRE(factor >= 1 - colours.brightness);
            REQUIRE(factor <= 1 + colours.brightness);
        }
        REQUIRE(std::abs(p.jitter.hue) <= colours.hue);
    });
    CHECK(flipped == about(0.5));
    CHECK(jittered == about(colours.jitter));
    CHECK(gray == about(colours.gray));
    CHECK(blurred == about(colours.blur));
    CHECK(orders.size() == 24);
    for (const auto& [order, times] : orders) CHECK(times == about(colours.jitter / 24));
}

TEST_CASE("a probability of 0 never happens, of 1 always, a strength above 1 stops at black",
          "[pictures]") {
    formats::ColourSpec colours{};
    colours.jitter = colours.gray = colours.blur = 0;
    draw_many({}, colours, {40, 30}, [&](const CropParameters& p) {
        REQUIRE((p.jitter == Jitter{} && !p.is_gray && p.blur_radius == 0));
    });
    colours.jitter = colours.gray = colours.blur = 1;
    colours.brightness = 3;
    colours.contrast = colours.saturation = colours.hue = 0;
    draw_many({}, colours, {40, 30}, [&](const CropParameters& p) {
        REQUIRE((p.is_gray && p.blur_radius > 0));
        REQUIRE(p.jitter.brightness >= 0);
        REQUIRE(p.jitter.brightness <= 4);
        // An operation without strength is left out.
        REQUIRE((p.jitter.contrast == 1 && p.jitter.saturation == 1 && p.jitter.hue == 0));
    });
}

TEST_CASE("parameters follow from the generator, and no probability changes other numbers",
          "[pictures]") {
    const formats::ColourSpec always{.jitter = 1, .gray = 1, .blur = 1};
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const CropParameters all = draw_crop({}, always, {500, 375}, Random{seed});
        CHECK(draw_crop({}, always, {500, 375}, Random{seed}) == all);
        CHECK_FALSE(draw_crop({}, always, {500, 375}, Random{seed + 1}) == all);
        CropParameters some = draw_crop({}, {}, {500, 375}, Random{seed});
        some.is_gray = true;
        if (some.jitter == Jitter{}) some.jitter = all.jitter;
        if (some.blur_radius == 0) some.blur_radius = all.blur_radius;
        CHECK(some == all);
    }
    // Every machine draws these: runs depend on them.
    const CropCase first{"first", "p", draw_crop({}, always, {500, 375}, Random{1})};
    CHECK(line_of(first) ==
          "first p 224 49 44 302 262 0 1.4961539232293473 0.64509659542672926 "
          "1.0298728030904318 -0.11911346846600696 chbs 1 1.3465960201350105");
    const CropCase second{"second", "p",
                          draw_crop({.size = 96, .count = 6, .min_area = 0.05, .max_area = 0.14},
                                    always, {3'000, 2'000}, Random{2})};
    CHECK(line_of(second) ==
          "second p 96 1766 1187 594 586 1 1.0213745472617668 1.3071107323010822 "
          "0.72849413865766388 -0.1924562429814709 cshb 1 1.0408450817529014");
}

}  // namespace
}  // namespace dedloc::pictures
