// The parts of a transformer layer between its matrix products, each computed in one pass over
// memory: libtorch takes five to ten passes for the same. A GPU's plug-in implements them
// (boinc_app/cuda/layers); a test runs the same code on the host.
//
// "Short" values are bf16 or fp16, as the model's precision says; everything is computed in fp32.
// All pointers are to memory of the device, at multiples of 16 bytes. Matrices are stored by rows.
// Calls return before the device has finished; they run in order on the stream of the Accelerator.
// Equal inputs give equal bits on equal devices.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedloc::training {

/// Size and number format of a matrix.
struct ShortMatrix {
    std::size_t rows = 0;     ///< above 0
    std::size_t columns = 0;  ///< hidden or ffn of a layer that FusedLayers::has_kernels() for
    bool is_bf16 = true;      ///< else fp16
};

/// The layer norm of the rows of a sum z = product + bias + residual:
/// y = gain × (z − mean(z)) ÷ √(variance(z) + epsilon) + shift.
struct AddNorm {
    const void* product = nullptr;    ///< [rows, columns], short
    const float* residual = nullptr;  ///< [rows, columns]
    const float* bias = nullptr;      ///< [columns]
    const float* gain = nullptr;      ///< [columns]
    const float* shift = nullptr;     ///< [columns]; not read for a gradient
    float epsilon = 0;                ///< above 0; not read for a gradient
};

/// What an AddNorm writes.
struct AddNormResult {
    float* out = nullptr;       ///< y [rows, columns]
    void* short_out = nullptr;  ///< y [rows, columns], short
    float* mean = nullptr;      ///< mean(z) [rows]
    float* inverse = nullptr;   ///< 1 ÷ √(variance(z) + epsilon) [rows]
};

/// The gradient of a loss by the results of an AddNorm, and where its gradient by the inputs goes.
struct AddNormGradient {
    const float* mean = nullptr;         ///< as the AddNorm wrote it
    const float* inverse = nullptr;      ///< as the AddNorm wrote it
    const float* by_out = nullptr;       ///< [rows, columns]; null: 0
    const void* by_short_out = nullptr;  ///< [rows, columns], short; null: 0
    float* by_residual = nullptr;        ///< [rows, columns]
    void* by_product = nullptr;          ///< [rows, columns], short
    float* by_vectors = nullptr;         ///< [3, columns]: by gain, shift and bias
    float* workspace = nullptr;          ///< FusedLayers::workspace_floats(matrix, 3) floats
};

/// The operations.
///
/// Thread   one at a time
/// Errors   all but has_kernels() and workspace_floats(): DeviceError
class FusedLayers {
  public:
    virtual ~FusedLayers() = default;

    /// Whether there are kernels for a layer with these widths: `hidden` columns where it adds and
    /// normalises, `ffn` where it computes GELU.
    virtual bool has_kernels(std::size_t hidden, std::size_t ffn) const = 0;
    /// Floats that the sums of the columns of `vectors` matrices of this size need on the way.
    virtual std::size_t workspace_floats(const ShortMatrix& matrix, unsigned vectors) const = 0;

    /// Cost: 12 bytes an element.
    virtual void add_norm(const ShortMatrix& matrix, const AddNorm& from,
                          const AddNormResult& to) = 0;
    /// Cost: up to 18 bytes an element.
    virtual void add_norm_gradient(const ShortMatrix& matrix, const AddNorm& of,
                                   const AddNormGradient& gradient) = 0;

    /// out = gelu(product + bias), by its approximation with tanh, as Hugging Face's gelu_new.
    ///
    /// Shapes  product, out [rows, columns], short; bias [columns].  Cost: 4 bytes an element.
    virtual void bias_gelu(const ShortMatrix& matrix, const void* product, const float* bias,
                           void* out) = 0;
    /// The gradient of bias_gelu(), from that by `out`.
    ///
    /// Shapes  by_out, by_product [rows, columns], short; by_bias [columns]; workspace of
    ///         workspace_floats(matrix, 1).  Cost: 6 bytes an element.
    virtual void bias_gelu_gradient(const ShortMatrix& matrix, const void* product,
                                    const float* bias, const void* by_out, void* by_product,
                                    float* by_bias, float* workspace) = 0;
    /// sums[c] = the sum of column c.
    ///
    /// Shapes  values [rows, columns], short; sums [columns]; workspace of
    ///         workspace_floats(matrix, 1).  Cost: 2 bytes an element.
    virtual void column_sums(const ShortMatrix& matrix, const void* values, float* sums,
                             float* workspace) = 0;
};

}  // namespace dedloc::training
