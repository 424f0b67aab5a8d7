// Values that messages, records and events share.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc {

/// Where a peer listens. `host` is a numeric IPv4 or IPv6 address.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
    auto operator<=>(const Endpoint&) const = default;
    std::string text() const {
        const bool is_v6 = host.find(':') != std::string::npos;
        return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    }
};

enum class Role : std::uint8_t { kTrainer, kAggregator, kBackbone };

/// How the numbers of a run's rounds travel, contributions and averages. In the order of
/// wire::Elements.
enum class Codec : std::uint8_t {
    kFp32,  ///< as they are
    kFp16,  ///< rounded to binary16 beside a power of two
};
/// As run files and command lines say it.
inline constexpr std::array<const char*, 2> kCodecNames{"fp32", "fp16"};
inline const char* name_of(Codec codec) {
    return kCodecNames[static_cast<std::size_t>(codec)];
}
inline std::optional<Codec> codec_named(std::string_view name) {
    for (std::size_t i = 0; i < kCodecNames.size(); ++i) {
        if (name == kCodecNames[i]) return static_cast<Codec>(i);
    }
    return std::nullopt;
}

/// The numbers of one optimizer step that depend on more than the gradient. The coordinator
/// computes them once and sends their bits, so that no peer's libm has a say in the result: pow and
/// exp differ between libms. Each field holds the bits of a binary32 number (std::bit_cast<float>).
struct UpdateScalars {
    std::uint32_t learning_rate = 0;
    std::uint32_t bias_correction = 0;  ///< √(1 − β₂ᵗ) / (1 − β₁ᵗ), LAMB variant A
    bool operator==(const UpdateScalars&) const = default;
};

/// The right to coordinate. Ordered by number, then by key, so two candidates never share one.
struct Term {
    std::uint64_t number = 0;
    PeerKey coordinator;
    auto operator<=>(const Term&) const = default;
};

/// A line of a commit: what one member brought into the round.
struct CommitLine {
    PeerKey peer;
    Samples samples;
    double loss_sum = 0;
    bool stays = true;  ///< was there to the end: belongs to the view that decides the next round
    bool operator==(const CommitLine&) const = default;
};

/// The record that ends the round on state `step`: from now on state `step + 1` exists. The same
/// record whoever proposed it, in whichever term.
struct CommitRecord {
    std::uint64_t generation = 0;
    StepIndex step;
    Digest previous_record;           ///< of the record before, or of the generation it begins
    Digest previous_state;            ///< of the state that all members started from
    std::vector<CommitLine> members;  ///< in member order, ascending by key: the order of every sum
    Digest average;                   ///< tree root of the averaged gradient (kernels/digest.hpp)
    UpdateScalars scalars;
    bool operator==(const CommitRecord&) const = default;
};

/// Of a member; null: it is none. Cost: the logarithm of the members.
const CommitLine* line_of(const CommitRecord& record, const PeerKey& peer);
/// The members that decide about the next round: of those that stay the kMaxVoters with the lowest
/// keys. Ascending.
std::vector<PeerKey> view_after(const CommitRecord& record);
/// Over every field, in the order of the struct, little-endian, after a text of its own.
Digest digest_of(const CommitRecord& record);

/// One voter's countersignature of a record in a term.
struct Vote {
    PeerKey voter;
    Signature signature{};
    bool operator==(const Vote&) const = default;
};
/// What a vote signs.
std::array<std::byte, 32> vote_bytes(const RunId& run, const Term& term, const Digest& record);

/// Proof that a record is decided: votes of a quorum of the view before it, all in one term.
struct Certificate {
    Term term;
    std::vector<Vote> votes;  ///< ascending by key
    bool operator==(const Certificate&) const = default;
};

/// A decided round: a line of a ledger.
struct Decision {
    CommitRecord record;
    Certificate certificate;
    bool operator==(const Decision&) const = default;
};

/// Begins a history anew at a state that the project names. Signed by the project's key; of two
/// generations the higher one holds. Generation 0 is not written down: step 0, view {backbone}.
struct GenerationRecord {
    std::uint64_t generation = 0;
    StepIndex step;
    Digest state;
    PeerKey backbone;  ///< the whole view of the first round
    bool operator==(const GenerationRecord&) const = default;
};
Digest digest_of(const RunId& run, const GenerationRecord& record);
struct SignedGeneration {
    GenerationRecord record;
    Signature signature{};  ///< of digest_of(run, record) by the project
    bool operator==(const SignedGeneration&) const = default;
};

/// Where a history stands: what has been decided last.
struct Head {
    std::uint64_t generation = 0;
    StepIndex step;             ///< the next round's: updates that the last commit leads to
    Digest record;              ///< of the last commit, or of the generation
    std::vector<PeerKey> view;  ///< who decides about the next round, at most kMaxVoters
    bool operator==(const Head&) const = default;
};
/// Before anything was decided: step 0, view {backbone}.
Head genesis(const RunId& run, const PeerKey& backbone);

/// What a voter must not forget while it may vote.
struct VoterState {
    std::uint64_t generation = 0;
    StepIndex step;
    bool may_vote = false;
    Term promised;     ///< nothing lower will be accepted
    Term accepted_in;  ///< meaningless without `accepted`
    std::optional<CommitRecord> accepted;
    bool operator==(const VoterState&) const = default;
};

}  // namespace dedloc
