// Cases of crops in files that tests/boinc_app/fixtures/pillow_crops.py reads and writes as well.
#pragma once

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "boinc_app/pictures/crops.hpp"

namespace dedloc::pictures {

/// A line of cases.txt. Its result is the next 3 size² bytes of pixels.bin, [3, size, size].
struct CropCase {
    std::string operation;  ///< what it tests; "middle" is a middle crop
    std::string picture;    ///< name of a file beside it, without .ppm
    CropParameters parameters{};
    MiddleCrop middle{};
    std::uint32_t size() const { return is_middle() ? middle.size : parameters.size; }
    bool is_middle() const { return operation == "middle"; }
};

/// Letters of the jitter's operations, by their number.
inline constexpr std::string_view kJitterLetters = "bcsh";

inline std::string line_of(const CropCase& crop) {
    std::ostringstream line;
    line << std::setprecision(17) << crop.operation << ' ' << crop.picture << ' ' << crop.size();
    if (crop.is_middle()) {
        line << ' ' << crop.middle.shorter_side;
        return line.str();
    }
    const CropParameters& p = crop.parameters;
    const Jitter& jitter = p.jitter;
    line << ' ' << p.region.left << ' ' << p.region.top << ' ' << p.region.extent.width << ' '
         << p.region.extent.height << ' ' << p.is_flipped << ' ' << jitter.brightness << ' '
         << jitter.contrast << ' ' << jitter.saturation << ' ' << jitter.hue << ' ';
    for (const JitterOperation operation : jitter.order) {
        line << kJitterLetters[static_cast<std::size_t>(operation)];
    }
    line << ' ' << p.is_gray << ' ' << p.blur_radius;
    return line.str();
}

inline CropCase parse_case(const std::string& text) {
    std::istringstream line{text};
    CropCase crop;
    CropParameters& p = crop.parameters;
    Jitter& jitter = p.jitter;
    line >> crop.operation >> crop.picture >> p.size;
    if (crop.is_middle()) {
        crop.middle.size = p.size;
        line >> crop.middle.shorter_side;
    } else {
        std::string order;
        line >> p.region.left >> p.region.top >> p.region.extent.width >> p.region.extent.height >>
            p.is_flipped >> jitter.brightness >> jitter.contrast >> jitter.saturation >>
            jitter.hue >> order >> p.is_gray >> p.blur_radius;
        for (std::size_t i = 0; i < jitter.order.size(); ++i) {
            jitter.order[i] = static_cast<JitterOperation>(kJitterLetters.find(order.at(i)));
        }
    }
    if (!line) throw std::runtime_error("not a case: " + text);
    return crop;
}

/// A picture in a binary PPM file without comments.
inline Picture read_ppm(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::string magic;
    Picture picture;
    int max = 0;
    file >> magic >> picture.width >> picture.height >> max;
    file.get();
    picture.rgb.assign(std::istreambuf_iterator<char>{file}, {});
    if (magic != "P6" || max != 255 ||
        picture.rgb.size() != std::size_t{3} * picture.width * picture.height) {
        throw std::runtime_error("not a PPM file: " + path.string());
    }
    return picture;
}

/// Makes a case's crop.
inline void make(const CropCase& crop, const Picture& picture, std::vector<std::uint8_t>& out,
                 Scratch& scratch) {
    out.resize(std::size_t{3} * crop.size() * crop.size());
    if (crop.is_middle()) {
        make_middle_crop(picture, crop.middle, out, scratch);
    } else {
        make_crop(picture, crop.parameters, out, scratch);
    }
}

}  // namespace dedloc::pictures
