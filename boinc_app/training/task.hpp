// The seam between training and the networks. A task is what a run trains: a network, its loss and
// its data. All that differs between one task and another is behind these two classes and, where no
// libtorch is, in peer/formats/task.hpp; nothing else knows which task it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "boinc_app/training/computation.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/random.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/sample_draws.hpp"
#include "peer/formats/source_spec.hpp"

namespace dedloc::training {

using formats::step_random;

/// Consecutive samples of one peer in one step. They follow from these, the run's seed and the
/// task's data. Equal if the weights are the same object.
struct SampleRange {
    PeerKey peer{};           ///< whose they are
    StepIndex step;           ///< updates of the state that they are computed on
    std::uint64_t first = 0;  ///< index of the first sample
    std::uint64_t count = 1;  ///< number of samples, at least 1
    /// The mixture in force: as ShardMasses::draw takes it. Null: the run file's.
    formats::SharedWeights weights{};
    /// The same for ShardMasses::draw.
    std::span<const std::uint64_t> source_weights() const {
        return weights ? std::span<const std::uint64_t>{*weights}
                       : std::span<const std::uint64_t>{};
    }
    bool operator==(const SampleRange&) const = default;
};

/// A network on parameters that it reads in place.
///
/// The same inputs, machine and number of threads give the same bits, in every process: the
/// parameters' alignment is fixed, because MKL's rounding depends on it.
/// Thread   one; the number of compute threads is a property of the calling thread
/// Memory   the activations of one micro-batch, and at the end of its backward pass its gradient: N
///          floats
class Model {
  public:
    virtual ~Model() = default;

    /// Adds the sum of the samples' gradients to `sum`, in the parameters' layout, and returns the
    /// sum of their losses. Elements of `sum` between tensors are not touched.
    ///
    /// Calls `is_interrupted` between the operations of the forward and of the backward pass. When
    /// it returns true, the samples are dropped: returns nothing, and `sum` is as it was.
    ///
    /// Requires  N elements; one unit if samples depend on each other (formats::samples_together)
    ///           (aborts)
    /// Errors    DeviceError, c10::Error (a std::exception); `sum` is as it was
    virtual std::optional<double> add_gradient(const SampleRange& samples, std::span<float> sum,
                                               const IsInterrupted& is_interrupted) = 0;
};

/// A network whose samples a source draws with `draw(random, first, count, weights)`.
template <class Source, class Network>
class DrawingModel final : public Model {
  public:
    /// Samples follow from the run's seed. The source must outlive it.
    DrawingModel(std::uint64_t seed, const Source& source, std::unique_ptr<Network> network)
        : seed_(seed), source_(source), network_(std::move(network)) {}

    /// As Model says.
    std::optional<double> add_gradient(const SampleRange& samples, std::span<float> sum,
                                       const IsInterrupted& is_interrupted) override {
        const Random random = step_random(seed_, samples.peer, samples.step);
        return network_->add_gradient(
            source_.draw(random, samples.first, samples.count, samples.source_weights()), sum,
            is_interrupted);
    }

  private:
    const std::uint64_t seed_;
    const Source& source_;
    const std::unique_ptr<Network> network_;
};

/// What there is to choose from on a processor.
struct ProcessorOffer {
    std::optional<Precision> precision{};  ///< the one that is wanted; nothing: the faster one
    unsigned threads = 1;                  ///< that the network may keep busy
    unsigned cores = 1;                    ///< cores that these threads have, at most as many
    std::uint64_t memory_bytes = 0;        ///< physical memory of the machine
    bool is_tried = false;                 ///< it has computed in that precision before
};

/// The way in which a network computes on the processor.
struct ProcessorWay {
    Computation computation{};      ///< without a CUDA device
    unsigned threads = 0;           ///< compute threads; 0: all that it may keep busy
    std::uint64_t micro_batch = 0;  ///< samples computed at once; 0: as footprint.hpp assumes
    std::string reason{};           ///< for people: what was measured; empty: there was no choice
};

/// What a run trains. Keeps its data. Thread: any, one at a time.
class Task {
  public:
    virtual ~Task() = default;

    /// The network on these parameters, which must outlive it, as must the task; every call reads
    /// their values of that moment. With a CUDA device in the Computation, parameters and sums are
    /// in that device's memory, the spans only say where, and the calling thread's current device
    /// and stream compute.
    ///
    /// Requires  N parameters in the layout of formats::tensor_offsets, at a multiple of 64 bytes
    ///           (aborts)
    virtual std::unique_ptr<Model> make_model(std::span<const float> parameters,
                                              const Computation& computation) const = 0;

    /// The way in which this processor computes the network: in the precision that the offer wants,
    /// or if there is none in the one, and with the threads and the micro-batches, that a trial
    /// finds to be faster. `layers` must outlive models that compute that way. May set the compute
    /// threads of the calling thread; takes seconds. This one is for networks that compute in fp32
    /// only.
    ///
    /// Requires  1 ≤ cores ≤ threads
    /// Errors    InputError: the network does not compute in this precision on a processor
    virtual ProcessorWay on_processor(const ProcessorOffer& offer, FusedLayers& layers) const;
};

/// Refuses a run file whose tensors are not those that the network wants, by name and shape, in
/// this order. Errors: InputError that names the first difference.
void refuse_other_tensors(const std::vector<formats::TensorSpec>& listed,
                          const std::vector<formats::TensorSpec>& wanted);

/// Sets the number of torch's compute threads for models that the calling thread uses. Requires
/// count ≥ 1 (aborts).
void set_compute_threads(unsigned count);

}  // namespace dedloc::training
