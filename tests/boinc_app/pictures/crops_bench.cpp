// Half of compare_with_pillow.py. Takes a folder of PPM files, draws crops of each picture, and
// writes their parameters (cases.txt), their pixels (pixels.bin) and the processor seconds of a
// crop by size and operation (times.txt, each measured for SECONDS) beside them. Each operation is
// drawn alone, after the resize, and all of them with their probabilities ("chain"). Large pictures
// get crops of 224 and 96 as SwAV's, small ones of 28 and 18.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>

#include "tests/boinc_app/pictures/crop_cases.hpp"

namespace dedloc::pictures {
namespace {

constexpr std::uint32_t kLarge = 200;  // shorter side of a large picture
constexpr int kRounds = 5;

const std::vector<std::string>& operations() {
    static const std::vector<std::string> all{"resize",     "flip",  "brightness", "contrast",
                                              "saturation", "hue",   "gray",       "blur",
                                              "chain",      "middle"};
    return all;
}

/// What remains of a crop if one operation is tested.
CropParameters only(const std::string& operation, const CropParameters& all) {
    CropParameters p{.size = all.size, .region = all.region};
    p.is_flipped = operation == "flip";
    if (operation == "brightness") p.jitter.brightness = all.jitter.brightness;
    if (operation == "contrast") p.jitter.contrast = all.jitter.contrast;
    if (operation == "saturation") p.jitter.saturation = all.jitter.saturation;
    if (operation == "hue") p.jitter.hue = all.jitter.hue;
    p.is_gray = operation == "gray";
    if (operation == "blur") p.blur_radius = all.blur_radius;
    return p;
}

std::vector<CropCase> cases_of(const std::string& name, const Picture& picture, Random random) {
    const bool is_large = std::min(picture.width, picture.height) >= kLarge;
    const formats::ColourSpec chain{};
    formats::ColourSpec always = chain;
    always.jitter = always.gray = always.blur = 1;
    std::vector<formats::CropSpec> sizes = formats::SwavSpec{}.crops;
    if (!is_large) {
        sizes = {{.size = 28, .count = 2, .min_area = 0.2, .max_area = 1.0},
                 {.size = 18, .count = 4, .min_area = 0.08, .max_area = 0.4}};
    }
    std::vector<CropCase> cases;
    for (const formats::CropSpec& size : sizes) {
        for (int round = 0; round < kRounds; ++round) {
            for (const std::string& operation : operations()) {
                CropCase crop{.operation = operation, .picture = name};
                const Random own = random.split(cases.size());
                const Extent extent{picture.width, picture.height};
                crop.parameters = operation == "chain"
                                      ? draw_crop(size, chain, extent, own)
                                      : only(operation, draw_crop(size, always, extent, own));
                crop.middle.size = static_cast<std::uint32_t>(size.size);
                crop.middle.shorter_side = crop.middle.size * 8 / 7;
                cases.push_back(crop);
            }
        }
    }
    return cases;
}

/// Processor seconds of a crop, normalised, on average over `min_seconds` or more.
double seconds_of(const std::vector<CropCase>& cases, const std::map<std::string, Picture>& from,
                  double min_seconds) {
    Scratch scratch;
    std::vector<float> out;
    std::size_t crops = 0;
    const std::clock_t begin = std::clock();
    double seconds = 0;
    do {
        for (const CropCase& crop : cases) {
            out.resize(std::size_t{3} * crop.size() * crop.size());
            const Picture& picture = from.at(crop.picture);
            if (crop.is_middle()) {
                make_middle_crop(picture, crop.middle, {}, out, scratch);
            } else {
                make_crop(picture, crop.parameters, {}, out, scratch);
            }
            ++crops;
        }
        seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    } while (seconds < min_seconds);
    return seconds / static_cast<double>(crops);
}

void run(const std::filesystem::path& folder, double min_seconds) {
    std::map<std::string, Picture> pictures;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        if (entry.path().extension() != ".ppm") continue;
        pictures[entry.path().stem().string()] = read_ppm(entry.path());
    }
    std::ofstream text{folder / "cases.txt"};
    std::ofstream pixels{folder / "pixels.bin", std::ios::binary};
    std::map<std::pair<std::uint32_t, std::string>, std::vector<CropCase>> groups;
    Scratch scratch;
    std::vector<std::uint8_t> out;
    std::uint64_t number = 0;
    for (const auto& [name, picture] : pictures) {
        for (const CropCase& crop : cases_of(name, picture, Random{1}.split(number++))) {
            make(crop, picture, out, scratch);
            text << line_of(crop) << '\n';
            pixels.write(reinterpret_cast<const char*>(out.data()),
                         static_cast<std::streamsize>(out.size()));
            groups[{crop.size(), crop.operation}].push_back(crop);
        }
    }
    std::ofstream times{folder / "times.txt"};
    for (const auto& [key, cases] : groups) {
        times << key.first << ' ' << key.second << ' ' << seconds_of(cases, pictures, min_seconds)
              << '\n';
    }
    if (!text.flush() || !pixels.flush() || !times.flush()) {
        throw std::runtime_error("cannot write into " + folder.string());
    }
}

}  // namespace
}  // namespace dedloc::pictures

int main(int count, char** arguments) {
    if (count != 3) {
        std::fputs("usage: crops_bench FOLDER SECONDS (see compare_with_pillow.py)\n", stderr);
        return 2;
    }
    try {
        dedloc::pictures::run(arguments[1], std::stod(arguments[2]));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "crops_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
