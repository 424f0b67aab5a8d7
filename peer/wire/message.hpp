// The messages of the swarm as values, and the signed envelope they travel in.
//
// Frame      64-byte Ed25519 signature ‖ FlatBuffers Message (messages.fbs). The signature covers
//            the bytes as sent: run, generation, step, sequence, sender and body.
// Untrusted  decode() takes any bytes: FlatBuffers' verifier first, then every bound of limits.hpp;
//            it never throws, never reads past the end, and says why it refused.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/frame.hpp"
#include "peer/base/result.hpp"
#include "peer/base/shared_slice.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::wire {

// --- links -------------------------------------------------------------------

/// First message of both ends: prove that you are there now.
struct Challenge {
    Digest nonce;
    bool operator==(const Challenge&) const = default;
};
/// The answer: who I am, signed over the other end's nonce. The highest version that both ends
/// speak is spoken; without one the link is refused.
struct Hello {
    std::uint16_t oldest_protocol = 0;
    std::uint16_t newest_protocol = 0;
    std::uint64_t session = 0;  ///< chosen at random by each process
    Role role = Role::kTrainer;
    bool receives = true;              ///< wants averages; a pure aggregator does not
    std::uint16_t listening_port = 0;  ///< 0: cannot be dialled
    std::string result_name;           ///< claimed, for pages; credit follows the receipt
    Digest nonce;
    bool operator==(const Hello&) const = default;
};
struct Leave {
    bool operator==(const Leave&) const = default;
};
struct Refusal {
    std::string reason;
    bool operator==(const Refusal&) const = default;
};

// --- who is where ------------------------------------------------------------

/// Once a second, and whenever something here changes. The envelope's generation and step are the
/// sender's head.
struct Heartbeat {
    bool has_state = false;  ///< holds the state of the head; false while an update is applied
    Digest state;
    Digest record;  ///< digest of the head's record
    Samples samples;
    double samples_per_second = 0;
    std::uint64_t upload_bytes_per_second = 0;    ///< 0: not known
    std::uint64_t download_bytes_per_second = 0;  ///< 0: not known
    bool is_frozen = false;                       ///< called, and waiting for the end of the round
    bool may_vote = false;                        ///< an appointed voter that remembers its votes
    Term term;                                    ///< that the sender follows, or leads
    std::uint32_t attempt = 0;                    ///< of the last plan seen in this round; 0: none
    bool operator==(const Heartbeat&) const = default;
};
/// The project has appointed voters, who go on from the state that it names.
struct Generation {
    SignedGeneration generation;
    bool operator==(const Generation&) const = default;
};

// --- who coordinates ---------------------------------------------------------

/// Candidate to voters: vote for me in this term. The envelope's step is the candidate's head.
struct Elect {
    Term term;
    bool operator==(const Elect&) const = default;
};
/// The answer to Elect. The envelope's step is the voter's head.
struct Promise {
    Term term;  ///< the one asked for
    bool granted = false;
    Term promised;                           ///< the highest this voter has promised
    Term accepted_in{};                      ///< of `accepted`
    std::optional<CommitRecord> accepted{};  ///< what it has voted for in the round of its head
    bool operator==(const Promise&) const = default;
};

// --- a round -----------------------------------------------------------------

/// Finish your micro-batch and freeze.
struct Call {
    Term term;
    bool operator==(const Call&) const = default;
};
struct Join {
    Term term;
    std::uint32_t contribution_id =
        0;  ///< of what it has frozen; another one for each, also after a restart
    Samples samples;
    double loss_sum = 0;  ///< finite, also when the gradient is not
    bool is_finite = true;
    bool receives = true;
    Digest state;  ///< that the contribution was computed on
    std::uint64_t upload_bytes_per_second = 0;
    std::uint64_t download_bytes_per_second = 0;
    std::uint8_t exponent = 0;  ///< of its halves; 0 with other codecs
    bool operator==(const Join&) const = default;
};
struct PlanMember {
    PeerKey peer;
    Samples samples;
    double loss_sum = 0;
    std::uint32_t contribution_id = 0;
    bool receives = true;
    std::uint8_t exponent = 0;  ///< Join::exponent: reducers refuse pieces with another one
    bool operator==(const PlanMember&) const = default;
};
/// Chunks [first_chunk, last_chunk) are averaged by members[member].
struct ChunkRange {
    PeerIndex member;
    std::uint32_t first_chunk = 0;
    std::uint32_t last_chunk = 0;
    bool operator==(const ChunkRange&) const = default;
};
/// Where members that reduce can be dialled.
struct ReducerEndpoint {
    PeerIndex member;
    Endpoint endpoint;
    bool operator==(const ReducerEndpoint&) const = default;
};
/// Who averages what. Chunk c is elements [c × chunk_elements, …) of the vector. A higher attempt
/// of the same term amends the plan before.
struct Plan {
    Term term;
    std::uint32_t attempt = 0;
    std::uint64_t elements = 0;
    std::uint32_t chunk_elements = 0;
    UpdateScalars scalars;
    std::vector<PlanMember> members;  ///< ascending by key
    std::vector<ChunkRange> ranges;   ///< ascending, without gaps, of all chunks
    std::vector<ReducerEndpoint> reducers;
    std::vector<std::uint32_t> relays;  ///< members that pass on what is said to all; ascending
    /// The planner's time for scatter and gather, as far as links are known: how long silence may
    /// be meant follows from it. On the wire in milliseconds.
    std::chrono::milliseconds expected{0};
    bool operator==(const Plan&) const = default;
};
/// Names the sum that a plan asks for: its contributors with their freezes and samples, in order.
/// Plans that only move chunks between reducers have the same mix.
std::uint64_t sum_id_of(const Plan& plan);
/// This peer's place among the members; their number if it is none of them. Cost: O(log members).
std::uint32_t index_of(const Plan& plan, const PeerKey& peer);
/// How many chunks this member reduces. Cost: O(ranges).
std::uint32_t chunks_of(const Plan& plan, std::uint32_t member);

/// Coordinator: this round is off; forget the frozen contribution and work on.
struct Cancel {
    Term term;
    bool operator==(const Cancel&) const = default;
};
enum class Phase : std::uint8_t { kScatter, kGather };
/// Numbers rounded to binary16: each is float(bits) × 2^(exponent − 127), exactly, whatever the
/// bits are, for exponents from kMinHalfExponent to kMaxHalfExponent.
struct Halves {
    SharedSlice<std::uint16_t> bits;
    std::uint8_t exponent = 0;
    bool operator==(const Halves&) const = default;
};
/// By the codec of the run.
using Elements = std::variant<SharedSlice<float>, Halves>;
static_assert(std::variant_size_v<Elements> == kCodecNames.size());
std::size_t count_of(const Elements& elements);
inline Codec codec_of(const Elements& elements) {
    return static_cast<Codec>(elements.index());
}
/// A piece of a contribution, or of the average. Named by what it holds, not by the attempt that it
/// was sent in, so whatever arrived stays useful when a plan is amended.
struct Chunk {
    Phase phase = Phase::kScatter;
    std::uint64_t sum_id = 0;  ///< gather: of which contributions (sum_id_of); scatter: freeze
    std::uint32_t chunk = 0;
    std::uint32_t chunk_elements = 0;
    Elements elements;  ///< at most chunk_elements; any numbers, NaN too: decode does not look
    bool operator==(const Chunk&) const = default;
};
/// Reducer to coordinator: every chunk of mine is averaged, so every contribution has arrived.
struct Reduced {
    Term term;
    std::uint32_t attempt = 0;
    bool operator==(const Reduced&) const = default;
};
/// Member to coordinator: these hold me up. Indices into the plan, ascending.
struct Stalled {
    Term term;
    std::uint32_t attempt = 0;
    std::vector<std::uint32_t> senders;  ///< that have sent no piece of a contribution for too long
    std::vector<std::uint32_t> reducers;   ///< that have sent no piece of the average for too long
    std::vector<std::uint32_t> refused{};  ///< whose pieces are not finite, or not as joined
    bool operator==(const Stalled&) const = default;
};
/// Member to coordinator: I hold the whole average (or want none, and have reduced my part).
struct Ready {
    Term term;
    std::uint32_t attempt = 0;
    Digest average;  ///< all zero from a member that does not receive
    bool operator==(const Ready&) const = default;
};
/// Coordinator to voters: vote for this record. Without `record` a voter makes it from its plan
/// `attempt`; a record that was accepted in an earlier term, or whose plan the voter may lack, is
/// there.
struct Propose {
    Term term;
    std::uint32_t attempt = 0;
    Digest digest;  ///< digest_of the record
    Digest average;
    Digest previous_state;
    std::optional<CommitRecord> record{};
    bool operator==(const Propose&) const = default;
};
struct Accept {
    Term term;
    Digest digest;
    Signature signature{};  ///< of vote_bytes
    bool operator==(const Accept&) const = default;
};
/// Decided: the certificate proves `digest`. Without `record` the receiver makes the record from
/// its plan of the certificate's term and `attempt`, and takes it only if its digest is `digest`.
struct Commit {
    Digest digest;  ///< digest_of the record
    Certificate certificate;
    std::uint32_t attempt = 0;             ///< of the plan that the record follows from
    Digest average;                        ///< CommitRecord::average
    Digest previous_state;                 ///< CommitRecord::previous_state
    std::optional<CommitRecord> record{};  ///< whole, for a receiver that may lack the plan
    bool operator==(const Commit&) const = default;
};
/// I hold this state at the envelope's generation and step; with the votes of a majority, a
/// StateCertificate.
struct StateVotes {
    Digest record;
    Digest state;
    std::vector<Vote> votes;  ///< ascending by key
    bool operator==(const StateVotes&) const = default;
};
/// Voter to voter: send me the commits, with their certificates, from the envelope's generation and
/// step on.
struct CommitQuery {
    bool operator==(const CommitQuery&) const = default;
};

// --- state -------------------------------------------------------------------

/// What can you give to a peer at this step (the envelope's) of this generation?
struct StateQuery {
    bool has_state = false;  ///< false: a whole state is wanted
    bool operator==(const StateQuery&) const = default;
};
/// A whole state of the envelope's generation and step, with its proof: together with the root of
/// the leaves, a StateCertificate. The first state of a generation needs no votes: the project has
/// signed it.
struct StateOffer {
    std::uint64_t bytes = 0;
    std::vector<Digest> leaves;
    Digest record;
    std::vector<Vote> votes;  ///< ascending by key
    bool operator==(const StateOffer&) const = default;
};
/// A decided round that the sender still holds: apply it to the state of the envelope's step.
struct RoundOffer {
    CommitRecord record;
    Certificate certificate;
    std::vector<Digest> leaves;  ///< of the average
    bool operator==(const RoundOffer&) const = default;
};
/// Send me this leaf of the state or average with this root.
struct LeafRequest {
    Digest root;
    std::uint32_t leaf = 0;
    bool operator==(const LeafRequest&) const = default;
};
/// Empty data: not held any more.
struct Leaf {
    Digest root;
    std::uint32_t leaf = 0;
    Buffer data;
    bool operator==(const Leaf&) const = default;
};

// --- many members ------------------------------------------------------------

/// A frame of the coordinator that may be passed on, as signed by it, from a member that the plan
/// names as a relay.
struct Relay {
    Buffer frame;
    bool operator==(const Relay&) const = default;
};

using Body = std::variant<Challenge, Hello, Leave, Refusal, Heartbeat, Generation, Elect, Promise,
                          Call, Join, Plan, Cancel, Chunk, Reduced, Stalled, Ready, Propose, Accept,
                          Commit, StateVotes, CommitQuery, StateQuery, StateOffer, RoundOffer,
                          LeafRequest, Leaf, Relay>;

/// Whether a frame may arrive out of the sender's order, again, or later than others: such a body
/// is named by its content, so a replay changes nothing.
bool is_bulk(const Body& body);

/// Of a Plan or Commit: third parties get them too, so they are signed on every link.
bool may_be_relayed(const Body& body);

/// What a link says of its other end, and so what a frame on it must say for itself.
enum class LinkKind : std::uint8_t {
    kUnproven,  ///< nothing: every frame is signed
    kProven,    ///< who speaks: only what may be relayed is signed
};

struct Message {
    RunId run;
    std::uint64_t generation = 0;
    StepIndex step;
    std::uint64_t sequence =
        0;  ///< ascending on each link, except for bulk: a frame that does not ascend is a replay
    PeerKey sender;
    Body body;
    bool operator==(const Message&) const = default;
};

enum class DecodeError : std::uint8_t {
    kTooLarge,      ///< over kMaxFrameBytes
    kMalformed,     ///< of no form, or not a Message by the verifier, or a missing body
    kUnsigned,      ///< without the signature that a frame of its kind needs on such a link
    kOutOfBounds,   ///< a field is over its limit or contradicts another
    kBadSignature,  ///< not signed by the sender it names
};
const char* describe(DecodeError error);

/// For a link of this kind, signed only if it must be. Elements of a chunk that is not signed stay
/// where they are, and the frame holds them.
/// Requires key.public_key() == message.sender and every bound of limits.hpp (DEDLOC_CHECK).
/// Cost: one copy of the rest of the body, and the signature (0.02 ms + 4 ns a byte).
Frame encode(const Message& message, const KeyPair& key, LinkKind link);

/// Untrusted input, from a link of this kind. A signature that is not needed is checked as well.
/// Errors: DecodeError. Cost: one copy of the body, and the check of the signature.
Result<Message, DecodeError> decode(std::span<const std::byte> frame, LinkKind link);
/// The same; the elements of a chunk stay where they are and hold the frame, if that is not much
/// larger than they are.
Result<Message, DecodeError> decode(const SharedBytes& frame, LinkKind link);

/// Which alternative of Body a frame claims to hold, by its form alone: no signature and no bound
/// is checked, so nothing may be done on the strength of it but counting. Untrusted input; nothing
/// for what is no Message. Cost: the verifier, whatever the length.
std::optional<std::size_t> body_index(std::span<const std::byte> frame);

}  // namespace dedloc::wire
