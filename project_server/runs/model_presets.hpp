// Models and their training settings by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::runs {

/// The settings that `--model NAME` stands for. The size of a vocabulary comes from the corpus.
struct ModelPreset {
    formats::ModelSpec model;                                  ///< without the vocabulary
    std::uint64_t sequence_length = 0;                         ///< tokens per sample; 0: pictures
    std::uint64_t target_batch = 0;                            ///< samples of one step
    formats::Optimizer optimizer = formats::Optimizer::kLamb;  ///< unless another is chosen
    double learning_rate = 0;  ///< peak of the schedule with that optimizer
};

/// The preset with this name, or for a name that ends with .json the ALBERT of this Hugging Face
/// configuration, whose vocabulary is ignored. Its samples have the length of its positions; batch
/// and learning rate are those of `tiny` up to a width of 256, and DeDLOC's above.
/// Names that begin with `swav` are SwAV on pictures: `swav-resnet50` is DeDLOC's, for pictures of
/// some 500 pixels; `swav-resnet18` and `swav-tiny` are for pictures of some 32.
/// Errors   InputError: a name that is not known, with those that are; a file that cannot be used
ModelPreset model_preset(const std::string& name);

/// The settings of training for a module that a researcher brings; the model is not set.
ModelPreset module_preset();

}  // namespace dedloc::runs
