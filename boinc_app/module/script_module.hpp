// A TorchScript module that a researcher brings: loads it within bounds, refuses what it must not
// do, and computes losses and gradients with parameters that it reads in place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "boinc_app/module/bounds.hpp"
#include "boinc_app/module/samples.hpp"
#include "boinc_app/training/computation.hpp"

namespace dedloc::training::module {

/// A parameter of a module.
struct Parameter {
    std::string name;                  ///< path from the module, with dots
    std::vector<std::uint64_t> shape;  ///< extents; one of 1 for a number
    bool operator==(const Parameter&) const = default;
};

/// What a pass costs.
struct PassCost {
    double operations = 0;    ///< floating-point operations (operation_count.hpp)
    std::uint64_t bytes = 0;  ///< the most memory that its tensors took at the same time
};

/// A loaded module. Thread: one.
///
/// The file is untrusted as far as an author's mistakes go; README.md says what stands against
/// malice. Its graph is computed as it was written, without libtorch's optimisations, which
/// compile it anew after some passes, with other rounding. So the same inputs, parameters, machine
/// and number of threads give the same bits.
class ScriptModule {
  public:
    /// Loads and checks. Cost: that of reading the file, and of parsing its code.
    ///
    /// Errors  InputError with one sentence: not a TorchScript archive, damaged, larger than
    ///         formats::kMaxModuleBytes or the bounds; forward is absent or has other arguments; an
    ///         operator that is not allowed; a parameter that is not float32; state that forward
    ///         could change
    ScriptModule(std::span<const std::byte> file, const Bounds& bounds);
    ~ScriptModule();
    ScriptModule(const ScriptModule&) = delete;
    ScriptModule& operator=(const ScriptModule&) = delete;

    /// Its parameters in the module's order. Those that share their memory are one, with the first
    /// name.
    const std::vector<Parameter>& parameters() const;
    /// Number of the tensors that forward takes.
    std::size_t input_count() const;
    /// Copies the present values of the parameters to `vector`, each to its offset.
    /// Requires an offset for each, and a vector that is long enough (aborts).
    void copy_parameters(std::span<const std::uint64_t> offsets, std::span<float> vector) const;
    /// From now on the parameters are those of this memory, which must outlive the module or the
    /// next call; the module only reads it. Requires as copy_parameters().
    void bind(std::span<const std::uint64_t> offsets, std::span<const float> vector);

    /// Adds the sum of the samples' gradients to `sum`, at the offsets of bind(), and returns the
    /// sum of their losses. Returns nothing when `is_interrupted` returns true before an operator;
    /// `sum` is then as it was, as it is after an error.
    ///
    /// Requires  bind(); `sum` as its vector (aborts)
    /// Errors    DeviceError (kOutOfMemory): several samples need more memory than the bound;
    ///           InputError with one sentence: one sample does, or forward fails, runs too long,
    ///           writes to a buffer, or returns something other than M losses
    std::optional<double> add_gradient(std::span<const InputTensor> inputs, std::span<float> sum,
                                       const IsInterrupted& is_interrupted);
    /// The losses of the samples, without gradients; nothing when interrupted. Errors: as above.
    std::optional<std::vector<float>> losses(std::span<const InputTensor> inputs,
                                             const IsInterrupted& is_interrupted);

    /// The cost of add_gradient() for these samples. Requires bind(). Errors: as add_gradient().
    PassCost measure(std::span<const InputTensor> inputs);

    /// Writes the module with the present values of its parameters, as torch.jit.save does.
    /// Errors: IoError.
    void save(const std::filesystem::path& path) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace dedloc::training::module
