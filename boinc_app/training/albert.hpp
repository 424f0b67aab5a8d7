// ALBERT for pre-training: masked-LM and sentence order with one layer's weights used L times, on
// libtorch.
//
// Loss of a sample   mean over its masked tokens of the cross entropy + cross entropy of its
//                    sentence order, in nats. DeDLOC takes the mean over all masked tokens of a
//                    micro-batch. Here a sample's weight does not depend on its micro-batch, so
//                    sums over samples of different peers add up.
// Dropout            none. The v2 configurations have none except 0.1 before the sentence-order
//                    classifier; that is omitted too, so that a micro-batch can be recomputed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "boinc_app/training/batch.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training {

/// The model with its own, aligned copy of the parameters. MKL's rounding depends on the alignment
/// of its operands, and views into one flat vector have any alignment.
///
/// The same inputs, machine and number of threads give the same bits.
/// Thread   one; the number of compute threads is a property of the calling thread.
/// Memory   2 N floats and the activations of one micro-batch.
class Albert {
  public:
    /// Errors   InputError unless names, shapes and order of the run's tensors are the model's
    explicit Albert(const formats::RunFile& run);
    ~Albert();
    Albert(const Albert&) = delete;
    Albert& operator=(const Albert&) = delete;

    /// N, the number of parameters.
    std::size_t element_count() const;

    /// Copies the parameters, in the run file's order of tensors. Requires N elements (aborts).
    void set_parameters(std::span<const float> parameters);

    /// Returns the sum of the samples' losses and overwrites `gradient` with the sum of their
    /// gradients. Requires N elements (aborts). Errors: c10::Error (a std::exception) when out of
    /// memory.
    double gradient(const MicroBatch& batch, std::span<float> gradient);

    /// The sum of the samples' losses.
    double loss(const MicroBatch& batch);

  private:
    struct Model;
    std::unique_ptr<Model> model_;
};

/// Sets the number of torch's compute threads for models that the calling thread uses. Requires
/// count ≥ 1 (aborts).
void set_compute_threads(unsigned count);

}  // namespace dedloc::training
