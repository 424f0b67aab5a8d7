// The tokenizer that made a run's corpus.
#pragma once

#include <filesystem>

#include "peer/formats/run_file.hpp"
#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::runs {

/// Reads tokenizer.json of the run's folder, or what SentencePiece alone is for tokenizer.model.
/// Errors: InputError in one sentence: neither file is there, or one cannot be used; IoError.
huggingface::TokenizerSpec run_tokenizer(const std::filesystem::path& folder,
                                         const formats::SpecialTokens& special);

}  // namespace dedloc::runs
