// SwAV (arXiv 2006.09882) on libtorch: crops of a picture predict each other's assignments to
// prototypes.
//
// Loss of a picture   for each assignment crop (those of the first size) the mean over the other
//                     crops of the cross entropy between its assignment and the other's softmax
//                     over prototypes, and of that the mean over assignment crops, in nats.
// Micro-batch         batch norm and Sinkhorn's algorithm see a whole micro-batch, so a picture's
//                     loss depends on the others in it: gradients of two micro-batches add up, but
//                     their sum is not the gradient of one micro-batch with all their pictures.
//                     Crops of one size go through the trunk in one pass, with batch norms of their
//                     own; the head sees the crops of all sizes at once. This is what facebook's
//                     code and DeDLOC's do.
// Differs from them   prototypes have unit length in the state; as it might not be so at the start,
//                     they are normalised in every pass too, without a gradient through that.
//                     The queue is filled from the first micro-batch on and used when it is full.
//                     No running statistics are kept (norm_sums.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "boinc_app/swav/norm_sums.hpp"
#include "boinc_app/swav/swav_figures.hpp"
#include "boinc_app/training/computation.hpp"
#include "peer/base/bytes.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/swav_spec.hpp"

namespace dedloc::swav {

class PackedCrops;

/// The crops of a micro-batch: augmented, in fp32, normalised by mean and deviation. Or what the
/// device makes them of.
struct CropBatch {
    std::uint64_t pictures = 0;  ///< M, at least 2
    std::uint64_t step = 0;      ///< the run's: decides on the queue and on frozen prototypes
    /// For each size of the task [count · M, 3, size, size]: crop 0 of all pictures, then crop 1 of
    /// all. The values must outlive the call.
    std::vector<std::span<const float>> sizes;
    const PackedCrops* packed = nullptr;  ///< instead of `sizes`; must outlive the call
};

/// Pictures of one size, normalised by mean and deviation.
struct PictureBatch {
    std::uint64_t pictures = 0;     ///< at least 1
    std::uint64_t size = 0;         ///< pixels of each side
    std::span<const float> values;  ///< [pictures, 3, size, size]; must outlive the call
};

/// The network on parameters that it reads in place.
///
/// The same inputs, machine and number of threads give the same bits, in every process, if the
/// queue has the same micro-batches. On a GPU the max-pool's gradient may round differently.
/// Thread   one; the number of compute threads is a property of the calling thread.
/// With a CUDA device in the Computation, parameters and sums are in that device's memory, the
/// spans only say where, and the calling thread's current device and stream compute.
/// Memory   the activations of one micro-batch (formats::swav_activation_bytes for a picture), at
///          the end of its backward pass its gradient: N floats; and the queue.
class Swav {
  public:
    /// `parameters` must outlive the model; every call reads their values of that moment.
    ///
    /// Requires  N parameters in the layout of formats::tensor_offsets, at a multiple of 64 bytes
    ///           (aborts)
    /// Errors    InputError if the task has a fault, or unless the tensors are those of
    ///           formats::swav_tensors
    Swav(const formats::SwavSpec& task, const std::vector<formats::TensorSpec>& tensors,
         std::span<const float> parameters, const training::Computation& computation = {});
    ~Swav();
    Swav(const Swav&) = delete;
    Swav& operator=(const Swav&) = delete;

    /// Adds M times the gradient of the micro-batch's mean loss to `sum`, in the parameters'
    /// layout, and returns M times that loss. While prototypes are frozen nothing is added for
    /// them. Elements of `sum` between tensors are not touched.
    ///
    /// Calls `is_interrupted` after each convolution of the forward and of the backward pass. When
    /// it returns true, the micro-batch is dropped: returns nothing, and `sum` and the queue are as
    /// they were. A GPU computes what has been enqueued to its end all the same.
    ///
    /// In fp16, gradients that overflow are computed again with a smaller loss scale.
    ///
    /// Requires  N elements, and as many values of crops as the task says (aborts)
    /// Errors    DeviceError, c10::Error (a std::exception); `sum` is as it was
    std::optional<double> add_gradient(const CropBatch& batch, std::span<float> sum,
                                       const training::IsInterrupted& is_interrupted = {});

    /// The figures of a micro-batch, with batch norms as in training, but without the queue, which
    /// stays as it is. Nothing when interrupted.
    std::optional<SwavFigures> figures(const CropBatch& batch,
                                       const training::IsInterrupted& is_interrupted = {});

    /// Sums of what each batch norm sees (those of the trunk, then the head's), when each
    /// normalises by the statistics of these pictures: as in training. Statistics of several
    /// batches merged are those of one large batch for the first batch norm; for the others they
    /// are what the network had in training. Nothing when interrupted. Cost: a forward pass.
    std::optional<NormSums> norm_sums(const PictureBatch& batch,
                                      const training::IsInterrupted& is_interrupted = {});

    /// The trunk's features [pictures, F] with given statistics, at least those of the trunk's
    /// batch norms. Nothing when interrupted.
    std::optional<FloatVector> features(const PictureBatch& batch,
                                        const std::vector<NormStatistics>& statistics,
                                        const training::IsInterrupted& is_interrupted = {});

    /// The factor of the loss in the next backward pass (training/loss_scale.hpp); 1 except in
    /// fp16.
    float loss_scale() const;

  private:
    struct Model;
    std::unique_ptr<Model> model_;
};

}  // namespace dedloc::swav
