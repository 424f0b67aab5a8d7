// A module that a researcher brings, as the task of a run.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "boinc_app/module/bounds.hpp"
#include "boinc_app/module/samples.hpp"
#include "boinc_app/module/script_module.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training::module {

/// The bounds of a run's passes. What its author says of a sample's memory counts twice; a pass may
/// have two gradients and 256 MB besides. Requires a run of a module (aborts).
Bounds bounds_of(const formats::RunFile& run);

/// Errors: InputError: the parameters of a module are not the run's tensors.
void check_tensors(const formats::RunFile& run, std::span<const Parameter> parameters);

/// Errors: InputError: forward takes another number of tensors than the samples have.
void check_inputs(const SampleSource& samples, const ScriptModule& loaded);

/// Trains a TorchScript module. Its parameters must be the tensors of the run file.
class ScriptTask final : public Task {
  public:
    /// `file` is the module's. It and `run` must outlive the task. Loads the module once.
    ///
    /// Errors  InputError, as ScriptModule; the module's parameters are not the run's tensors, or
    ///         forward takes another number of tensors than the samples have
    ScriptTask(const formats::RunFile& run, std::span<const std::byte> file,
               std::unique_ptr<const SampleSource> samples, const Bounds& bounds);

    /// As Task says, on processors. Every model loads the module anew.
    std::unique_ptr<Model> make_model(std::span<const float> parameters,
                                      const Computation& computation) const override;

  private:
    const formats::RunFile& run_;
    const std::span<const std::byte> file_;
    const std::unique_ptr<const SampleSource> samples_;
    const Bounds bounds_;
};

}  // namespace dedloc::training::module
