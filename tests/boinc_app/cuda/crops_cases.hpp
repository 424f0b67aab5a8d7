// Crops of a device against those of the processor, bit for bit: the cases with Pillow's pixels
// (fixtures/augmentation), and random ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "boinc_app/swav/packed_crops.hpp"
#include "boinc_app/training/torch_pass.hpp"
#include "peer/base/random.hpp"
#include "tests/boinc_app/pictures/crop_cases.hpp"

namespace dedloc::test {

/// Pictures of one micro-batch, with one crop of each.
struct DeviceCropCase {
    formats::SwavSpec task;
    swav::LoadedPictures loaded;
};

/// The cases of the fixtures whose crops have one size, for each size.
inline std::vector<DeviceCropCase> pillow_cases(const std::filesystem::path& folder) {
    std::map<std::uint32_t, DeviceCropCase> by_size;
    std::map<std::string, pictures::Picture> all;
    std::ifstream text{folder / "cases.txt"};
    for (std::string line; std::getline(text, line);) {
        const auto crop = pictures::parse_case(line);
        if (crop.is_middle()) continue;
        if (!all.contains(crop.picture)) {
            all[crop.picture] = pictures::read_ppm(folder / (crop.picture + ".ppm"));
        }
        DeviceCropCase& with_size = by_size[crop.size()];
        with_size.task.crops = {{.size = crop.size(), .count = 1}};
        with_size.loaded.decoded.push_back(all[crop.picture]);
        with_size.loaded.crops.push_back(crop.parameters);
    }
    std::vector<DeviceCropCase> cases;
    for (auto& [size, with_size] : by_size) cases.push_back(std::move(with_size));
    return cases;
}

/// Noisy pictures of any shape, with the crops of a task, drawn as in training.
inline DeviceCropCase drawn_case(const std::vector<formats::CropSpec>& crops, std::size_t count,
                                 std::uint32_t max_side, std::uint64_t seed) {
    DeviceCropCase drawn;
    drawn.task.crops = crops;
    Random random{seed};
    for (std::size_t i = 0; i < count; ++i) {
        pictures::Picture picture{.width = 1 + static_cast<std::uint32_t>(random.below(max_side)),
                                  .height = 1 + static_cast<std::uint32_t>(random.below(max_side))};
        picture.rgb.resize(std::size_t{3} * picture.width * picture.height);
        const std::uint64_t range = i % 3 == 0 ? 256 : 60;
        for (auto& byte : picture.rgb) byte = static_cast<std::uint8_t>(random.below(range));
        std::uint64_t number = 0;
        for (const formats::CropSpec& crop : crops) {
            for (std::uint64_t k = 0; k < crop.count; ++k) {
                drawn.loaded.crops.push_back(
                    pictures::draw_crop(crop, drawn.task.colours, {picture.width, picture.height},
                                        random.split(1'000 * i + ++number)));
            }
        }
        drawn.loaded.decoded.push_back(std::move(picture));
    }
    return drawn;
}

/// Checks every value of the device's crops against the processor's, and their layout.
inline void check_device_crops(const DeviceCropCase& of, const training::Computation& computation) {
    const swav::PackedCrops packed{of.task, of.loaded, computation};
    const std::vector<at::Tensor> made = packed.make(computation);
    REQUIRE(made.size() == of.task.crops.size());
    const std::size_t count = of.loaded.decoded.size();
    const std::size_t each = of.loaded.crops.size() / count;
    pictures::Scratch scratch;
    std::size_t first = 0;
    for (std::size_t size = 0; size < made.size(); ++size) {
        const formats::CropSpec& spec = of.task.crops[size];
        CHECK(made[size].scalar_type() == training::type_of(computation.precision));
        CHECK(made[size].is_contiguous(at::MemoryFormat::ChannelsLast));
        const at::Tensor values = made[size].cpu().contiguous();
        REQUIRE(values.size(0) == static_cast<std::int64_t>(spec.count * count));
        const auto side = static_cast<std::int64_t>(spec.size);
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < spec.count; ++k) {
            for (std::size_t i = 0; i < count; ++i) {
                std::vector<float> crop(3 * spec.size * spec.size);
                pictures::make_crop(of.loaded.decoded[i], of.loaded.crops[i * each + first + k],
                                    of.task.colours, crop, scratch);
                const at::Tensor expected = at::from_blob(crop.data(), {3, side, side}, at::kFloat)
                                                .to(values.scalar_type());
                const auto at = static_cast<std::int64_t>(k * count + i);
                wrong += values.select(0, at).equal(expected) ? 0 : 1;
            }
        }
        CAPTURE(spec.size, spec.count, count);
        CHECK(wrong == 0);
        first += static_cast<std::size_t>(spec.count);
    }
}

}  // namespace dedloc::test
