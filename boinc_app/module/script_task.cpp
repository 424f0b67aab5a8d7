#include "boinc_app/module/script_task.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"

namespace dedloc::training::module {
namespace {

std::string text_of(const std::string& name, const std::vector<std::uint64_t>& shape) {
    return fmt::format("'{}' [{}]", name, fmt::join(shape, ","));
}

/// A module and its samples, which must outlive it.
class ScriptModel final : public Model {
  public:
    ScriptModel(std::uint64_t seed, const SampleSource& samples,
                std::unique_ptr<ScriptModule> module)
        : seed_(seed), samples_(samples), module_(std::move(module)) {}

    std::optional<double> add_gradient(const SampleRange& samples, std::span<float> sum,
                                       const IsInterrupted& is_interrupted) override {
        const Random random = step_random(seed_, samples.peer, samples.step);
        const auto drawn = samples_.draw_unless(is_interrupted, random, samples.first,
                                                samples.count, samples.source_weights());
        if (!drawn) return std::nullopt;
        return module_->add_gradient(*drawn, sum, is_interrupted);
    }

  private:
    const std::uint64_t seed_;
    const SampleSource& samples_;
    const std::unique_ptr<ScriptModule> module_;
};

}  // namespace

void check_tensors(const formats::RunFile& run, std::span<const Parameter> parameters) {
    if (run.tensors.size() != parameters.size()) {
        throw InputError{fmt::format("the run file lists {} tensors, but the module has {}",
                                     run.tensors.size(), parameters.size())};
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const formats::TensorSpec& wanted = run.tensors[i];
        const Parameter& given = parameters[i];
        if (wanted.name == given.name && wanted.shape == given.shape) continue;
        throw InputError{fmt::format("tensor {} of the run file is {}, but the module has {} there",
                                     i, text_of(wanted.name, wanted.shape),
                                     text_of(given.name, given.shape))};
    }
}

void check_inputs(const SampleSource& samples, const ScriptModule& loaded) {
    const std::size_t given = samples.draw(Random{0}, 0, 1).size();
    if (given == loaded.input_count()) return;
    throw InputError{fmt::format("the module's forward takes {} tensors, but the samples have {}",
                                 loaded.input_count(), given)};
}

Bounds bounds_of(const formats::RunFile& run) {
    const auto* const model = std::get_if<formats::ModuleSpec>(&run.model);
    DEDLOC_CHECK(model != nullptr, "the run trains no module");
    constexpr std::uint64_t kBesides = 256'000'000;
    return {.bytes = kBesides + 2 * formats::element_count(run) * sizeof(float),
            .sample_bytes = 2 * model->sample_bytes};
}

ScriptTask::ScriptTask(const formats::RunFile& run, std::span<const std::byte> file,
                       std::unique_ptr<const SampleSource> samples, const Bounds& bounds)
    : run_(run), file_(file), samples_(std::move(samples)), bounds_(bounds) {
    const ScriptModule loaded{file_, bounds_};
    check_tensors(run_, loaded.parameters());
    check_inputs(*samples_, loaded);
}

std::unique_ptr<Model> ScriptTask::make_model(std::span<const float> parameters,
                                              const Computation& computation) const {
    DEDLOC_CHECK(!computation.cuda, "a module is trained on processors only");
    auto module = std::make_unique<ScriptModule>(file_, bounds_);
    module->bind(formats::tensor_offsets(run_), parameters);
    return std::make_unique<ScriptModel>(run_.seed, *samples_, std::move(module));
}

}  // namespace dedloc::training::module
