// What a state of a SwAV is worth: its loss on held-out pictures, and how well classes can be told
// by its features. The classes are the project's; no trainer has them.
//
// Pictures    the same for all states of a run. The loss has held-out pictures and crops that are
//             drawn as in training, from public numbers (evaluation_peer()). The classifiers learn
//             from `learnt` pictures to train on and are tested on `samples` held-out ones, both
//             evenly from all classes (choose_evenly()).
// Batch norm  statistics of the first `norm_pictures` pictures to train on, computed for each state
//             (norm_sums.hpp): as in training a batch is a micro-batch, but its crops are those in
//             the middle. Features are computed with these. The loss is computed with those of its
//             own micro-batch, as in training.
// Crops       features see the middle of the picture, without colours being changed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "boinc_app/swav/crop_loader.hpp"
#include "boinc_app/swav/labelled_pictures.hpp"
#include "boinc_app/swav/norm_sums.hpp"
#include "boinc_app/swav/probes.hpp"
#include "boinc_app/swav/swav.hpp"
#include "boinc_app/training/computation.hpp"
#include "boinc_app/training/evaluation.hpp"
#include "peer/base/digest.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/swav_spec.hpp"

namespace dedloc::swav {

/// Arguments of SwavEvaluator.
struct SwavEvaluationOptions {
    /// Held-out pictures drawn for the loss, in whole micro-batches but at least one, and held-out
    /// pictures for the classifiers.
    std::uint64_t samples = training::kUsualSamples;
    std::uint64_t learnt = 5'000;  ///< pictures that the classifiers learn from
    /// Pictures for the statistics of batch norms, in whole micro-batches but at least one.
    std::uint64_t norm_pictures = 1'024;
    NeighbourOptions neighbours{};        ///< settings of the vote
    LinearOptions linear{};               ///< settings of the regression; the seed is the run's
    training::Computation computation{};  ///< device and precision of the network
};

/// Batch norms' statistics of one state, and where they come from.
struct NormMeasurement {
    std::vector<NormStatistics> norms;  ///< in the order of the parameters; empty: no picture
    std::uint64_t pictures = 0;         ///< that they are statistics of
    std::uint64_t batch = 0;            ///< pictures that normalise one another
    Digest list;  ///< BLAKE2b of the pictures' digests, one after the other: which they are
};

/// What is measured of a state.
struct SwavMeasurement {
    training::Evaluation figures;  ///< those of formats::figures_of("swav") that can be measured
    NormMeasurement norms;         ///< its batch norms' statistics
};

/// Evaluates states of one run. Thread: one, whose number of compute threads it uses.
///
/// The same state, machine and number of threads give the same figures bit for bit.
class SwavEvaluator {
  public:
    /// The run must outlive it. Shards are those of the run or a part of them.
    /// Requires a run that trains SwAV. Errors: InputError: no held-out picture, labels of other
    /// classes or of another number of pictures.
    SwavEvaluator(const formats::RunFile& run, std::vector<LabelledShard> training,
                  std::vector<LabelledShard> held_out, const SwavEvaluationOptions& options = {});

    /// Whether classifiers can be measured: there are at least two classes, with pictures to train
    /// on and held-out ones.
    bool has_classes() const { return !learnt_.places.empty(); }

    /// Measures the classifiers for the network with its first values, and keeps their figures for
    /// all later evaluations. Does nothing if they are known or without classes. False when
    /// interrupted. Cost and errors: as evaluate().
    bool measure_untrained(std::span<const float> parameters,
                           const training::IsInterrupted& is_interrupted = {});

    /// The figures of these parameters: without classes the loss and what follows from assignments.
    /// Nothing when interrupted: between two convolutions, pictures or updates of a classifier.
    ///
    /// Errors    InputError: a picture that cannot be decoded, or as Swav; c10::Error (a
    ///           std::exception) when out of memory
    /// Cost      one forward pass of all crops of `samples` pictures, and of the middle crop of
    ///           `norm_pictures` + `learnt` + `samples`; then probes.hpp
    /// Memory    activations of one micro-batch without gradients, its crops, and (`learnt` +
    ///           `samples`) · F floats twice
    std::optional<SwavMeasurement> evaluate(
        std::span<const float> parameters,
        const training::IsInterrupted& is_interrupted = {}) const;

  private:
    struct Probes {
        Accuracy neighbours;
        Accuracy linear;
    };
    std::optional<NormMeasurement> norms_of(Swav& network,
                                            const training::IsInterrupted& is_interrupted) const;
    std::optional<LabelledFeatures> features_of(
        Swav& network, const std::vector<NormStatistics>& norms,
        const std::vector<LabelledShard>& shards, const LabelledChoice& choice,
        const training::IsInterrupted& is_interrupted) const;
    std::optional<Probes> probe(Swav& network, const std::vector<NormStatistics>& norms,
                                const training::IsInterrupted& is_interrupted) const;
    std::optional<training::Evaluation> measure_loss(
        Swav& network, const training::IsInterrupted& is_interrupted) const;

    const formats::RunFile& run_;
    const formats::SwavSpec& task_;
    const SwavEvaluationOptions options_;
    const std::vector<LabelledShard> training_;
    const std::vector<LabelledShard> held_out_;
    const std::vector<formats::PictureShard> held_out_pictures_;
    const CropLoader crops_;
    std::vector<PicturePlace> norm_list_;  // whole batches of norm_batch_
    std::uint64_t norm_batch_ = 0;
    LabelledChoice learnt_;  // empty without classes
    LabelledChoice tested_;
    std::optional<Probes> untrained_;
};

}  // namespace dedloc::swav
