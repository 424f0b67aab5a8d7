// Classifiers on frozen features, against plain computations in double.
#include "boinc_app/swav/probes.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "peer/base/random.hpp"

using namespace dedloc;
using swav::Accuracy;
using swav::LabelledFeatures;

namespace {

/// Features around one point for each class, above 0 as those behind a ReLU.
LabelledFeatures blobs(std::size_t count, std::size_t width, std::uint16_t classes, double noise,
                       std::uint64_t seed) {
    LabelledFeatures all{.width = width, .values = {}, .labels = {}};
    Random points{1};
    std::vector<double> centres(width * classes);
    for (double& x : centres) x = points.uniform();
    Random random{seed};
    for (std::size_t i = 0; i < count; ++i) {
        const auto label = static_cast<std::uint16_t>(random.below(classes));
        all.labels.push_back(label);
        for (std::size_t j = 0; j < width; ++j) {
            const double value = centres[label * width + j] + noise * random.near_normal();
            all.values.push_back(static_cast<float>(std::max(0.0, value)));
        }
    }
    return all;
}

double cosine(const LabelledFeatures& a, std::size_t i, const LabelledFeatures& b, std::size_t j) {
    double product = 0;
    double left = 0;
    double right = 0;
    for (std::size_t k = 0; k < a.width; ++k) {
        const double x = a.values[i * a.width + k];
        const double y = b.values[j * b.width + k];
        product += x * y;
        left += x * x;
        right += y * y;
    }
    return product / std::sqrt(left * right);
}

std::uint64_t plain_knn_hits(const LabelledFeatures& known, const LabelledFeatures& tested,
                             std::size_t neighbours, double temperature) {
    std::uint64_t hits = 0;
    for (std::size_t i = 0; i < tested.count(); ++i) {
        std::vector<std::pair<double, std::size_t>> all;
        for (std::size_t j = 0; j < known.count(); ++j) {
            all.emplace_back(-cosine(tested, i, known, j), j);
        }
        std::ranges::sort(all);
        std::vector<double> scores(100);
        for (std::size_t n = 0; n < neighbours; ++n) {
            scores[known.labels[all[n].second]] += std::exp(-all[n].first / temperature);
        }
        const auto best = std::ranges::max_element(scores) - scores.begin();
        if (best == tested.labels[i]) ++hits;
    }
    return hits;
}

/// Weights [C, F], then biases [C], after SGD as PyTorch does it.
std::vector<double> plain_fit(const LabelledFeatures& known, std::size_t classes,
                              const swav::LinearOptions& options) {
    const std::size_t width = known.width;
    std::vector<double> values(classes * (width + 1));
    std::vector<double> buffer(values.size());
    const std::size_t batch = std::min<std::size_t>(options.batch, known.count());
    for (std::uint64_t epoch = 0; epoch < options.epochs; ++epoch) {
        const double rate = 0.5 * options.learning_rate * static_cast<double>(batch) / 256 *
                            (1 + std::cos(std::acos(-1.0) * static_cast<double>(epoch) /
                                          static_cast<double>(options.epochs)));
        const auto order = swav::epoch_order(options.seed, epoch, known.count());
        for (std::size_t begin = 0; begin < order.size(); begin += batch) {
            const std::size_t end = std::min(begin + batch, order.size());
            std::vector<double> gradient(values.size());
            for (std::size_t at = begin; at < end; ++at) {
                const auto i = static_cast<std::size_t>(order[at]);
                const float* const x = known.values.data() + i * width;
                std::vector<double> p(classes);
                for (std::size_t c = 0; c < classes; ++c) {
                    p[c] = std::exp(std::inner_product(x, x + width, values.data() + c * width,
                                                       values[classes * width + c]));
                }
                const double sum = std::accumulate(p.begin(), p.end(), 0.0);
                for (std::size_t c = 0; c < classes; ++c) {
                    const double error = (p[c] / sum - (known.labels[i] == c ? 1 : 0)) /
                                         static_cast<double>(end - begin);
                    for (std::size_t k = 0; k < width; ++k) gradient[c * width + k] += error * x[k];
                    gradient[classes * width + c] += error;
                }
            }
            for (std::size_t k = 0; k < values.size(); ++k) {
                buffer[k] =
                    options.momentum * buffer[k] + gradient[k] + options.weight_decay * values[k];
                values[k] -= rate * buffer[k];
            }
        }
    }
    return values;
}

}  // namespace

TEST_CASE("an accuracy has the standard error of a share", "[training]") {
    const Accuracy accuracy{.hits = 30, .count = 120};
    REQUIRE(accuracy.share() == 0.25);
    REQUIRE(accuracy.error() == Approx(std::sqrt(0.25 * 0.75 / 120)));
    REQUIRE(Accuracy{.hits = 7, .count = 7}.error() == 0);
}

TEST_CASE("neighbours vote as in a plain computation", "[training]") {
    const auto known = blobs(210, 24, 7, 0.35, 2);
    const auto tested = blobs(300, 24, 7, 0.35, 3);
    // 210 ÷ 7 = 30 pictures of a class bound the 200 neighbours asked for.
    for (const auto& [asked, used] : {std::pair{200, 30}, std::pair{5, 5}, std::pair{1, 1}}) {
        for (const double temperature : {0.1, 1.0}) {
            const auto accuracy = swav::knn_accuracy(
                known, tested,
                {.neighbours = static_cast<std::uint64_t>(asked), .temperature = temperature});
            const std::uint64_t hits =
                plain_knn_hits(known, tested, static_cast<std::size_t>(used), temperature);
            REQUIRE(accuracy == Accuracy{.hits = hits, .count = 300});
            REQUIRE(hits > 150);
            REQUIRE(hits < 300);
        }
    }
}

TEST_CASE("ties of neighbours have a rule", "[training]") {
    // Both classes have the same two pictures.
    const LabelledFeatures known{
        .width = 2, .values = {1, 0, 0, 1, 1, 0, 0, 1}, .labels = {1, 1, 0, 0}};
    const LabelledFeatures tested{.width = 2, .values = {2, 0}, .labels = {0}};
    // Two neighbours, one of each class: the first class wins. One: the first picture.
    REQUIRE(swav::knn_accuracy(known, tested, {.neighbours = 2})->hits == 1);
    REQUIRE(swav::knn_accuracy(known, tested, {.neighbours = 1})->hits == 0);
}

TEST_CASE("features that are not finite, or zero, are classified without harm", "[training]") {
    auto known = blobs(40, 4, 2, 0.01, 4);
    auto tested = blobs(20, 4, 2, 0.01, 5);
    const std::uint64_t before = swav::knn_accuracy(known, tested)->hits;
    REQUIRE(before == 20);
    for (std::size_t i = 0; i < 4; ++i) {
        known.values[i] = std::numeric_limits<float>::quiet_NaN();
        known.values[4 + i] = 0;
        tested.values[i] = std::numeric_limits<float>::infinity();
    }
    REQUIRE(swav::knn_accuracy(known, tested)->hits >= before - 1);
    const auto classifier = swav::fit_linear(known, {.epochs = 2});
    REQUIRE(swav::accuracy_of(*classifier, tested)->count == 20);
}

TEST_CASE("an epoch has each picture once, in an order of its own", "[training]") {
    auto first = swav::epoch_order(9, 0, 100);
    REQUIRE(first == swav::epoch_order(9, 0, 100));
    REQUIRE(first != swav::epoch_order(9, 1, 100));
    REQUIRE(first != swav::epoch_order(8, 0, 100));
    std::ranges::sort(first);
    for (std::int64_t i = 0; i < 100; ++i) REQUIRE(first[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("softmax regression is that of a plain computation", "[training]") {
    const auto known = blobs(150, 12, 5, 0.3, 6);
    const std::size_t classes = 5;
    for (const std::uint64_t batch : {64, 256}) {  // the last batch has 22 pictures; all are one
        const swav::LinearOptions options{
            .epochs = 20, .batch = batch, .weight_decay = 1e-3, .seed = 3};
        const auto classifier = swav::fit_linear(known, options);
        const auto plain = plain_fit(known, classes, options);
        REQUIRE(classifier->classes == classes);
        REQUIRE(classifier->weight.size() == classes * 12);
        for (std::size_t k = 0; k < plain.size(); ++k) {
            const float value =
                k < classes * 12 ? classifier->weight[k] : classifier->bias[k - classes * 12];
            REQUIRE(static_cast<double>(value) == Approx(plain[k]).margin(1e-5));
        }
    }
}

TEST_CASE("a linear classifier tells classes that a hyperplane parts", "[training]") {
    const auto known = blobs(400, 16, 4, 0.05, 7);
    const auto tested = blobs(300, 16, 4, 0.05, 8);
    const auto classifier = swav::fit_linear(known);
    const auto accuracy = swav::accuracy_of(*classifier, tested);
    REQUIRE(accuracy->share() > 0.97);
    const auto again = swav::fit_linear(known);
    REQUIRE(again->weight == classifier->weight);
    REQUIRE(again->bias == classifier->bias);
    REQUIRE(swav::knn_accuracy(known, tested) == swav::knn_accuracy(known, tested));
}

TEST_CASE("classifiers end when they are interrupted", "[training]") {
    const auto known = blobs(600, 4, 2, 0.3, 9);
    int calls = 0;
    const auto third = [&] { return ++calls == 3; };
    REQUIRE_FALSE(swav::knn_accuracy(known, known, {}, third));
    REQUIRE(calls == 3);
    calls = 0;
    REQUIRE_FALSE(swav::fit_linear(known, {}, third));
    REQUIRE(calls == 3);
    const auto classifier = swav::fit_linear(known, {.epochs = 1});
    calls = 0;
    REQUIRE_FALSE(swav::accuracy_of(*classifier, known, third));
    REQUIRE(calls == 3);
}
