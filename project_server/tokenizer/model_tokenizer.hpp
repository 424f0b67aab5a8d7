// The tokenizer of a model, from the files that its own tools write beside it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "peer/formats/run_file.hpp"
#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::tokenizer {

/// Largest file of a tokenizer that is read, in bytes.
inline constexpr std::size_t kMaxTokenizerBytes = std::size_t{64} << 20;

/// What AlbertTokenizer does to a text before SentencePiece's own normaliser.
struct AlbertRules {
    bool lower_case = true;     ///< "do_lower_case"
    bool keep_accents = false;  ///< "keep_accents"
};

/// A tokenizer that was found.
struct ModelTokenizer {
    std::filesystem::path file;  ///< the SentencePiece model, or a tokenizer.json without one
    std::string model;           ///< the SentencePiece model's bytes; empty: there is none
    /// Without `model`: what tokenizer.json has, byte for byte, unless the files beside it change
    /// its tokens.
    std::string json;
    /// What gives the ids of AutoTokenizer. Absent: SentencePiece alone does.
    std::optional<huggingface::TokenizerSpec> spec;
    /// With `spec`: ids of its special tokens.
    formats::SpecialTokens special;
    std::string source;  ///< the files that say so, for messages; empty: only the model itself
};

/// Finds the tokenizer of `path`, a model's folder or its spiece.model, whose folder then counts
/// too, unless it belongs to another spiece.model. A tokenizer.json (any file *.json), or a folder
/// that has one but no spiece.model, is the whole tokenizer; of a file with this name the
/// tokenizer_config.json beside it counts.
///
/// - tokenizer.json is taken as it is. This is what AutoTokenizer of transformers 4 loads, and for
///   a folder that transformers 5 saved also what version 5 does.
/// - Without it, tokenizer_config.json (or another file of ALBERT's or of its tokenizer's, with
///   AlbertTokenizer's defaults) and spiece.model make what transformers 4 converts them to.
/// - With neither, `rules` say what is done to a text, or SentencePiece alone does it.
///
/// Errors   InputError in one sentence: a file is missing or damaged, asks for something that is
///          not implemented, or contradicts another one; `rules` for a tokenizer that has its own
ModelTokenizer read_model_tokenizer(const std::filesystem::path& path,
                                    const std::optional<AlbertRules>& rules = std::nullopt);

}  // namespace dedloc::tokenizer
