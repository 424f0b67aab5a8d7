// The tokenizer of a Hugging Face model folder, made from the run's SentencePiece model.
#pragma once

#include <string>

#include "peer/formats/run_file.hpp"
#include "project_server/huggingface/sentencepiece_model.hpp"

namespace dedloc::huggingface {

/// tokenizer.json for the library `tokenizers`: the same pieces, scores and normaliser, `[CLS] A
/// [SEP] B [SEP]` around the text, and the special tokens as such.
/// Errors   InputError: no Unigram model, bytes that are not UTF-8, or special tokens of the run
///          that are not the model's
std::string write_tokenizer(const SentencePieceModel& model, const formats::RunFile& run);

/// tokenizer_config.json, with which AutoTokenizer takes tokenizer.json as it is. AlbertTokenizer
/// also reads it, but replaces `` and '' by " before the normaliser.
std::string write_tokenizer_config(const SentencePieceModel& model, const formats::RunFile& run);

}  // namespace dedloc::huggingface
