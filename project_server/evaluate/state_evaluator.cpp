// ALBERT's evaluator is used as it is. SwAV's measures more than its figures: the untrained network
// once, whose first values follow from the run file, and batch norms' statistics, which become a
// file beside the run's checkpoints before the figures are returned.
#include "project_server/evaluate/state_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "boinc_app/albert/evaluator.hpp"
#include "boinc_app/inputs/module_file.hpp"
#include "boinc_app/inputs/shard_files.hpp"
#include "boinc_app/module/module_evaluator.hpp"
#include "boinc_app/swav/swav_evaluator.hpp"
#include "boinc_app/training/footprint.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/memory.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/huggingface/norm_file.hpp"

namespace dedloc::evaluate {
namespace {

/// Pictures of the shards that are opened, for each that classifiers learn from: classes differ in
/// frequency.
constexpr std::uint64_t kOpenedForEach = 4;

class TextEvaluator final : public StateEvaluator {
  public:
    TextEvaluator(const formats::RunFile& run, const EvaluatorOptions& options)
        : shards_(inputs::open_held_out_shards(options.folders.held_out, run)),
          evaluator_(run, shards_, options.samples, micro_batch(run, options)) {}

    std::optional<training::Evaluation> evaluate(const LoadedState& state,
                                                 const IsInterrupted& is_interrupted) override {
        return evaluator_.evaluate(state.parameters, is_interrupted);
    }

  private:
    static std::size_t micro_batch(const formats::RunFile& run, const EvaluatorOptions& options) {
        if (options.micro_batch != 0) return static_cast<std::size_t>(options.micro_batch);
        return static_cast<std::size_t>(training::suitable_micro_batch(
            run, {.threads = options.threads, .memory_bytes = platform::physical_memory()}));
    }

    const std::vector<formats::Shard> shards_;
    const training::albert::Evaluator evaluator_;
};

class ModuleStateEvaluator final : public StateEvaluator {
  public:
    ModuleStateEvaluator(const formats::RunFile& run, const formats::ModuleSpec& model,
                         const EvaluatorOptions& options)
        : file_(inputs::open_module(options.module, model)),
          evaluator_(
              run, file_.bytes, open_held_out(run, options.folders.held_out), options.samples,
              training::micro_batch_for(
                  run, {.threads = options.threads, .memory_bytes = platform::physical_memory()},
                  options.micro_batch)) {}

    std::optional<training::Evaluation> evaluate(const LoadedState& state,
                                                 const IsInterrupted& is_interrupted) override {
        return evaluator_.evaluate(state.parameters, is_interrupted);
    }

  private:
    static std::unique_ptr<const training::module::SampleSource> open_held_out(
        const formats::RunFile& run, const std::filesystem::path& folder) {
        if (formats::holds_text(run)) {
            return training::module::open_samples(run, inputs::open_held_out_shards(folder, run));
        }
        return training::module::open_samples(run,
                                              inputs::open_held_out_tensor_shards(folder, run));
    }

    const inputs::ModuleFile file_;
    training::module::ModuleEvaluator evaluator_;
};

std::vector<huggingface::ChannelStatistics> channels_of(
    const std::vector<swav::NormStatistics>& norms) {
    std::vector<huggingface::ChannelStatistics> all;
    for (const swav::NormStatistics& norm : norms) {
        huggingface::ChannelStatistics& channels = all.emplace_back();
        for (const double x : norm.mean) channels.mean.push_back(static_cast<float>(x));
        for (const double x : norm.variance) channels.variance.push_back(static_cast<float>(x));
    }
    return all;
}

class PictureEvaluator final : public StateEvaluator {
  public:
    PictureEvaluator(const formats::RunFile& run, const formats::SwavSpec& task,
                     const EvaluatorOptions& options)
        : run_(run),
          task_(task),
          id_(formats::run_id(run)),
          norms_(options.norms),
          evaluator_(run, open_training_pictures(options.folders, run, opened(options.samples)),
                     open_held_out_pictures(options.folders, run), {.samples = options.samples}) {}

    std::optional<training::Evaluation> evaluate(const LoadedState& state,
                                                 const IsInterrupted& is_interrupted) override {
        if (!run_.initial_state) {
            const FloatVector first = state::initial_parameters(run_);
            const AlignedFloats aligned{first.begin(), first.end()};
            if (!evaluator_.measure_untrained(aligned, is_interrupted)) return std::nullopt;
        }
        auto measured = evaluator_.evaluate(state.parameters, is_interrupted);
        if (!measured) return std::nullopt;
        write_norms(state, measured->norms);
        return std::move(measured->figures);
    }

  private:
    static std::uint64_t opened(std::uint64_t samples) {
        const swav::SwavEvaluationOptions usual{.samples = samples};
        return std::max(usual.norm_pictures, kOpenedForEach * usual.learnt);
    }
    void write_norms(const LoadedState& state, const swav::NormMeasurement& measured) const {
        if (norms_.empty() || measured.norms.empty() || !state.step || !state.digest) return;
        huggingface::write_norm_file(norms_ / huggingface::norm_file_name(*state.digest), task_,
                                     {.run = id_,
                                      .step = *state.step,
                                      .state = *state.digest,
                                      .pictures = measured.pictures,
                                      .batch = measured.batch,
                                      .list = measured.list,
                                      .norms = channels_of(measured.norms)});
    }

    const formats::RunFile& run_;
    const formats::SwavSpec& task_;
    const RunId id_;
    const std::filesystem::path norms_;
    swav::SwavEvaluator evaluator_;
};

}  // namespace

std::unique_ptr<StateEvaluator> open_evaluator(const formats::RunFile& run,
                                               const EvaluatorOptions& options) {
    if (const auto* const task = std::get_if<formats::SwavSpec>(&run.model)) {
        return std::make_unique<PictureEvaluator>(run, *task, options);
    }
    if (const auto* const module = std::get_if<formats::ModuleSpec>(&run.model)) {
        return std::make_unique<ModuleStateEvaluator>(run, *module, options);
    }
    return std::make_unique<TextEvaluator>(run, options);
}

}  // namespace dedloc::evaluate
