#include "project_server/runs/model_presets.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/huggingface/albert_config.hpp"

namespace dedloc::runs {
namespace {

/// Models up to this width train with the settings of `tiny`, wider ones with those of DeDLOC.
constexpr std::uint64_t kMaxTinyWidth = 256;

ModelPreset preset_from_file(const std::string& path) {
    const auto model = huggingface::read_albert_config(path, platform::read_text(path));
    ModelPreset preset = model_preset(model.hidden <= kMaxTinyWidth ? "tiny" : "large");
    preset.model = model;
    preset.sequence_length = model.positions;
    return preset;
}

/// Colours and crops for pictures of some 32 pixels: no blur, and half of the jitter, as others
/// found best for CIFAR-10 (SwAV's authors, and IMC-SwAV).
formats::SwavSpec small_pictures() {
    return {.trunk = {.has_bottlenecks = false, .has_small_stem = true},
            .crops = {{.size = 28, .count = 2, .min_area = 0.2, .max_area = 1},
                      {.size = 18, .count = 2, .min_area = 0.08, .max_area = 0.4}},
            .colours = {.brightness = 0.4,
                        .contrast = 0.4,
                        .saturation = 0.4,
                        .hue = 0.1,
                        .blur = 0,
                        .mean = {0.4914, 0.4822, 0.4465},
                        .deviation = {0.2470, 0.2435, 0.2616}}};
}

ModelPreset swav_preset(const std::string& name) {
    ModelPreset preset{.model = {},
                       .target_batch = 512,
                       .optimizer = formats::Optimizer::kSgdLarc,
                       .learning_rate = 2.4};
    formats::SwavSpec model;
    if (name == "swav-tiny") {
        model = small_pictures();
        model.trunk.blocks = {1, 1, 1};
        model.trunk.width = 16;
        model.hidden = 64;
        model.projection = 32;
        model.prototypes = 30;
    } else if (name == "swav-resnet18") {
        model = small_pictures();
        model.trunk.blocks = {2, 2, 2, 2};
        model.crops[1].count = 4;
        model.hidden = 512;
        model.prototypes = 512;
    } else {  // swav-resnet50
        // An epoch of ImageNet has 39 steps of this batch: prototypes are frozen in the first one,
        // the queue begins with the sixteenth.
        preset.target_batch = 32'768;
        model.frozen_steps = 39;
        model.queue = 3'840;
        model.queue_from_step = 585;
    }
    preset.model = model;
    return preset;
}

}  // namespace

ModelPreset module_preset() {
    return {.model = {}, .target_batch = 256, .learning_rate = 0.001};
}

ModelPreset model_preset(const std::string& name) {
    if (name.ends_with(".json")) return preset_from_file(name);
    if (name == "tiny") {
        return {.model = formats::AlbertSpec{.embedding = 128,
                                             .hidden = 128,
                                             .layers = 2,
                                             .heads = 2,
                                             .ffn = 512,
                                             .positions = 64},
                .sequence_length = 64,
                .target_batch = 512,
                .learning_rate = 0.06};
    }
    if (name == "base") {
        return {.model = formats::AlbertSpec{.embedding = 128,
                                             .hidden = 768,
                                             .layers = 12,
                                             .heads = 12,
                                             .ffn = 3072,
                                             .positions = 512},
                .sequence_length = 512,
                .target_batch = 4096,
                .learning_rate = 0.00176};
    }
    if (name == "large") {
        return {.model = formats::AlbertSpec{.embedding = 128,
                                             .hidden = 1024,
                                             .layers = 24,
                                             .heads = 16,
                                             .ffn = 4096,
                                             .positions = 512},
                .sequence_length = 512,
                .target_batch = 4096,
                .learning_rate = 0.00176};
    }
    if (name == "xlarge") {
        return {.model = formats::AlbertSpec{.embedding = 128,
                                             .hidden = 2048,
                                             .layers = 24,
                                             .heads = 16,
                                             .ffn = 8192,
                                             .positions = 512},
                .sequence_length = 512,
                .target_batch = 4096,
                .learning_rate = 0.00176};
    }
    for (const char* const swav : {"swav-tiny", "swav-resnet18", "swav-resnet50"}) {
        if (name == swav) return swav_preset(name);
    }
    throw InputError(
        fmt::format("there is no model {} (there are tiny, base, large, xlarge, and any "
                    "Hugging Face configuration FILE.json of an ALBERT; for pictures swav-tiny, "
                    "swav-resnet18, swav-resnet50)",
                    name));
}

}  // namespace dedloc::runs
