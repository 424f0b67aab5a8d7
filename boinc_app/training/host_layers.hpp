// The fused parts of a layer (fused_layers.hpp) on the processor, compiled for SSE2, AVX2 and
// AVX-512. A task is a block of rows, whatever the number of threads, so that number changes no
// bit. The formulas are those of a GPU's kernels (layer_arithmetic.hpp).
#pragma once

#include "boinc_app/training/fused_layers.hpp"
#include "kernels/workers.hpp"

namespace dedloc::training {

/// Implements FusedLayers; all of a call is done when it returns. Errors: none.
class HostLayers final : public FusedLayers {
  public:
    /// `workers` must outlive it.
    explicit HostLayers(const kernels::Workers& workers) : workers_(workers) {}

    /// Every width has kernels.
    bool has_kernels(std::size_t, std::size_t) const override { return true; }
    std::size_t workspace_floats(const ShortMatrix& matrix, unsigned vectors) const override;
    // As FusedLayers says.
    void add_norm(const ShortMatrix& matrix, const AddNorm& from, const AddNormResult& to) override;
    void add_norm_gradient(const ShortMatrix& matrix, const AddNorm& of,
                           const AddNormGradient& gradient) override;
    void bias_gelu(const ShortMatrix& matrix, const void* product, const float* bias,
                   void* out) override;
    void bias_gelu_gradient(const ShortMatrix& matrix, const void* product, const float* bias,
                            const void* by_out, void* by_product, float* by_bias,
                            float* workspace) override;
    void column_sums(const ShortMatrix& matrix, const void* values, float* sums,
                     float* workspace) override;

  private:
    const kernels::Workers& workers_;
};

}  // namespace dedloc::training
