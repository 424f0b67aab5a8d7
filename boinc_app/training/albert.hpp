// ALBERT for pre-training: masked-LM and sentence order with one layer's weights used L times, on
// libtorch.
//
// Loss of a sample   mean over its hidden tokens of the cross entropy + cross entropy of its
//                    sentence order, in nats. DeDLOC takes the mean over all hidden tokens of a
//                    micro-batch; here a sample counts the same in every company, so that sums
//                    over samples add up whoever computes them.
// Dropout            none. The v2 configurations have none but 0.1 before the sentence-order
//                    classifier, which is left out too: a micro-batch can be computed again.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "boinc_app/training/batch.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training {

/// The model with its own, aligned copy of the parameters: MKL rounds differently for differently
/// aligned operands, and views into one flat vector lie anywhere.
///
/// Same inputs, same machine, same number of threads: the same bits.
/// Thread   one; the number of compute threads is a property of the thread that calls.
/// Memory   2 N floats and the activations of one micro-batch.
class Albert {
  public:
    /// Errors   InputError when the run's tensors are not the model's by name, shape and order
    explicit Albert(const formats::RunFile& run);
    ~Albert();
    Albert(const Albert&) = delete;
    Albert& operator=(const Albert&) = delete;

    std::size_t element_count() const;

    /// Requires N elements (aborts), in the run file's order of tensors.
    void set_parameters(std::span<const float> parameters);

    /// Sum over the samples of their losses; `gradient` becomes the sum of their gradients.
    /// Requires N elements (aborts). Errors: c10::Error (a std::exception) when out of memory.
    double gradient(const MicroBatch& batch, std::span<float> gradient);

    /// Sum over the samples of their losses.
    double loss(const MicroBatch& batch);

  private:
    struct Model;
    std::unique_ptr<Model> model_;
};

/// Compute threads for models used by the calling thread. Requires count ≥ 1 (aborts).
void set_compute_threads(unsigned count);

}  // namespace dedloc::training
