// The held-out loss of a module, which says nothing else of its samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "boinc_app/module/samples.hpp"
#include "boinc_app/module/script_module.hpp"
#include "boinc_app/training/evaluation.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training::module {

/// Evaluates states of one run. Thread: one, whose number of compute threads it uses.
class ModuleEvaluator {
  public:
    /// Loads the module once. `run` and `file` must outlive it. Requires samples ≥ 1,
    /// micro_batch ≥ 1 (aborts). Errors: InputError, as ScriptTask.
    ModuleEvaluator(const formats::RunFile& run, std::span<const std::byte> file,
                    std::unique_ptr<const SampleSource> held_out, std::uint64_t samples,
                    std::uint64_t micro_batch);

    /// The mean loss of the samples of evaluation_random(); nothing when `is_interrupted` returns
    /// true, which is called before every operator.
    ///
    /// Requires  N parameters at a multiple of 64 bytes (aborts)
    /// Errors    InputError, as ScriptModule::losses
    std::optional<Evaluation> evaluate(std::span<const float> parameters,
                                       const IsInterrupted& is_interrupted);

  private:
    const formats::RunFile& run_;
    const std::unique_ptr<const SampleSource> held_out_;
    const std::uint64_t samples_;
    const std::uint64_t micro_batch_;
    ScriptModule module_;
};

}  // namespace dedloc::training::module
