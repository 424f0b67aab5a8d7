// Values that messages, ledger records and events share: endpoints, codecs, terms, records,
// certificates, generations, and what a voter must remember.
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

/// An address that a peer listens on.
struct Endpoint {
    std::string host;        ///< numeric IPv4 or IPv6 address
    std::uint16_t port = 0;  ///< 0: the peer cannot be dialled
    auto operator<=>(const Endpoint&) const = default;
    /// "host:port", with brackets around an IPv6 address.
    std::string text() const {
        const bool is_v6 = host.find(':') != std::string::npos;
        return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    }
};

/// What a peer does in the swarm.
enum class Role : std::uint8_t {
    kTrainer,     ///< computes gradients, and takes part in averaging
    kAggregator,  ///< takes part in averaging only
    kBackbone     ///< holds the state, keeps the ledger, and votes if it is appointed
};

/// How a trainer takes part in the rounds, as the coordinator decides it (round/turns.md).
enum class TurnKind : std::uint8_t {
    kEveryRound,  ///< computes, and is called to every round
    kSomeRounds,  ///< computes, and is called to every k-th round with the samples of all of them
    kWhenDone,    ///< computes one micro-batch at a time, and is called once it holds one
    kReduceOnly,  ///< computes nothing, reduces in every round
    kRest,        ///< computes nothing and is not called
};

/// How the numbers of contributions and averages travel in a run. The order is that of
/// wire::Elements.
enum class Codec : std::uint8_t {
    kFp32,  ///< unchanged
    kFp16,  ///< rounded to binary16, with a common power of two as the scale
    kBf16,  ///< rounded to bfloat16
    kInt8,  ///< rounded to 8 bits, with a power of two for every 64 elements as the scale
};
/// Names of the codecs in run files and on command lines.
inline constexpr std::array<const char*, 4> kCodecNames{"fp32", "fp16", "bf16", "int8"};
/// The name of a codec.
inline const char* name_of(Codec codec) {
    return kCodecNames[static_cast<std::size_t>(codec)];
}
/// The codec with this name; nothing for any other text.
inline std::optional<Codec> codec_named(std::string_view name) {
    for (std::size_t i = 0; i < kCodecNames.size(); ++i) {
        if (name == kCodecNames[i]) return static_cast<Codec>(i);
    }
    return std::nullopt;
}

/// The scalars of one optimizer step. The coordinator computes them and sends their bits, so that
/// all peers use the same values: pow and cos differ between libms. Each field holds the bits of a
/// binary32 number (std::bit_cast<float>).
struct UpdateScalars {
    static constexpr std::uint32_t kOne = 0x3f800000;  ///< the bits of 1

    std::uint32_t learning_rate = 0;         ///< after warm-up and decay
    std::uint32_t first_correction = kOne;   ///< 1 − β₁ᵗ; 1 without moments that need it
    std::uint32_t second_correction = kOne;  ///< 1 − β₂ᵗ; 1 without moments that need it
    bool operator==(const UpdateScalars&) const = default;
};

/// A term of leadership. Terms are ordered by number, then by key, so two candidates never have the
/// same term.
struct Term {
    std::uint64_t number = 0;  ///< 0: no term yet
    PeerKey coordinator;       ///< the voter that may lead in this term
    auto operator<=>(const Term&) const = default;
};

/// A line of a record: what one member did in the round.
struct CommitLine {
    PeerKey peer;         ///< the member
    Samples samples;      ///< 0: the member took part without a contribution
    double loss_sum = 0;  ///< sum of the losses of its samples, in nats
    /// Elements of the vector whose average it computed, by the plan that the record is about. The
    /// lines of a record sum up to the length of the vector.
    std::uint64_t reduced = 0;
    /// Sources that its job has of those that the project has added in mid-run, counted from the
    /// first one on (SignedMixture::added), as it says itself.
    std::uint8_t added = 0;
    bool operator==(const CommitLine&) const = default;
};

/// The result of the round on state `step`; its commit creates state `step + 1`. The record does
/// not depend on the coordinator or the term that proposed it.
struct CommitRecord {
    std::uint64_t generation = 0;  ///< the voters that decide it
    StepIndex step;                ///< the state that the contributions were computed on
    /// Digest of the record before it, or of the generation if this is its first record.
    Digest previous_record;
    Digest previous_state;            ///< digest of state `step`
    std::vector<CommitLine> members;  ///< ascending by key, which is the order of every sum
    Digest average;                   ///< tree root of the averaged gradient (kernels/digest.hpp)
    UpdateScalars scalars;            ///< for the update to state `step + 1`
    /// The mixture of sources in force at `step` (digest_of(MixtureChange)). Nothing: the run
    /// file's weights; then neither digest nor bytes of the record have this field.
    std::optional<Digest> mixture{};
    bool operator==(const CommitRecord&) const = default;
};

/// Elements that all lines together have reduced, modulo 2⁶⁴. Cost: O(members).
std::uint64_t reduced_in(const CommitRecord& record);
/// Bytes of gradients that each member received from other members and averaged, in the order of
/// the lines: the elements that it reduced × the other members with samples, in the codec of the
/// run without overhead. A member does not send its own contribution to itself.
///
/// Requires  a record within its bounds (message_codec.hpp): then nothing overflows
/// Cost      O(members)
std::vector<std::uint64_t> reduced_bytes(const CommitRecord& record, Codec codec);
/// The line of a member; null if `peer` is not a member. Cost: O(log members).
const CommitLine* line_of(const CommitRecord& record, const PeerKey& peer);
/// Digest of every field in the order of the struct, little-endian, after a preamble that no other
/// digest has.
Digest digest_of(const CommitRecord& record);

/// One voter's signature of vote_bytes() or of state_vote_bytes().
struct Vote {
    PeerKey voter;          ///< the voter's key
    Signature signature{};  ///< made with that key
    bool operator==(const Vote&) const = default;
};
/// What a voter signs to accept the record with this digest in a term.
std::array<std::byte, 32> vote_bytes(const RunId& run, const Term& term, const Digest& record);

/// Proof that a record is decided: votes of a majority of the generation's voters in one term.
struct Certificate {
    Term term;                ///< the term of all these votes
    std::vector<Vote> votes;  ///< ascending by key, over vote_bytes()
    bool operator==(const Certificate&) const = default;
};

/// A decided round, and one entry of a ledger.
struct Decision {
    CommitRecord record;      ///< the result of the round
    Certificate certificate;  ///< proves `record`
    bool operator==(const Decision&) const = default;
};

/// The project's appointment of voters, and the state from which they continue. A higher generation
/// replaces a lower one. Generation 0 has no record: it begins with the initial state, and its only
/// voter is the backbone that the run file names.
struct GenerationRecord {
    std::uint64_t generation = 0;  ///< at least 1
    StepIndex step;                ///< the first step that these voters decide
    Digest state;                  ///< the state at that step
    std::vector<PeerKey> voters;   ///< ascending, 1 to kMaxVoters
    bool operator==(const GenerationRecord&) const = default;
};
/// What the project signs: every field in the order of the struct, after the run and a preamble of
/// its own.
Digest digest_of(const RunId& run, const GenerationRecord& record);
/// A generation that peers accept if the signature is good.
struct SignedGeneration {
    GenerationRecord record;  ///< the voters and their first state
    Signature signature{};    ///< the project's, over digest_of(run, record)
    bool operator==(const SignedGeneration&) const = default;
};

/// How often the project has paused and resumed a run, with its signature: odd while the run is
/// paused. A higher count replaces a lower one.
struct SignedPause {
    std::uint64_t count = 0;  ///< at least 1
    Signature signature{};    ///< the project's, over pause_bytes(run, count)
    bool operator==(const SignedPause&) const = default;
};
/// What the project signs.
std::array<std::byte, 32> pause_bytes(const RunId& run, std::uint64_t count);
/// Signs a count, which must be at least 1, with the project's key.
SignedPause sign_pause(const RunId& run, std::uint64_t count, const KeyPair& project);
/// Whether the project has signed this for this run. Cost: one signature check (0.06 ms).
bool is_signed(const RunId& run, const PeerKey& project, const SignedPause& pause);

/// The head of a history: what has been decided last and what comes next.
struct Head {
    std::uint64_t generation = 0;  ///< the present generation
    StepIndex step;                ///< the next round's: number of updates decided so far
    Digest record;                 ///< digest of the last record, or of the generation before one
    std::vector<PeerKey> voters;   ///< the generation's voters, ascending
    bool operator==(const Head&) const = default;
};
/// The head of a history without any decision: step 0, with the backbone as the only voter.
Head genesis(const RunId& run, const PeerKey& backbone);

/// Proof of a state, and with it of a head: a majority of the generation's voters have signed that
/// they hold the state that the record with digest `record` leads to.
struct StateCertificate {
    std::uint64_t generation = 0;  ///< Head::generation
    StepIndex step;                ///< Head::step: updates that the state has seen
    Digest record;                 ///< Head::record
    Digest state;                  ///< the state at `step`
    std::vector<Vote> votes;       ///< ascending by key, over state_vote_bytes()
    bool operator==(const StateCertificate&) const = default;
};
/// What a voter signs once it holds the state of its head. Depends on all fields except `votes`.
std::array<std::byte, 32> state_vote_bytes(const RunId& run, const StateCertificate& state);

/// What a voter must remember across restarts, so that it never contradicts itself.
struct VoterState {
    std::uint64_t generation = 0;  ///< generation of its head
    StepIndex step;                ///< step of its head: the round that `accepted` is for
    bool may_vote = false;         ///< it is appointed in this generation and remembers its votes
    Term promised;                 ///< it accepts no record in a lower term
    Term accepted_in;              ///< the term of `accepted`; meaningless without it
    std::optional<CommitRecord> accepted;  ///< the record that it has voted for in this round
    std::optional<Digest> state;           ///< the state at `step` that it has signed
    bool operator==(const VoterState&) const = default;
};

}  // namespace dedloc
