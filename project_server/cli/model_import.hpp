// Reads a model from a Hugging Face folder, to start a run from it.
#pragma once

#include <filesystem>

#include "peer/base/bytes.hpp"
#include "peer/formats/checkpoint_head.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::cli {

/// A model and the state that a run starts with.
struct ImportedModel {
    formats::ModelSpec model;      ///< as config.json says
    FloatVector state;             ///< parameters as in the file, and zero moments
    formats::CheckpointHead head;  ///< its head, at step 0
};

/// Reads config.json and model.safetensors of AlbertForPreTraining, untrusted, into a state with
/// the moments of this optimizer. Values in half precision convert exactly. The decoder's tensors
/// are ignored, because they are tied to the word embeddings.
/// Errors   InputError in one sentence: a file is missing or cannot be used, a tensor is missing,
///          unexpected or of another shape or type, a value is not finite
/// Memory   the state
ImportedModel import_model(const std::filesystem::path& folder,
                           formats::Optimizer optimizer = formats::Optimizer::kLamb);

/// Requires that the folder's SentencePiece model is this tokenizer, byte for byte: other token ids
/// would make the model worthless. Errors: InputError.
void require_tokenizer(const std::filesystem::path& folder, const std::filesystem::path& tokenizer);

}  // namespace dedloc::cli
