// The tokenizer's files of a Hugging Face model folder, written.
#pragma once

#include <cstdint>
#include <string>

#include "peer/formats/run_file.hpp"
#include "project_server/huggingface/sentencepiece_model.hpp"
#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::huggingface {

/// The tokenizer that SentencePiece itself is for this model: its normaliser and nothing else.
/// Errors   InputError: no Unigram model, bytes that are not UTF-8, or special tokens that are not
///          the model's
TokenizerSpec sentencepiece_spec(const SentencePieceModel& model,
                                 const formats::SpecialTokens& special);

/// tokenizer.json for the library `tokenizers`: `[CLS] A [SEP] B [SEP]` around the text, and all
/// else as the tokenizer says. Errors: InputError: special tokens that are no pieces, a piece
/// without a score.
std::string write_tokenizer(const TokenizerSpec& spec, const formats::SpecialTokens& special);
/// The same for a run whose corpus SentencePiece alone has made. Errors: InputError.
std::string write_tokenizer(const SentencePieceModel& model, const formats::RunFile& run);

/// tokenizer_config.json, with which AutoTokenizer takes tokenizer.json as it is. It says whether
/// the tokenizer changes to lower case and removes accents before SentencePiece's own normaliser,
/// which AlbertTokenizer reads. Errors: InputError: special tokens that are no pieces.
std::string write_tokenizer_config(const TokenizerSpec& spec, const formats::RunFile& run);
/// The same for these special tokens and a model of so many positions. Errors: InputError.
std::string write_tokenizer_config(const TokenizerSpec& spec, const formats::SpecialTokens& special,
                                   std::uint64_t positions);
/// The same for a run whose corpus SentencePiece alone has made. Errors: InputError.
std::string write_tokenizer_config(const SentencePieceModel& model, const formats::RunFile& run);

}  // namespace dedloc::huggingface
