// The fused parts of a layer (training/fused_layers.hpp), launched into a stream. It is plain C++,
// so a test compiles it with bodies that run on the host.
#pragma once

#include "boinc_app/training/fused_layers.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::training {

/// Implements FusedLayers.
class Layers final : public FusedLayers {
  public:
    /// `multiprocessors`: of the device, for the size of blocks. The stream must outlive it.
    Layers(kernels::cuda::StreamView stream, unsigned multiprocessors);

    bool has_kernels(std::size_t hidden, std::size_t ffn) const override;
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
    template <class Body>
    void run(const Body& body, const char* what) const;

    const kernels::cuda::StreamView stream_;
    const unsigned multiprocessors_;
};

}  // namespace dedloc::training
