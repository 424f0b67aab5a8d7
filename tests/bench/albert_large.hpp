// The layout of ALBERT-large, with which the benches measure optimizers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/segment_table.hpp"

namespace dedloc::bench {

/// A tensor of the model.
struct BenchTensor {
    std::uint64_t count;  ///< number of elements
    bool decays;          ///< false: a bias, or the gain of a LayerNorm
};

/// The 32 tensors of AlbertForPreTraining, large, in the order of its state dictionary.
inline constexpr std::array<BenchTensor, 32> kAlbertLarge{{
    {30'000 * 128, true}, {512 * 128, true},   {2 * 128, true},  // embeddings
    {128, false},         {128, false},                          // their LayerNorm
    {1024 * 128, true},   {1024, false},                         // mapping to the layer
    {1024, true},         {1024, false},                         // full_layer_layer_norm
    {1024 * 1024, true},  {1024, false},       {1024 * 1024, true},
    {1024, false},        {1024 * 1024, true}, {1024, false},
    {1024 * 1024, true},  {1024, false},                      // query, key, value, dense
    {1024, false},        {1024, false},                      // attention.LayerNorm
    {4096 * 1024, true},  {4096, false},                      // ffn
    {1024 * 4096, true},  {1024, false},                      // ffn_output
    {1024 * 1024, true},  {1024, false},                      // pooler
    {30'000, false},      {128, false},        {128, false},  // MLM head
    {128 * 1024, true},   {128, false},                       // its dense layer
    {2 * 1024, true},     {2, false},                         // sentence order
}};

/// Elements of these tensors in a flat vector in which each begins at a multiple of 64.
inline constexpr std::uint64_t kAlbertLargeElements = 17'847'490;

/// These tensors at multiples of 64 elements, again and again until `count` elements are used; the
/// last one may be cut.
inline kernels::SegmentTable albert_large(std::uint64_t count) {
    std::vector<kernels::TensorPlace> places;
    std::uint64_t at = 0;
    for (std::size_t i = 0; at < count; ++i) {
        const BenchTensor& tensor = kAlbertLarge[i % kAlbertLarge.size()];
        places.push_back(
            {.offset = at, .count = std::min(tensor.count, count - at), .decays = tensor.decays});
        at += (tensor.count + 63) / 64 * 64;
    }
    return kernels::SegmentTable{places};
}

}  // namespace dedloc::bench
