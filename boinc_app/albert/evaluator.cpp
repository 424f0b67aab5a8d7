#include "boinc_app/albert/evaluator.hpp"

#include <algorithm>
#include <vector>

#include "peer/base/check.hpp"

namespace dedloc::training::albert {

Evaluation summarise(std::span<const SampleFigures> figures) {
    DEDLOC_CHECK(!figures.empty(), "an evaluation needs a sample");
    std::vector<double> losses, masked_losses, order_losses, hits, masked, order_hits;
    std::uint64_t tokens = 0;
    for (const SampleFigures& sample : figures) {
        losses.push_back(sample.masked_loss + sample.order_loss);
        masked_losses.push_back(sample.masked_loss);
        order_losses.push_back(sample.order_loss);
        hits.push_back(static_cast<double>(sample.masked_hits));
        masked.push_back(static_cast<double>(sample.masked));
        order_hits.push_back(sample.is_order_hit ? 1.0 : 0.0);
        tokens += sample.masked;
    }
    return {.loss = mean_of(losses),
            .figures = {{"masked_loss", mean_of(masked_losses)},
                        {"order_loss", mean_of(order_losses)},
                        {"masked_accuracy", ratio_of(hits, masked)},
                        {"order_accuracy", mean_of(order_hits)}},
            .samples = figures.size(),
            .counts = {{"masked_tokens", tokens}}};
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
