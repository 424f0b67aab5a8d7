// Matrix products are libtorch's, in fp32; all else of the nearest neighbours is plain C++, so that
// ties have a rule. Test pictures go through in groups, between which the caller may interrupt. The
// gradient of softmax regression is written out: (softmax − one-hot)ᵀ · features ÷ pictures.
#include "boinc_app/swav/probes.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/random.hpp"

namespace dedloc::swav {
namespace {

using training::IsInterrupted;

constexpr std::size_t kGroup = 256;          // test pictures between two looks at the caller
constexpr double kMinFeatureLength = 1e-12;  // as in PyTorch's normalize()
constexpr double kFarthest = -2;             // below every cosine
constexpr double kBatchOfLearningRate = 256;

std::int64_t signed_of(std::size_t count) {
    return static_cast<std::int64_t>(count);
}

void check_shape(const LabelledFeatures& features) {
    DEDLOC_CHECK(features.width > 0 && features.values.size() == features.count() * features.width,
                 "features must be [n, F]", features.values.size());
}

/// Rows [begin, begin + count) as a tensor that shares their memory.
at::Tensor rows_of(const LabelledFeatures& features, std::size_t begin, std::size_t count) {
    return at::from_blob(const_cast<float*>(features.values.data() + begin * features.width),
                         {signed_of(count), signed_of(features.width)}, at::kFloat);
}

at::Tensor rows_of_unit_length(const at::Tensor& rows) {
    return rows / rows.norm(2, {1}, true).clamp_min(kMinFeatureLength);
}

std::size_t class_count(const LabelledFeatures& features) {
    const auto largest = std::ranges::max_element(features.labels);
    return largest == features.labels.end() ? 0 : std::size_t{*largest} + 1;
}

/// The class that the nearest pictures vote for. `order` is scratch.
std::size_t vote(std::span<const float> cosines, const std::vector<std::uint16_t>& labels,
                 std::size_t neighbours, double temperature, std::vector<std::uint32_t>& order,
                 std::vector<double>& scores) {
    order.resize(cosines.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto is_nearer = [&](std::uint32_t a, std::uint32_t b) {
        return cosines[a] != cosines[b] ? cosines[a] > cosines[b] : a < b;
    };
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(neighbours);
    std::ranges::nth_element(order, end, is_nearer);
    std::sort(order.begin(), end, is_nearer);  // sums have one order
    std::ranges::fill(scores, 0.0);
    for (const std::uint32_t picture : std::span{order}.first(neighbours)) {
        scores[labels[picture]] += std::exp(static_cast<double>(cosines[picture]) / temperature);
    }
    return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

/// Weights or biases with their momentum.
struct Moving {
    at::Tensor value;
    at::Tensor momentum;

    explicit Moving(at::IntArrayRef shape)
        : value(at::zeros(shape, at::kFloat)), momentum(at::zeros(shape, at::kFloat)) {}
    void step(const at::Tensor& gradient, double rate, const LinearOptions& options) {
        momentum.mul_(options.momentum).add_(gradient).add_(value, options.weight_decay);
        value.sub_(momentum, rate);
    }
};

FloatVector floats_of(const at::Tensor& tensor) {
    const float* const first = tensor.const_data_ptr<float>();
    return {first, first + tensor.numel()};
}

}  // namespace

double Accuracy::share() const {
    DEDLOC_CHECK(count > 0, "an accuracy needs a picture");
    return static_cast<double>(hits) / static_cast<double>(count);
}

double Accuracy::error() const {
    return std::sqrt(share() * (1 - share()) / static_cast<double>(count));
}

std::optional<Accuracy> knn_accuracy(const LabelledFeatures& known, const LabelledFeatures& tested,
                                     const NeighbourOptions& options,
                                     const IsInterrupted& is_interrupted) {
    check_shape(known);
    check_shape(tested);
    DEDLOC_CHECK(known.count() > 0 && known.width == tested.width && options.neighbours > 0,
                 "neighbours need pictures, and features of one width", known.count());
    const std::size_t classes = class_count(known);
    const auto neighbours = static_cast<std::size_t>(std::clamp<std::uint64_t>(
        options.neighbours, 1, std::max<std::uint64_t>(1, known.count() / classes)));
    const at::Tensor others = rows_of_unit_length(rows_of(known, 0, known.count())).t();
    std::vector<std::uint32_t> order;
    std::vector<double> scores(classes);
    Accuracy accuracy{.count = tested.count()};
    for (std::size_t begin = 0; begin < tested.count(); begin += kGroup) {
        const std::size_t count = std::min(kGroup, tested.count() - begin);
        const at::Tensor cosines = at::nan_to_num(
            at::mm(rows_of_unit_length(rows_of(tested, begin, count)), others), kFarthest);
        const float* const first = cosines.const_data_ptr<float>();
        for (std::size_t i = 0; i < count; ++i) {
            if (is_interrupted && is_interrupted()) return std::nullopt;
            const std::size_t given = vote({first + i * known.count(), known.count()}, known.labels,
                                           neighbours, options.temperature, order, scores);
            if (given == tested.labels[begin + i]) ++accuracy.hits;
        }
    }
    return accuracy;
}

std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::uint64_t epoch, std::size_t count) {
    std::vector<std::int64_t> order(count);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    Random random = Random{seed}.split(epoch);
    for (std::size_t end = count; end > 1; --end) {
        std::swap(order[end - 1], order[static_cast<std::size_t>(random.below(end))]);
    }
    return order;
}

std::optional<LinearClassifier> fit_linear(const LabelledFeatures& known,
                                           const LinearOptions& options,
                                           const IsInterrupted& is_interrupted) {
    check_shape(known);
    DEDLOC_CHECK(known.count() > 0 && options.batch > 0, "a classifier needs pictures");
    const std::size_t classes = class_count(known);
    const std::size_t batch = std::min(static_cast<std::size_t>(options.batch), known.count());
    const at::Tensor features = rows_of(known, 0, known.count());
    std::vector<std::int64_t> label_values{known.labels.begin(), known.labels.end()};
    const at::Tensor labels =
        at::from_blob(label_values.data(), {signed_of(known.count()), 1}, at::kLong);
    Moving weight{{signed_of(classes), signed_of(known.width)}};
    Moving bias{{signed_of(classes)}};
    for (std::uint64_t epoch = 0; epoch < options.epochs; ++epoch) {
        const double turn = static_cast<double>(epoch) / static_cast<double>(options.epochs);
        const double rate = options.learning_rate * static_cast<double>(batch) /
                            kBatchOfLearningRate * (1 + std::cos(std::numbers::pi * turn)) / 2;
        std::vector<std::int64_t> order = epoch_order(options.seed, epoch, known.count());
        for (std::size_t begin = 0; begin < known.count(); begin += batch) {
            if (is_interrupted && is_interrupted()) return std::nullopt;
            const std::int64_t count = signed_of(std::min(batch, known.count() - begin));
            const at::Tensor chosen = at::from_blob(order.data() + begin, {count}, at::kLong);
            const at::Tensor x = features.index_select(0, chosen);
            at::Tensor error = at::softmax(at::addmm(bias.value, x, weight.value.t()), 1);
            error.scatter_add_(1, labels.index_select(0, chosen),
                               at::full({count, 1}, -1.0, at::kFloat));
            error.div_(static_cast<double>(count));
            weight.step(at::mm(error.t(), x), rate, options);
            bias.step(error.sum(0), rate, options);
        }
    }
    return LinearClassifier{.classes = classes,
                            .width = known.width,
                            .weight = floats_of(weight.value),
                            .bias = floats_of(bias.value)};
}

std::optional<Accuracy> accuracy_of(const LinearClassifier& classifier,
                                    const LabelledFeatures& tested,
                                    const IsInterrupted& is_interrupted) {
    check_shape(tested);
    DEDLOC_CHECK(tested.width == classifier.width, "features of another width", tested.width);
    const auto tensor = [](const FloatVector& values, at::IntArrayRef shape) {
        return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat);
    };
    const std::int64_t classes = signed_of(classifier.classes);
    const at::Tensor weight = tensor(classifier.weight, {classes, signed_of(classifier.width)});
    const at::Tensor bias = tensor(classifier.bias, {classes});
    Accuracy accuracy{.count = tested.count()};
    for (std::size_t begin = 0; begin < tested.count(); begin += kGroup) {
        if (is_interrupted && is_interrupted()) return std::nullopt;
        const std::size_t count = std::min(kGroup, tested.count() - begin);
        const at::Tensor given =
            at::addmm(bias, rows_of(tested, begin, count), weight.t()).argmax(1).contiguous();
        const std::int64_t* const first = given.const_data_ptr<std::int64_t>();
        for (std::size_t i = 0; i < count; ++i) {
            if (first[i] == tested.labels[begin + i]) ++accuracy.hits;
        }
    }
    return accuracy;
}

}  // namespace dedloc::swav
