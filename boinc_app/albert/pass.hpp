// A forward pass of the model, and dropout in it.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "boinc_app/albert/batch.hpp"
#include "boinc_app/albert/dropout.hpp"
#include "boinc_app/training/torch_pass.hpp"

namespace dedloc::training::albert {

/// One forward pass.
struct Pass {
    const MicroBatch& batch;           ///< the samples
    const InterruptionPoints& points;  ///< where it may be interrupted
    bool drops;                        ///< dropout is applied
};

/// Drops elements of x [rows, lines…, width]. `first_of` maps the number of a line within its row
/// to the index of its first element. The mask is drawn on the processor, for each device alike.
template <class FirstOf>
at::Tensor dropped(const at::Tensor& x, const Pass& pass, DropoutRate rate, std::uint32_t site,
                   const FirstOf& first_of) {
    if (!pass.drops || rate.is_zero()) return x;
    const std::int64_t width = x.size(-1);
    const std::int64_t lines = x.numel() / (x.size(0) * width);
    const at::Tensor kept = at::empty(x.sizes(), at::kBool);
    bool* const values = kept.mutable_data_ptr<bool>();
    at::parallel_for(0, x.size(0) * lines, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
            draw_kept(pass.batch.dropout_keys[static_cast<std::size_t>(at / lines)], site,
                      static_cast<std::uint64_t>(first_of(at % lines)), rate,
                      {values + at * width, static_cast<std::size_t>(width)});
        }
    });
    return x * kept.to(x.device()) * rate.scale();
}

}  // namespace dedloc::training::albert
