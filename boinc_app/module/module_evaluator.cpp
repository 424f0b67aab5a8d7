#include "boinc_app/module/module_evaluator.hpp"

#include <algorithm>
#include <utility>

#include "boinc_app/module/script_task.hpp"
#include "peer/base/check.hpp"

namespace dedloc::training::module {

ModuleEvaluator::ModuleEvaluator(const formats::RunFile& run, std::span<const std::byte> file,
                                 std::unique_ptr<const SampleSource> held_out,
                                 std::uint64_t samples, std::uint64_t micro_batch)
    : run_(run),
      held_out_(std::move(held_out)),
      samples_(samples),
      micro_batch_(micro_batch),
      module_(file, bounds_of(run)) {
    DEDLOC_CHECK(samples >= 1, "an evaluation needs a sample");
    DEDLOC_CHECK(micro_batch >= 1, "a micro-batch has at least one sample");
    check_tensors(run, module_.parameters());
    check_inputs(*held_out_, module_);
}

std::optional<Evaluation> ModuleEvaluator::evaluate(std::span<const float> parameters,
                                                    const IsInterrupted& is_interrupted) {
    module_.bind(formats::tensor_offsets(run_), parameters);
    const Random random = evaluation_random(run_.seed);
    std::vector<double> losses;
    while (losses.size() < samples_) {
        const std::uint64_t first = losses.size();
        const std::uint64_t count = std::min(micro_batch_, samples_ - first);
        const auto drawn = held_out_->draw_unless(is_interrupted, random, first, count);
        if (!drawn) return std::nullopt;
        const auto next = module_.losses(*drawn, is_interrupted);
        if (!next) return std::nullopt;
        losses.insert(losses.end(), next->begin(), next->end());
    }
    return Evaluation{.loss = mean_of(losses), .samples = samples_};
}

}  // namespace dedloc::training::module
