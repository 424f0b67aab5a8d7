// SwAV's tensors against torchvision's, operations against a count by torchvision, and every bad
// field of a task.
#include "peer/formats/swav_layout.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

namespace dedloc::formats {
namespace {

/// Shapes and multiply-adds that fixtures/make_swav_fixtures.py wrote.
struct Torchvision {
    explicit Torchvision(const std::string& network) {
        std::ifstream file{DEDLOC_FIXTURES "/torchvision_resnets.txt"};
        for (std::string line; std::getline(file, line);) {
            std::istringstream words{line};
            std::string owner, name;
            words >> owner >> name;
            if (owner != network) continue;
            std::vector<std::uint64_t> numbers;
            for (std::uint64_t number = 0; words >> number;) numbers.push_back(number);
            if (name == "multiply-adds") {
                products[numbers.at(0)] = static_cast<double>(numbers.at(1));
            } else {
                tensors.emplace_back(name, numbers);
            }
        }
    }
    std::vector<std::pair<std::string, std::vector<std::uint64_t>>> tensors;
    std::map<std::uint64_t, double> products;  ///< multiply-adds of a picture, by its size
};

SwavSpec with_resnet18() {
    SwavSpec task;
    task.trunk = {.has_bottlenecks = false, .blocks = {2, 2, 2, 2}};
    return task;
}

std::uint64_t parameters_of(const SwavSpec& task) {
    std::uint64_t sum = 0;
    for (const TensorSpec& tensor : swav_tensors(task)) sum += tensor.count();
    return sum;
}

TEST_CASE("the trunk's tensors are torchvision's", "[formats]") {
    const auto check = [](const SwavSpec& task, const Torchvision& expected, std::size_t count) {
        const std::vector<TensorSpec> tensors = swav_tensors(task);
        REQUIRE(expected.tensors.size() == count);
        REQUIRE(tensors.size() == count + 7);
        for (std::size_t i = 0; i < count; ++i) {
            CHECK(tensors[i].name == expected.tensors[i].first);
            CHECK(tensors[i].shape == expected.tensors[i].second);
        }
    };
    check(with_resnet18(), Torchvision{"resnet18"}, 60);
    check({}, Torchvision{"resnet50"}, 159);
}

TEST_CASE("the head's tensors are facebook's, and ResNet-50 has DeDLOC's parameters", "[formats]") {
    SwavSpec task;
    CHECK(parameters_of(task) == 28'354'752);
    CHECK(feature_count(task.trunk) == 2'048);
    CHECK(feature_count(with_resnet18().trunk) == 512);
    const auto last_names = [&](std::size_t count) {
        const auto tensors = swav_tensors(task);
        std::vector<std::string> names;
        for (std::size_t i = tensors.size() - count; i < tensors.size(); ++i) {
            names.push_back(tensors[i].name);
        }
        return names;
    };
    CHECK(last_names(7) ==
          std::vector<std::string>{"projection_head.0.weight", "projection_head.0.bias",
                                   "projection_head.1.weight", "projection_head.1.bias",
                                   "projection_head.3.weight", "projection_head.3.bias",
                                   "prototypes.weight"});
    task.hidden = 0;
    CHECK(last_names(4) == std::vector<std::string>{"layer4.2.bn3.bias", "projection_head.weight",
                                                    "projection_head.bias", "prototypes.weight"});
}

TEST_CASE("tensors of a SwAV start as in PyTorch, and all decay", "[formats]") {
    for (const TensorSpec& tensor : swav_tensors({})) {
        CAPTURE(tensor.name);
        CHECK(tensor.decays);
        CHECK(tensor.has_unit_rows == (tensor.name == "prototypes.weight"));
        const bool is_norm = tensor.name.find("bn") != std::string::npos ||
                             tensor.name.find("downsample.1") != std::string::npos ||
                             tensor.name.starts_with("projection_head.1");
        if (is_norm) {
            CHECK(tensor.initial ==
                  (tensor.name.ends_with("bias") ? Initial::kZero : Initial::kOne));
            continue;
        }
        CHECK(tensor.initial == Initial::kNormal);
        double variance = 1.0 / (3 * 2'048);  // uniform in ±1 ÷ √2048
        if (tensor.name == "prototypes.weight") variance = 1.0 / (3 * 128);
        if (tensor.shape.size() == 4) {
            variance = 2 / static_cast<double>(tensor.shape[0] * tensor.shape[2] * tensor.shape[3]);
        }
        CHECK(tensor.deviation == Approx(std::sqrt(variance)));
    }
}

TEST_CASE("a picture's operations are those that torchvision counts", "[formats]") {
    const auto check = [](SwavSpec task, const Torchvision& counted, double head) {
        task.crops = {{.size = 224, .count = 2}, {.size = 96, .count = 6}};
        const double forward =
            2 * (2 * counted.products.at(224) + 6 * counted.products.at(96) + 8 * head);
        CHECK(swav_flops_per_sample(task) == 3 * forward);
    };
    check({}, Torchvision{"resnet50"}, 2'048 * 2'048 + 2'048 * 128 + 128 * 3'000);
    check(with_resnet18(), Torchvision{"resnet18"}, 512 * 2'048 + 2'048 * 128 + 128 * 3'000);
    CHECK(swav_flops_per_sample({}) == Approx(7.6e10).epsilon(0.02));
    // Odd sizes are rounded up at each stride.
    SwavSpec odd;
    odd.trunk = {.has_bottlenecks = false, .blocks = {1, 1}, .width = 4, .has_small_stem = true};
    odd.hidden = 0;
    odd.projection = 2;
    odd.prototypes = 2;
    odd.crops = {{.size = 9, .count = 2}};
    const double stages = 81 * (4 * 27 + 2 * 4 * 36) + 25 * (8 * 36 + 8 * 72 + 8 * 4);
    CHECK(swav_flops_per_sample(odd) == 6 * 2 * (stages + 8 * 2 + 2 * 2));
}

TEST_CASE("memory of a picture grows with its crops, and reduced precision needs about half",
          "[formats]") {
    const auto full = static_cast<double>(swav_activation_bytes({}, false));
    CHECK(static_cast<double>(swav_activation_bytes({}, true)) / full == Approx(0.51).margin(0.03));
    SwavSpec more;
    more.crops[1].count = 12;
    CHECK(static_cast<double>(swav_activation_bytes(more, false)) > 1.2 * full);
}

TEST_CASE("a task with a field out of range gets a sentence that names it", "[formats]") {
    CHECK_FALSE(fault_of({}));
    CHECK_FALSE(fault_of(with_resnet18()));
    const auto sentence = [](auto change) {
        SwavSpec task;
        change(task);
        return fault_of(task).value_or("none");
    };
    CHECK(sentence([](SwavSpec& task) { task.prototypes = 1; }) ==
          "prototypes is 1, but must be from 2 to 65536");
    CHECK(sentence([](SwavSpec& task) { task.crops[0].count = 1; }) ==
          "crops.count of the first size is 1, but assignments need at least 2 crops");
    CHECK(sentence([](SwavSpec& task) { task.crops.clear(); }) ==
          "the number of sizes in crops is 0, but must be from 1 to 8");
    CHECK(sentence([](SwavSpec& task) { task.epsilon = 0.001; }) ==
          "epsilon is 0.001, but must be from 0.01 to 100");
    CHECK(sentence([](SwavSpec& task) {
              task.temperature = std::numeric_limits<double>::quiet_NaN();
          }) == "temperature is nan, but must be from 0.001 to 100");
    CHECK(sentence([](SwavSpec& task) { task.queue = 63; }) ==
          "queue is 63, but must be from 64 to 65536");
    const auto names = [&](const std::string& field, auto change) {
        CHECK(sentence(change).starts_with(field));
    };
    names("the number of stages in trunk.blocks", [](SwavSpec& task) { task.trunk.blocks = {}; });
    names("trunk.blocks", [](SwavSpec& task) { task.trunk.blocks[3] = 0; });
    names("trunk.width", [](SwavSpec& task) { task.trunk.width = 1'025; });
    names("hidden", [](SwavSpec& task) { task.hidden = 65'537; });
    names("projection", [](SwavSpec& task) { task.projection = 1; });
    names("crops.size", [](SwavSpec& task) { task.crops[1].size = 7; });
    names("crops.count", [](SwavSpec& task) { task.crops[1].count = 0; });
    names("crops.min_area", [](SwavSpec& task) { task.crops[0].min_area = 0; });
    names("crops.max_area", [](SwavSpec& task) { task.crops[0].max_area = 0.1; });
    names("colours.brightness", [](SwavSpec& task) { task.colours.brightness = -1; });
    names("colours.contrast", [](SwavSpec& task) { task.colours.contrast = -1; });
    names("colours.saturation", [](SwavSpec& task) { task.colours.saturation = -1; });
    names("colours.hue", [](SwavSpec& task) { task.colours.hue = 0.6; });
    names("colours.jitter", [](SwavSpec& task) { task.colours.jitter = 2; });
    names("colours.gray", [](SwavSpec& task) { task.colours.gray = -0.1; });
    names("colours.blur", [](SwavSpec& task) { task.colours.blur = 1.1; });
    names("colours.min_radius", [](SwavSpec& task) { task.colours.min_radius = -1; });
    names("colours.max_radius", [](SwavSpec& task) { task.colours.max_radius = 0; });
    names("colours.mean", [](SwavSpec& task) { task.colours.mean[2] = 2; });
    names("colours.deviation", [](SwavSpec& task) { task.colours.deviation[1] = 0; });
    names("iterations", [](SwavSpec& task) { task.iterations = 0; });
    names("micro_batch", [](SwavSpec& task) { task.micro_batch = 1; });
}

}  // namespace
}  // namespace dedloc::formats
