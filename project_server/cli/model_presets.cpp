#include "project_server/cli/model_presets.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"

namespace dedloc::cli {

ModelPreset model_preset(const std::string& name) {
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
        fmt::format("there is no model {} (there are tiny, base, large and xlarge)", name));
}

}  // namespace dedloc::cli
