// README.md of an exported model.
#pragma once

#include <cstdint>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::huggingface {

/// Where an exported state comes from.
struct Provenance {
    StepIndex step;                  ///< updates that the state has seen
    Samples samples;                 ///< samples of all these updates
    std::uint64_t contributors = 0;  ///< peers with at least one of these samples
    Digest state;                    ///< digest of the state
    Digest record;                   ///< digest of the ledger's record that leads to it
    bool operator==(const Provenance&) const = default;
};

/// The text: what the model is, how it was trained, how to load it and how to verify it.
std::string write_model_card(const formats::RunFile& run, const Provenance& provenance);

}  // namespace dedloc::huggingface
