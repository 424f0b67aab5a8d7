// Which peer contributed how many samples to which step, as a text: what a ledger says, for a
// process that trains on the same samples (`dedloc_train local --contributions`).
//
// File: a line for each contribution, "STEP PEER SAMPLES" with the key in hex digits, ascending by
// step; empty lines and those that begin with # say nothing. In a run whose mixture of sources was
// changed "WEIGHT,WEIGHT…" follows, for the sources that the member's job had.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::formats {

/// The samples 0 … samples − 1 of a peer in a step.
struct CountedSamples {
    StepIndex step;   ///< the state that they were computed on
    PeerKey peer;     ///< whose samples they are
    Samples samples;  ///< at least 1
    /// The mixture that they were drawn by, one for each source that the job had; empty: the run
    /// file's.
    std::vector<std::uint64_t> weights{};
    bool operator==(const CountedSamples&) const = default;
};

/// A line of the file, with its end.
std::string contribution_line(const CountedSamples& counted);

/// Reads the whole text. `name` names the file in errors.
/// Errors   InputError, "line L of NAME …" in one sentence: no contribution, a number out of its
///          range, a step below that of the line before, a peer twice in a step
/// Cost     at most 72 bytes of memory for 68 of text, and 8 for each weight
std::vector<CountedSamples> parse_contributions(std::string_view text, const std::string& name);

}  // namespace dedloc::formats
