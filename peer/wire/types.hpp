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

/// A term of leadership. Ordered by number, then by key, so two candidates never share one.
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
    bool operator==(const CommitLine&) const = default;
};

/// The record that ends the round on state `step`: from now on state `step + 1` exists. It does not
/// depend on the coordinator or the term that proposed it.
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

/// The line of a member; null if `peer` is no member. Cost: O(log members).
const CommitLine* line_of(const CommitRecord& record, const PeerKey& peer);
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

/// Proof that a record is decided: votes of a majority of the generation's voters, all in one term.
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

/// The project's appointment of voters, and the state that they go on from. Signed by the project's
/// key; of two generations the higher one holds. Generation 0 is not written down: it begins with
/// the first state, and its only voter is the backbone that the run file names.
struct GenerationRecord {
    std::uint64_t generation = 0;
    StepIndex step;
    Digest state;
    std::vector<PeerKey> voters;  ///< ascending, 1 to kMaxVoters
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
    StepIndex step;               ///< of the next round: updates that the last commit leads to
    Digest record;                ///< of the last commit, or of the generation
    std::vector<PeerKey> voters;  ///< that decide the rounds of this generation, ascending
    bool operator==(const Head&) const = default;
};
/// Before anything was decided: step 0, the backbone votes.
Head genesis(const RunId& run, const PeerKey& backbone);

/// Proof of a state, and so of a head: a majority of the generation's voters hold this state, which
/// the record with digest `record` leads to.
struct StateCertificate {
    std::uint64_t generation = 0;
    StepIndex step;
    Digest record;  ///< Head::record
    Digest state;
    std::vector<Vote> votes;  ///< ascending by key, of state_vote_bytes
    bool operator==(const StateCertificate&) const = default;
};
/// What a voter signs when it holds the state that its head leads to. Reads all fields but `votes`.
std::array<std::byte, 32> state_vote_bytes(const RunId& run, const StateCertificate& state);

/// What a voter must not forget.
struct VoterState {
    std::uint64_t generation = 0;
    StepIndex step;
    bool may_vote = false;  ///< appointed in this generation, and remembers its votes
    Term promised;          ///< records of lower terms are not accepted
    Term accepted_in;       ///< meaningless without `accepted`
    std::optional<CommitRecord> accepted;
    std::optional<Digest> state;  ///< the one before this step that it has signed
    bool operator==(const VoterState&) const = default;
};

}  // namespace dedloc
