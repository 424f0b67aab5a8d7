// Files of batch norms' statistics read back equal; other files are refused in one sentence.
#include "project_server/huggingface/norm_file.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/swav_layout.hpp"
#include "peer/platform/files.hpp"
#include "project_server/huggingface/swav_files.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::huggingface {
namespace {

formats::SwavSpec narrow_task() {
    formats::SwavSpec task;
    task.trunk = {.has_bottlenecks = true, .blocks = {1, 1}, .width = 4, .has_small_stem = true};
    task.hidden = 8;
    return task;
}

NormFile norms_for(const formats::SwavSpec& task) {
    NormFile norms{.run = {},
                   .step = StepIndex{7},
                   .state = blake2b(bytes_of("state")),
                   .pictures = 96,
                   .batch = 32,
                   .list = blake2b(bytes_of("list")),
                   .norms = {}};
    float value = 0;
    for (const NormLayer& layer : norm_layers(task)) {
        ChannelStatistics& channels = norms.norms.emplace_back();
        for (std::uint64_t i = 0; i < layer.channels; ++i) {
            channels.mean.push_back(value += 0.25f);
            channels.variance.push_back(value += 0.5f);
        }
    }
    return norms;
}

TEST_CASE("statistics of batch norms read back equal", "[server]") {
    const TemporaryDirectory folder;
    const auto task = narrow_task();
    const NormFile norms = norms_for(task);
    const auto path = folder.path() / "norms" / norm_file_name(norms.state);
    write_norm_file(path, task, norms);
    CHECK(read_norm_file(path, task) == norms);
    CHECK(path.filename() == norms.state.hex() + ".safetensors");
    // Stem, two bottlenecks with shortcuts, head.
    const auto layers = norm_layers(task);
    REQUIRE(layers.size() == 10);
    CHECK(layers.front().name == "bn1");
    CHECK(layers[4].name == "layer1.0.downsample.1");
    CHECK(layers[4].channels == 16);
    CHECK(layers.back().name == "projection_head.1");
    auto without_hidden = task;
    without_hidden.hidden = 0;
    CHECK(norm_layers(without_hidden).size() == 9);
}

TEST_CASE("a file that is not of the network's batch norms is refused", "[server]") {
    using Catch::Contains;
    const TemporaryDirectory folder;
    const auto task = narrow_task();
    const auto path = folder.path() / "x";
    write_norm_file(path, task, norms_for(task));
    const auto refusal = [&](const formats::SwavSpec& other) -> std::string {
        try {
            (void)read_norm_file(path, other);
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    };
    auto other = task;
    other.hidden = 0;
    CHECK_THAT(refusal(other), Contains("has 20 tensors, but the network has 9 batch norms"));
    other.hidden = 16;
    CHECK_THAT(refusal(other),
               Contains("has no statistics 'projection_head.1.running_mean' of 16 channels"));
    const std::string bytes = platform::read_text(path);
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string altered = bytes;
        altered.replace(altered.find(from), from.size(), to);
        platform::replace_file(path, altered);
        return refusal(task);
    };
    CHECK_THAT(with(R"("batch":"32")", R"("batch":"0x")"), Contains("its field 'batch'"));
    CHECK_THAT(with(R"("step":"7")", R"("stop":"7")"), Contains("its field 'step'"));
    CHECK_THAT(with(R"("run":")" + std::string(4, '0'), R"("run":")" + std::string(4, 'x')),
               Contains("its field 'run'"));
    platform::replace_file(path, bytes.substr(0, bytes.size() - 1));
    CHECK_THAT(refusal(task), Contains("its tensors have"));
    platform::replace_file(path, "no tensors");
    CHECK_THAT(refusal(task), Contains("is not a safetensors file"));
}

TEST_CASE("trunks have the names that torchvision has for them", "[server]") {
    CHECK(torchvision_name({}) == "resnet50");
    CHECK(torchvision_name({.has_bottlenecks = false, .blocks = {2, 2, 2, 2}}) == "resnet18");
    CHECK(torchvision_name({.width = 128}).empty());
    CHECK(torchvision_name({.has_small_stem = true}).empty());
}

}  // namespace
}  // namespace dedloc::huggingface
