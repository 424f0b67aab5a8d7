// describe_module() fills the run file in the order in which its parts need one another: the shards
// and their kind, then the module with what its parameters and one sample cost. The run file goes
// through its own parser before it is written.
#include "boinc_app/module_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "boinc_app/inputs/module_file.hpp"
#include "boinc_app/module/script_module.hpp"
#include "boinc_app/module/script_task.hpp"
#include "boinc_app/tasks/module_shards.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/checkpoint_head.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/mapped_file.hpp"

namespace dedloc {
namespace {

using training::module::InputTensor;
using training::module::PassCost;
using training::module::SampleSource;
using training::module::ScriptModule;

/// Adds the shards to the run file, and what the first one says of the samples to its model.
void describe_shards(const DescribeOptions& options, formats::RunFile& run,
                     formats::ModuleSpec& model) {
    for (const auto& path : options.shards) {
        const auto file = std::make_shared<const platform::MappedFile>(path);
        run.shards.push_back({.name = path.filename().string(),
                              .digest = blake2b(file->bytes()),
                              .bytes = file->bytes().size()});
        if (run.shards.size() > 1) continue;
        if (const auto tensors = formats::decode_tensor_shard(file->bytes(), file)) {
            model.inputs = tensors->specs;
            continue;
        }
        if (formats::decode_picture_shard(file->bytes(), file)) {
            model.picture_side = options.picture_side;
            model.inputs = formats::picture_inputs(model.picture_side);
            continue;
        }
        const auto text = formats::decode_shard(file->bytes(), file);
        if (!text) {
            throw InputError{fmt::format("{} is no shard of text, pictures or tensors: as text {}",
                                         path.string(), formats::describe(text.reason()))};
        }
        model.vocabulary = text->vocabulary;
        run.sequence_length = options.sequence_length;
    }
}

/// How a tensor begins that had these values before training.
formats::TensorSpec described(const training::module::Parameter& parameter,
                              std::span<const float> values) {
    formats::TensorSpec tensor{.name = parameter.name,
                               .shape = parameter.shape,
                               .initial = formats::Initial::kNormal,
                               .deviation = 0,
                               .decays = parameter.shape.size() >= 2};
    double squares = 0;
    for (const float value : values) squares += double{value} * double{value};
    const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
    if (!std::isfinite(deviation)) {
        throw InputError{
            fmt::format("the module's parameter '{}' has values that are not finite", tensor.name)};
    }
    if (deviation == 0) {
        tensor.initial = formats::Initial::kZero;
    } else if (std::ranges::count(values, 1.0f) == std::ssize(values)) {
        tensor.initial = formats::Initial::kOne;
    } else {
        // As many digits as anyone reads.
        tensor.deviation = std::strtod(fmt::format("{:.4g}", deviation).c_str(), nullptr);
    }
    return tensor;
}

void describe_tensors(const ScriptModule& loaded, formats::RunFile& run) {
    for (const auto& parameter : loaded.parameters()) {
        run.tensors.push_back({.name = parameter.name,
                               .shape = parameter.shape,
                               .initial = formats::Initial::kZero,
                               .deviation = 0,
                               .decays = false});
    }
    const auto offsets = formats::tensor_offsets(run);
    std::vector<float> values(static_cast<std::size_t>(formats::element_count(run)));
    loaded.copy_parameters(offsets, values);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        run.tensors[i] = described(loaded.parameters()[i],
                                   std::span<const float>{values}.subspan(
                                       static_cast<std::size_t>(offsets[i]),
                                       static_cast<std::size_t>(run.tensors[i].count())));
    }
}

/// Throws InputError if a sample's loss is another one beside a second sample: peers choose how
/// many they compute at once.
void require_independent_losses(const formats::RunFile& run, const SampleSource& samples,
                                ScriptModule& loaded) {
    const Random random{run.seed};
    const auto losses_of = [&](std::uint64_t first, std::uint64_t count) {
        return loaded.losses(samples.draw(random, first, count), {}).value();
    };
    const std::vector<float> together = losses_of(0, 2);
    for (std::uint64_t i = 0; i < 2; ++i) {
        const float alone = losses_of(i, 1)[0];
        const float beside = together[static_cast<std::size_t>(i)];
        constexpr float kRounding = 1e-3f;
        if (!(std::abs(alone - beside) > kRounding * (1 + std::abs(alone)))) continue;
        throw InputError{
            fmt::format("the module's loss of a sample depends on the others that are computed "
                        "with it: {} alone, {} beside another",
                        alone, beside)};
    }
}

/// The cost of one sample, with the module's own parameters.
PassCost cost_of_sample(const formats::RunFile& run, const DescribeOptions& options,
                        ScriptModule& loaded) {
    const auto samples =
        training::module::open_samples(run, tasks::module_shards(options.shards, run));
    training::module::check_inputs(*samples, loaded);
    const auto offsets = formats::tensor_offsets(run);
    AlignedFloats parameters(static_cast<std::size_t>(formats::element_count(run)));
    loaded.copy_parameters(offsets, parameters);
    loaded.bind(offsets, parameters);
    const PassCost cost = loaded.measure(samples->draw(Random{run.seed}, 0, 1));
    require_independent_losses(run, *samples, loaded);
    return cost;
}

}  // namespace

void describe_module(const DescribeOptions& options) {
    formats::RunFile run;
    run.name = options.name;
    run.target_batch = options.target_batch;
    run.steps = options.steps;
    run.optimizer.learning_rate = options.learning_rate;
    run.optimizer.warmup_steps = options.steps / 20;
    const platform::MappedFile file{options.module};
    if (file.bytes().size() > formats::kMaxModuleBytes) {
        throw InputError{fmt::format("the module has {} bytes; {} are allowed", file.bytes().size(),
                                     formats::kMaxModuleBytes)};
    }
    formats::ModuleSpec model{.name = options.module.filename().string(),
                              .digest = blake2b(file.bytes()),
                              .bytes = file.bytes().size(),
                              .vocabulary = 0,
                              .inputs = {}};
    describe_shards(options, run, model);
    run.model = model;
    ScriptModule loaded{file.bytes(), {}};
    describe_tensors(loaded, run);
    const PassCost cost = cost_of_sample(run, options, loaded);
    model.flops = std::max(1.0, cost.operations);
    model.sample_bytes = std::max<std::uint64_t>(1, cost.bytes);
    run.model = model;
    run.flops_per_sample = formats::flops_per_sample(run);
    platform::replace_file(options.out, bytes_of(formats::write_run_file(run)));
    fmt::print("{}: {} parameters in {} tensors; a sample takes {:.3g} FLOPs and {:.1f} MB\n",
               options.out.string(), formats::parameter_count(run), run.tensors.size(), model.flops,
               static_cast<double>(model.sample_bytes) / 1e6);
}

void export_module(const formats::RunFile& run, const ExportOptions& options) {
    const auto* const model = std::get_if<formats::ModuleSpec>(&run.model);
    if (model == nullptr) {
        throw InputError{
            fmt::format("run {} trains no module: dedloc run export writes its model", run.name)};
    }
    const platform::MappedFile checkpoint{options.checkpoint};
    const auto bytes = checkpoint.bytes();
    const auto head = formats::decode_checkpoint_head(
        bytes.first(std::min(bytes.size(), formats::kCheckpointHeadBytes)), formats::run_id(run),
        options.checkpoint.string());
    const bool is_whole = head.elements == formats::element_count(run) &&
                          bytes.size() == formats::kCheckpointHeadBytes + head.state_bytes();
    if (!is_whole) {
        throw InputError{fmt::format("{} is not a whole state of run {}",
                                     options.checkpoint.string(), run.name)};
    }
    const inputs::ModuleFile file = inputs::open_module(options.module, *model);
    ScriptModule loaded{file.bytes, {}};
    training::module::check_tensors(run, loaded.parameters());
    AlignedFloats parameters(static_cast<std::size_t>(head.elements));
    std::memcpy(parameters.data(), bytes.data() + formats::kCheckpointHeadBytes,
                parameters.size() * sizeof(float));
    loaded.bind(formats::tensor_offsets(run), parameters);
    loaded.save(options.out);
    fmt::print("{}: module {} with the parameters of step {}\n", options.out.string(), model->name,
               head.step.value());
}

}  // namespace dedloc
