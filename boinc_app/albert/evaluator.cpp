#include "boinc_app/albert/evaluator.hpp"

#include <algorithm>
#include <cmath>

#include "peer/base/check.hpp"

namespace dedloc::training::albert {
namespace {

/// `a` and `b` map the figures of a sample to its terms.
template <class A, class B>
Estimate ratio(std::span<const SampleFigures> figures, const A& a, const B& b) {
    double above = 0;
    double below = 0;
    for (const SampleFigures& sample : figures) {
        above += a(sample);
        below += b(sample);
    }
    Estimate estimate{.value = above / below};
    if (figures.size() < 2) return estimate;
    double squares = 0;
    for (const SampleFigures& sample : figures) {
        const double rest = a(sample) - estimate.value * b(sample);
        squares += rest * rest;
    }
    const auto count = static_cast<double>(figures.size());
    estimate.error = std::sqrt(squares * count / (count - 1)) / below;
    return estimate;
}

double one(const SampleFigures&) {
    return 1;
}

}  // namespace

Evaluation summarise(std::span<const SampleFigures> figures) {
    DEDLOC_CHECK(!figures.empty(), "an evaluation needs a sample");
    const auto masked = [](const SampleFigures& x) { return static_cast<double>(x.masked); };
    Evaluation all{.loss = ratio(
                       figures, [](const auto& x) { return x.masked_loss + x.order_loss; }, one),
                   .samples = figures.size()};
    all.figures = {
        {"masked_loss", ratio(
                            figures, [](const auto& x) { return x.masked_loss; }, one)},
        {"order_loss", ratio(
                           figures, [](const auto& x) { return x.order_loss; }, one)},
        {"masked_accuracy",
         ratio(
             figures, [](const auto& x) { return static_cast<double>(x.masked_hits); }, masked)},
        {"order_accuracy",
         ratio(
             figures, [](const auto& x) { return x.is_order_hit ? 1.0 : 0.0; }, one)}};
    std::uint64_t tokens = 0;
    for (const SampleFigures& sample : figures) tokens += sample.masked;
    all.counts = {{"masked_tokens", tokens}};
    return all;
}

Evaluator::Evaluator(const formats::RunFile& run, std::span<const formats::Shard> held_out,
                     std::uint64_t samples, std::size_t micro_batch)
    : run_(run), sampler_(run, held_out), samples_(samples), micro_batch_(micro_batch) {
    DEDLOC_CHECK(samples >= 1, "an evaluation needs a sample");
    DEDLOC_CHECK(micro_batch >= 1, "a micro-batch has at least one sample");
}

std::optional<Evaluation> Evaluator::evaluate(std::span<const float> parameters,
                                              const IsInterrupted& is_interrupted) const {
    Albert model{run_, parameters};
    const Random random = evaluation_random(run_.seed);
    std::vector<SampleFigures> figures;
    while (figures.size() < samples_) {
        const std::uint64_t first = figures.size();
        const auto count = std::min<std::uint64_t>(micro_batch_, samples_ - first);
        const auto next = model.figures(
            sampler_.draw(random, first, static_cast<std::size_t>(count)), is_interrupted);
        if (!next) return std::nullopt;
        figures.insert(figures.end(), next->begin(), next->end());
    }
    return summarise(figures);
}

}  // namespace dedloc::training::albert
