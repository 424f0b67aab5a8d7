// Reads a model from a Hugging Face folder, to start a run from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/formats/checkpoint_head.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::runs {

/// A model and the state that a run starts with.
struct ImportedModel {
    formats::AlbertSpec model;     ///< as config.json says
    FloatVector state;             ///< parameters as in the file, and zero moments
    formats::CheckpointHead head;  ///< its head, at step 0
    /// Names of the tensors that the file lacks, which have a new run's first values.
    std::vector<std::string> initialised;
};

/// How import_model() makes the state.
struct ImportOptions {
    formats::Optimizer optimizer = formats::Optimizer::kLamb;  ///< says which moments there are
    std::uint64_t seed = 0;  ///< seed of the first values of tensors that the file lacks
};

/// Reads config.json and the tensors (huggingface::ModelWeights) of AlbertForPreTraining,
/// untrusted, into a state with the moments of an optimizer. Values in half precision convert
/// exactly. The decoder's tensors are tied to the word embeddings, so either may be there, or both.
/// The pooler and the sentence-order classifier may be missing, as in AlbertForMaskedLM, and all
/// heads, as in AlbertModel; each missing tensor is initialised as in a new run with this seed.
/// Errors   InputError in one sentence: a file is missing or cannot be used, another tensor is
///          missing, unexpected or of another shape or type, a value is not finite
/// Memory   the state, and once more the parameters if a tensor is missing
ImportedModel import_model(const std::filesystem::path& folder, const ImportOptions& options = {});

/// A sentence for the user that names the initialised tensors; empty if there are none.
std::string notice_of(const std::filesystem::path& folder,
                      const std::vector<std::string>& initialised);

/// Requires that the folder's tokenizer is that of a corpus: its SentencePiece model is
/// `tokenizer`, byte for byte, and it does the same to a text as the tokenizer.json beside
/// `tokenizer` says, or nothing if there is none. Without a file `tokenizer` that tokenizer.json
/// is the whole tokenizer. Other token ids would make the model worthless. Errors: InputError.
void require_tokenizer(const std::filesystem::path& folder, const std::filesystem::path& tokenizer);

}  // namespace dedloc::runs
