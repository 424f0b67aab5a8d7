// README.md of an exported model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/figures.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::huggingface {

/// What a run's ledger says of a state that it proves.
struct LedgerFacts {
    Samples samples;                 ///< samples of all updates that the state has seen
    std::uint64_t contributors = 0;  ///< peers with at least one of these samples
    Digest record;                   ///< digest of the record that leads to it
    bool operator==(const LedgerFacts&) const = default;
};

/// Where an exported state comes from.
struct Provenance {
    StepIndex step;                      ///< updates that the state has seen
    Digest state;                        ///< digest of the state
    std::optional<LedgerFacts> proof{};  ///< absent: no ledger proves the state
    bool operator==(const Provenance&) const = default;
};

/// The project's own measurement of the state on held-out data.
struct Measurement {
    double loss = 0;                                 ///< mean over samples
    double loss_error = 0;                           ///< its standard error
    std::vector<formats::MeasuredFigure> figures{};  ///< those of the run's task
    std::uint64_t samples = 0;                       ///< number of samples
    bool operator==(const Measurement&) const = default;
};

/// The text: what the model is, how it was trained, how good it is if that was measured, how to
/// load it and how to verify it.
std::string write_model_card(const formats::RunFile& run, const Provenance& provenance,
                             const std::optional<Measurement>& measured);

}  // namespace dedloc::huggingface
