// The mixture of a run's sources over its steps, and the sources that were added to them, as the
// project changes both while the run goes on. One signed document has all changes, so a peer that
// holds the newest one knows the mixture of every step: a peer that was away for any time needs
// nothing else. core/mixtures.md says how it takes effect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc {

/// From this step on samples are drawn with these weights, until the next change.
struct MixtureChange {
    StepIndex from;  ///< at least 1: step 0 has the run file's weights
    /// One for each source that the run had when the change was signed; those that were added later
    /// have 0. Their sum is above 0.
    std::vector<std::uint64_t> weights;
    bool operator==(const MixtureChange&) const = default;
};
/// The name of a change, which records of rounds have.
Digest digest_of(const MixtureChange& change);

/// The project's list of all changes, with its signature. A higher version replaces a lower one.
struct SignedMixture {
    std::uint64_t version = 0;           ///< at least 1
    std::vector<MixtureChange> changes;  ///< ascending by step; none has fewer weights than before
    Signature signature{};               ///< the project's, over mixture_digest()
    /// Sources that the run file lacks, in the order in which they were added: the digest of each
    /// one's file (formats::AddedSource). All differ. Later versions only append.
    std::vector<Digest> added{};
    bool operator==(const SignedMixture&) const = default;
};
/// Shared by the parts of a process that draw samples. Null: no change yet.
using SharedMixture = std::shared_ptr<const SignedMixture>;

/// The change in force at a step; null: the run file's weights are. Cost: O(log changes).
const MixtureChange* change_at(const SignedMixture* mixture, StepIndex step);
/// The name of the mixture in force at a step, as a record of that step has it; nothing: the run
/// file's weights.
std::optional<Digest> mixture_at(const SignedMixture* mixture, StepIndex step);

/// What the project signs.
Digest mixture_digest(const RunId& run, const SignedMixture& mixture);
/// Signs a list with the project's key. Requires that it is within its bounds (DEDLOC_CHECK).
SignedMixture sign_mixture(const RunId& run, std::uint64_t version,
                           std::vector<MixtureChange> changes, const KeyPair& project,
                           std::vector<Digest> added = {});
/// Whether the project has signed this for this run. Cost: one signature check (0.06 ms).
bool is_signed(const RunId& run, const PeerKey& project, const SignedMixture& mixture);

/// Whether a run file with this many sources can have the list: each change has a weight for every
/// one of them, and for no more sources than these and the added ones; all together are at most
/// kMaxSources. Sources can be added only to a run that has some.
bool fits_sources(const SignedMixture& mixture, std::size_t sources);

/// The list as bytes, for messages and files: at most wire::kMaxMixtureBytes.
Buffer encode_mixture(const SignedMixture& mixture);
/// Reads any bytes: nothing unless they are exactly one list within its bounds. Allocates no more
/// than the bytes account for. The signature is not checked.
std::optional<SignedMixture> decode_mixture(std::span<const std::byte> bytes);

}  // namespace dedloc
