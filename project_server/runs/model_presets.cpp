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

}  // namespace

ModelPreset model_preset(const std::string& name) {
    if (name.ends_with(".json")) return preset_from_file(name);
    if (name == "tiny") {
        return {.model = {.embedding = 128,
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
        return {.model = {.embedding = 128,
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
        return {.model = {.embedding = 128,
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
        return {.model = {.embedding = 128,
                          .hidden = 2048,
                          .layers = 24,
                          .heads = 16,
                          .ffn = 8192,
                          .positions = 512},
                .sequence_length = 512,
                .target_batch = 4096,
                .learning_rate = 0.00176};
    }
    throw InputError(
        fmt::format("there is no model {} (there are tiny, base, large, xlarge, and any "
                    "Hugging Face configuration FILE.json of an ALBERT)",
                    name));
}

}  // namespace dedloc::runs
