// Pictures are decoded anew for each state, so that memory holds one batch of them: that takes a
// small part of the network's time. The list for batch norms is cut to whole micro-batches, because
// statistics depend on the size of a batch; a list shorter than one is a batch by itself.
#include "boinc_app/swav/swav_evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "boinc_app/pictures/crops.hpp"
#include "boinc_app/swav/swav_figures.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/evaluation_crop.hpp"
#include "peer/formats/swav_layout.hpp"

namespace dedloc::swav {
namespace {

using training::Estimate;
using training::IsInterrupted;

constexpr std::size_t kFeatureBatch = 64;  // pictures of a forward pass with given statistics
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::uint64_t values_of_crop(std::uint64_t size) {
    return 3 * size * size;
}

/// Cuts the list to whole batches, or one smaller batch if it is shorter. The size of a batch.
std::uint64_t cut_to_batches(std::vector<PicturePlace>& list, std::uint64_t micro_batch) {
    const std::uint64_t batch = std::min<std::uint64_t>(micro_batch, list.size());
    if (batch > 0) list.resize(list.size() / batch * batch);
    return batch;
}

pictures::MiddleCrop middle_crop_of(const formats::SwavSpec& task) {
    const formats::EvaluationCrop crop = formats::evaluation_crop(task);
    return {.shorter_side = static_cast<std::uint32_t>(crop.shorter_side),
            .size = static_cast<std::uint32_t>(crop.size)};
}

/// The middle crops of pictures.
class MiddleCrops {
  public:
    explicit MiddleCrops(const formats::SwavSpec& task)
        : colours_(task.colours), crop_(middle_crop_of(task)) {}

    /// Those of these pictures, until the next call; nothing when interrupted.
    std::optional<PictureBatch> make(std::span<const LabelledShard> shards,
                                     std::span<const PicturePlace> places,
                                     const IsInterrupted& is_interrupted) {
        const std::size_t each = values_of_crop(crop_.size);
        values_.resize(places.size() * each);
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (is_interrupted && is_interrupted()) return std::nullopt;
            // Twice the side, so that Pillow's pixels of a picture of usual size are the same.
            const auto picture = decode(shards, places[i], 2 * crop_.shorter_side);
            pictures::make_middle_crop(picture, crop_, colours_,
                                       std::span{values_}.subspan(i * each, each), scratch_);
        }
        return PictureBatch{.pictures = places.size(), .size = crop_.size, .values = values_};
    }

  private:
    const formats::ColourSpec colours_;
    const pictures::MiddleCrop crop_;
    pictures::Scratch scratch_;
    FloatVector values_;
};

std::vector<formats::PictureShard> pictures_of(const std::vector<LabelledShard>& shards) {
    std::vector<formats::PictureShard> all;
    for (const LabelledShard& shard : shards) all.push_back(shard.pictures);
    return all;
}

Estimate estimate_of(const Accuracy& accuracy) {
    return {.value = accuracy.share(), .error = accuracy.error()};
}

}  // namespace

SwavEvaluator::SwavEvaluator(const formats::RunFile& run, std::vector<LabelledShard> training,
                             std::vector<LabelledShard> held_out,
                             const SwavEvaluationOptions& options)
    : run_(run),
      task_(std::get<formats::SwavSpec>(run.model)),
      options_(options),
      training_(std::move(training)),
      held_out_(std::move(held_out)),
      held_out_pictures_(pictures_of(held_out_)),
      crops_(run, held_out_pictures_),
      norm_list_(first_pictures(training_, options.norm_pictures)) {
    norm_batch_ = cut_to_batches(norm_list_, task_.micro_batch);
    const auto known = classes_of(training_);
    const auto asked = classes_of(held_out_);
    if (known.empty() || asked.empty()) return;
    if (known != asked) {
        throw InputError("the pictures to train on and the held-out ones have other classes");
    }
    LabelledChoice learnt = choose_evenly(training_, options.learnt);
    LabelledChoice tested = choose_evenly(held_out_, options.samples);
    if (known.size() < 2 || learnt.places.empty() || tested.places.empty()) return;
    learnt_ = std::move(learnt);
    tested_ = std::move(tested);
}

std::optional<NormMeasurement> SwavEvaluator::norms_of(Swav& network,
                                                       const IsInterrupted& is_interrupted) const {
    NormMeasurement measured{
        .norms = {}, .pictures = norm_list_.size(), .batch = norm_batch_, .list = {}};
    if (norm_list_.empty()) return measured;
    MiddleCrops crops{task_};
    NormSums sums;
    ByteWriter list;
    for (std::size_t begin = 0; begin < norm_list_.size(); begin += norm_batch_) {
        const auto places = std::span{norm_list_}.subspan(begin, norm_batch_);
        for (const PicturePlace& place : places) {
            list.append(blake2b(training_[place.shard].pictures.picture(place.index)).bytes);
        }
        const auto batch = crops.make(training_, places, is_interrupted);
        if (!batch) return std::nullopt;
        const auto part = network.norm_sums(*batch, is_interrupted);
        if (!part) return std::nullopt;
        sums.merge(*part);
    }
    measured.norms = sums.statistics();
    measured.list = blake2b(std::move(list).finish());
    return measured;
}

std::optional<LabelledFeatures> SwavEvaluator::features_of(
    Swav& network, const std::vector<NormStatistics>& norms,
    const std::vector<LabelledShard>& shards, const LabelledChoice& choice,
    const IsInterrupted& is_interrupted) const {
    LabelledFeatures all{.width = formats::feature_count(task_.trunk), .labels = choice.labels};
    all.values.reserve(all.width * choice.places.size());
    MiddleCrops crops{task_};
    for (std::size_t begin = 0; begin < choice.places.size(); begin += kFeatureBatch) {
        const std::size_t count = std::min(kFeatureBatch, choice.places.size() - begin);
        const auto batch =
            crops.make(shards, std::span{choice.places}.subspan(begin, count), is_interrupted);
        if (!batch) return std::nullopt;
        const auto features = network.features(*batch, norms, is_interrupted);
        if (!features) return std::nullopt;
        all.values.insert(all.values.end(), features->begin(), features->end());
    }
    return all;
}

std::optional<SwavEvaluator::Probes> SwavEvaluator::probe(
    Swav& network, const std::vector<NormStatistics>& norms,
    const IsInterrupted& is_interrupted) const {
    const auto known = features_of(network, norms, training_, learnt_, is_interrupted);
    if (!known) return std::nullopt;
    const auto tested = features_of(network, norms, held_out_, tested_, is_interrupted);
    if (!tested) return std::nullopt;
    const auto neighbours = knn_accuracy(*known, *tested, options_.neighbours, is_interrupted);
    if (!neighbours) return std::nullopt;
    LinearOptions linear = options_.linear;
    linear.seed = run_.seed;
    const auto classifier = fit_linear(*known, linear, is_interrupted);
    if (!classifier) return std::nullopt;
    const auto accuracy = accuracy_of(*classifier, *tested, is_interrupted);
    if (!accuracy) return std::nullopt;
    return Probes{.neighbours = *neighbours, .linear = *accuracy};
}

std::optional<training::Evaluation> SwavEvaluator::measure_loss(
    Swav& network, const IsInterrupted& is_interrupted) const {
    const std::uint64_t batches = std::max<std::uint64_t>(1, options_.samples / task_.micro_batch);
    std::optional<SwavFigures> all;
    std::vector<double> means;
    for (std::uint64_t i = 0; i < batches; ++i) {
        const training::SampleRange samples{.peer = training::evaluation_peer(),
                                            .step = StepIndex{0},
                                            .first = i * task_.micro_batch,
                                            .count = task_.micro_batch};
        const auto crops = crops_.load(samples, is_interrupted);
        if (!crops) return std::nullopt;
        const auto figures =
            network.figures(crops->batch(samples.count, samples.step), is_interrupted);
        if (!figures) return std::nullopt;
        means.push_back(figures->loss());
        if (all) {
            all->merge(*figures);
        } else {
            all = figures;
        }
    }
    const double error = training::mean_of(means).error;
    const auto plain = [](double value) {
        return training::Estimate{.value = value, .error = kUnknown};
    };
    return training::Evaluation{
        .loss = {.value = all->loss(), .error = error},
        .figures = {{"below_uniform", {.value = all->gain(), .error = error}},
                    {"assignment_entropy", plain(all->share(all->assignment_entropy()))},
                    {"prediction_entropy", plain(all->share(all->prediction_entropy()))},
                    {"prototypes_used", plain(static_cast<double>(all->used_prototypes()))},
                    {"projection_deviation", plain(all->deviation())}},
        .samples = batches * task_.micro_batch};
}

bool SwavEvaluator::measure_untrained(std::span<const float> parameters,
                                      const IsInterrupted& is_interrupted) {
    if (untrained_ || !has_classes()) return true;
    Swav untrained{task_, run_.tensors, parameters, options_.computation};
    const auto norms = norms_of(untrained, is_interrupted);
    if (!norms) return false;
    untrained_ = probe(untrained, norms->norms, is_interrupted);
    return untrained_.has_value();
}

std::optional<SwavMeasurement> SwavEvaluator::evaluate(std::span<const float> parameters,
                                                       const IsInterrupted& is_interrupted) const {
    Swav swav{task_, run_.tensors, parameters, options_.computation};
    auto figures = measure_loss(swav, is_interrupted);
    if (!figures) return std::nullopt;
    auto norms = norms_of(swav, is_interrupted);
    if (!norms) return std::nullopt;
    if (!norms->norms.empty()) {
        figures->counts.push_back({"pictures_of_the_statistics", norms->pictures});
    }
    if (has_classes()) {
        const auto probes = probe(swav, norms->norms, is_interrupted);
        if (!probes) return std::nullopt;
        std::vector<training::Figure> first{{"knn_accuracy", estimate_of(probes->neighbours)},
                                            {"linear_accuracy", estimate_of(probes->linear)}};
        if (untrained_) {
            first.push_back({"untrained_knn_accuracy", estimate_of(untrained_->neighbours)});
            first.push_back({"untrained_linear_accuracy", estimate_of(untrained_->linear)});
        }
        figures->figures.insert(figures->figures.begin(), first.begin(), first.end());
        figures->counts.push_back({"pictures_learnt", learnt_.places.size()});
        figures->counts.push_back({"pictures_tested", tested_.places.size()});
    }
    return SwavMeasurement{.figures = std::move(*figures), .norms = std::move(*norms)};
}

}  // namespace dedloc::swav
