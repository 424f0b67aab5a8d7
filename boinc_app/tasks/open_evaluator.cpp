#include "boinc_app/tasks/open_evaluator.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>
#include <vector>

#include "boinc_app/albert/evaluator.hpp"
#include "boinc_app/inputs/module_file.hpp"
#include "boinc_app/inputs/shard_files.hpp"
#include "boinc_app/module/module_evaluator.hpp"
#include "boinc_app/tasks/module_shards.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/task.hpp"

namespace dedloc::tasks {
namespace {

using training::IsInterrupted;

/// ALBERT with its shards.
class TextEvaluator final : public training::HeldOutEvaluator {
  public:
    TextEvaluator(const formats::RunFile& run, const EvaluatorOptions& options)
        : shards_(inputs::open_held_out_shards(options.held_out, run)),
          evaluator_(run, shards_, options.samples, static_cast<std::size_t>(options.micro_batch)) {
    }

    std::optional<training::Evaluation> evaluate(std::span<const float> parameters,
                                                 const IsInterrupted& is_interrupted) override {
        return evaluator_.evaluate(parameters, is_interrupted);
    }

  private:
    const std::vector<formats::Shard> shards_;
    const training::albert::Evaluator evaluator_;
};

/// A module with its file.
class ModuleFileEvaluator final : public training::HeldOutEvaluator {
  public:
    ModuleFileEvaluator(const formats::RunFile& run, const formats::ModuleSpec& model,
                        const EvaluatorOptions& options)
        : file_(inputs::open_module(options.module, model)),
          evaluator_(
              run, file_.bytes,
              training::module::open_samples(run, held_out_module_shards(options.held_out, run)),
              options.samples, options.micro_batch) {}

    std::optional<training::Evaluation> evaluate(std::span<const float> parameters,
                                                 const IsInterrupted& is_interrupted) override {
        return evaluator_.evaluate(parameters, is_interrupted);
    }

  private:
    const inputs::ModuleFile file_;
    training::module::ModuleEvaluator evaluator_;
};

}  // namespace

std::unique_ptr<training::HeldOutEvaluator> open_evaluator(const formats::RunFile& run,
                                                           const EvaluatorOptions& options) {
    if (const auto* const model = std::get_if<formats::ModuleSpec>(&run.model)) {
        if (options.module.empty()) {
            throw InputError{fmt::format("run {} trains the module {}: --module names its file",
                                         run.name, model->name)};
        }
        return std::make_unique<ModuleFileEvaluator>(run, *model, options);
    }
    if (!formats::holds_text(run)) {
        throw InputError{
            fmt::format("run {} trains on pictures, which dedloc-evaluate measures", run.name)};
    }
    return std::make_unique<TextEvaluator>(run, options);
}

}  // namespace dedloc::tasks
