// Most tasks need no more than held-out samples. SwAV's evaluator measures more than its figures:
// the untrained network once, whose first values follow from the run file, and batch norms'
// statistics, which become a file beside the run's checkpoints before the figures are returned.
#include "project_server/evaluate/state_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "boinc_app/swav/swav_evaluator.hpp"
#include "boinc_app/tasks/open_evaluator.hpp"
#include "boinc_app/training/footprint.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/figures.hpp"
#include "peer/platform/memory.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/huggingface/norm_file.hpp"

namespace dedloc::evaluate {
namespace {

/// Pictures of the shards that are opened, for each that classifiers learn from: classes differ in
/// frequency.
constexpr std::uint64_t kOpenedForEach = 4;

/// A task that needs no more than held-out samples. In a run with sources the loss of each that has
/// held-out data is a figure, measured on a part of as many samples of its own.
class SampleEvaluator final : public StateEvaluator {
  public:
    SampleEvaluator(const formats::RunFile& run, const EvaluatorOptions& options)
        : evaluator_(open(run, options, options.samples)) {
        for (std::uint32_t i = 0; i < run.sources.size(); ++i) add_source(run, i, options);
    }

    std::optional<training::Evaluation> evaluate(const LoadedState& state,
                                                 const IsInterrupted& is_interrupted) override {
        auto measured = evaluator_->evaluate(state.parameters, is_interrupted);
        for (const Source& source : sources_) {
            if (!measured) break;
            const auto of_source = source.evaluator->evaluate(state.parameters, is_interrupted);
            if (!of_source) return std::nullopt;
            measured->figures.push_back({.name = source.name, .estimate = of_source->loss});
        }
        return measured;
    }

  private:
    /// A source with held-out data.
    struct Source {
        std::string name;                             ///< its figure's
        std::unique_ptr<const formats::RunFile> run;  ///< outlives the evaluator
        std::unique_ptr<training::HeldOutEvaluator> evaluator;
    };

    /// A source without held-out data that the task can use has no figure.
    void add_source(const formats::RunFile& run, std::uint32_t source,
                    const EvaluatorOptions& options) {
        auto alone = std::make_unique<formats::RunFile>(run);
        alone->sources.clear();
        alone->added_sources = alone->added_shards = 0;
        std::erase_if(alone->shards, [&](const formats::ShardReference& shard) {
            return !shard.is_held_out || shard.source != source;
        });
        if (alone->shards.empty()) return;
        for (formats::ShardReference& shard : alone->shards) shard.source = 0;
        const std::uint64_t count = run.sources.size();
        try {
            auto evaluator = open(*alone, options, (options.samples + count - 1) / count);
            sources_.push_back({.name = formats::source_loss_name(run.sources[source].name),
                                .run = std::move(alone),
                                .evaluator = std::move(evaluator)});
        } catch (const InputError& error) {
            log_warning("the loss of source {} is not measured: {}", run.sources[source].name,
                        error.what());
        }
    }
    static std::unique_ptr<training::HeldOutEvaluator> open(const formats::RunFile& run,
                                                            const EvaluatorOptions& options,
                                                            std::uint64_t samples) {
        return tasks::open_evaluator(run, {.held_out = options.folders.held_out,
                                           .module = options.module,
                                           .samples = samples,
                                           .micro_batch = micro_batch(run, options)});
    }
    static std::uint64_t micro_batch(const formats::RunFile& run, const EvaluatorOptions& options) {
        return training::micro_batch_for(
            run, {.threads = options.threads, .memory_bytes = platform::physical_memory()},
            options.micro_batch);
    }

    const std::unique_ptr<training::HeldOutEvaluator> evaluator_;
    std::vector<Source> sources_;
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
    return std::make_unique<SampleEvaluator>(run, options);
}

}  // namespace dedloc::evaluate
