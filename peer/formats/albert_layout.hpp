// The tensors of ALBERT for pre-training (masked language model and sentence order), with their
// Hugging Face names. Their order is the order of the flat vector that peers average and digest.
#pragma once

#include <cstdint>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::formats {

/// All stored tensors of `AlbertForPreTraining`. The decoder is tied to the word embeddings and not
/// stored.
///
/// Start     weights and embeddings normal with deviation 0.02, biases 0, LayerNorm gains 1.
/// Hugging
///           Face also zeroes the padding row of the embeddings; here it is drawn like the others,
///           because it only matters as one of the decoder's rows.
/// Decay     none for names that contain "bias" or "LayerNorm.weight", as in DeDLOC's runs. The
/// gain
///           of `full_layer_layer_norm` does decay, because its name contains neither.
std::vector<TensorSpec> albert_tensors(const AlbertSpec& model);

/// Floating-point operations to train one sample: three times those of the forward pass, with 2 per
/// multiply-add of every matrix product and the MLM head on all tokens. ALBERT-large with 512
/// tokens: 1.018e12.
double albert_flops_per_sample(const AlbertSpec& model, std::uint64_t sequence_length);

/// The share of a sample's tokens that are masked.
inline constexpr double kMaskedShare = 0.15;

/// The least that a trainer computes for a sample with so many tokens, which may be fewer than the
/// run's sequence length: as above without padding, and with the MLM head on masked tokens alone.
double albert_min_flops(const AlbertSpec& model, std::uint64_t tokens);

}  // namespace dedloc::formats
