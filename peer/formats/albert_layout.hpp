// The tensors of ALBERT for pre-training (masked-LM + sentence order), by their Hugging Face names.
// This order is the order of the flat vector that peers average and digest.
#pragma once

#include <cstdint>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::formats {

/// All stored tensors of `AlbertForPreTraining`; the decoder is tied to the word embeddings and not
/// stored.
///
/// Start     weights and embeddings normal with deviation 0.02, biases 0, LayerNorm gains 1. HF
///           also zeroes the padding row of the embeddings; here it is drawn like the others, since
///           it only ever matters as one of the decoder's rows.
/// Decay     none for names that contain "bias" or "LayerNorm.weight", as DeDLOC ran it. The gain
///           of `full_layer_layer_norm` does decay: its name does not contain the filter's text.
std::vector<TensorSpec> albert_tensors(const ModelSpec& model);

/// Floating-point operations of one training sample: three times the forward pass (2 per
/// multiply-add of every matrix product, MLM head on all tokens). ALBERT-large, 512 tokens:
/// 1.018e12.
double albert_flops_per_sample(const ModelSpec& model, std::uint64_t sequence_length);

}  // namespace dedloc::formats
