// README.md of an exported model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
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

/// The text: what the model is, how it was trained, how to load it and how to verify it.
std::string write_model_card(const formats::RunFile& run, const Provenance& provenance);

}  // namespace dedloc::huggingface
