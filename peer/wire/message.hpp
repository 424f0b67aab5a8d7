// The messages of the swarm as values, and the envelope in which they travel. The comment of each
// message begins with its sender and its receivers.
//
// Frame      8-byte form ‖ 64-byte Ed25519 signature, if signed ‖ FlatBuffers Message
//            (messages.fbs). The signature covers all bytes after it, as sent: run, generation,
//            step, sequence, sender and body.
// Untrusted  decode() takes any bytes: FlatBuffers' verifier first, then every bound of limits.hpp.
//            It never throws, never reads past the end, and reports why it refuses a frame.
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

/// The first message in both directions: prove that you hold your key now.
struct Challenge {
    Digest nonce;  ///< random
    bool operator==(const Challenge&) const = default;
};
/// The answer to Challenge, with the nonce of the other end. Both ends then speak the highest
/// protocol version that both know; if there is none, the link is refused.
struct Hello {
    std::uint16_t oldest_protocol = 0;  ///< oldest version that the sender speaks
    std::uint16_t newest_protocol = 0;  ///< newest version that the sender speaks
    std::uint64_t session = 0;          ///< random per process: another one means a restart
    Role role = Role::kTrainer;         ///< what the sender does in the swarm
    bool receives = true;               ///< false: it reduces only and wants no averages
    std::uint16_t listening_port = 0;   ///< 0: cannot be dialled
    std::string result_name;            ///< a claim for status pages; credit depends on the receipt
    Digest nonce;                       ///< Challenge::nonce of the other end
    bool operator==(const Hello&) const = default;
};
/// Any peer to all: the sender leaves the swarm. The receiver drops the link.
struct Leave {
    bool operator==(const Leave&) const = default;
};
/// Any peer to the other end of a link, before it closes the link: a refusal.
struct Refusal {
    std::string reason;  ///< one sentence for the log
    bool operator==(const Refusal&) const = default;
};

// --- heads -------------------------------------------------------------------

/// Any peer to connected peers, once per RoundRules::heartbeat and when a field changes. The
/// envelope's generation and step are the sender's head.
struct Heartbeat {
    bool has_state = false;  ///< it holds the state of its head; false while it applies an update
    Digest state;            ///< that state
    Digest record;           ///< digest of the head's record
    Samples samples;         ///< accumulated on that state so far
    double samples_per_second = 0;        ///< training speed
    std::optional<Bandwidth> upload{};    ///< nullopt: unknown
    std::optional<Bandwidth> download{};  ///< nullopt: unknown
    bool is_frozen = false;     ///< it has frozen its contribution and waits for the round to end
    bool may_vote = false;      ///< it is an appointed voter that remembers its votes
    Term term;                  ///< the term that the sender follows or leads
    std::uint32_t attempt = 0;  ///< Plan::attempt of the newest plan in this round; 0: none
    /// Pause::count as far as the sender knows, 0: none. A receiver that knows more tells it.
    std::uint64_t pause_count = 0;
    /// As in Hello, where it may have changed since; nullopt: an older peer does not tell.
    std::optional<std::uint16_t> listening_port{};
    /// Mean duration of the last rounds as the sender has seen them; 0: unknown. Of voters it tells
    /// newcomers whether they can follow.
    std::chrono::milliseconds round{0};
    std::uint64_t mixture_version = 0;  ///< SignedMixture::version, as pause_count; 0: none
    bool operator==(const Heartbeat&) const = default;
};
/// Any peer to one that may not know this generation: the project has appointed voters.
struct Generation {
    SignedGeneration generation;  ///< the receiver verifies the project's signature
    bool operator==(const Generation&) const = default;
};

/// Any peer to one that may not know it: the project has paused or resumed the run.
struct Pause {
    SignedPause pause;  ///< the receiver verifies the project's signature
    bool operator==(const Pause&) const = default;
};
/// A voter to the others: the tickets that are void before they expire.
struct RevocationList {
    /// formats::SignedRevocations as bytes: the receiver's host verifies the project's signature.
    Buffer list;
    bool operator==(const RevocationList&) const = default;
};

// --- elections --------------------------------------------------------------

/// Candidate to voters: promise to accept no record in a lower term. The envelope's step is the
/// candidate's head.
struct Elect {
    Term term;  ///< the term that the candidate wants to lead
    bool operator==(const Elect&) const = default;
};
/// Voter to candidate: the answer to Elect. Also sent, not granted, to a coordinator whose term is
/// too low. The envelope's step is the voter's head.
struct Promise {
    Term term;                               ///< the term that is answered
    bool granted = false;                    ///< the voter has promised `term`
    Term promised;                           ///< the highest term that this voter has promised
    Term accepted_in{};                      ///< the term in which it has accepted `accepted`
    std::optional<CommitRecord> accepted{};  ///< the record it has accepted for its head's round
    bool operator==(const Promise&) const = default;
};

// --- rounds ------------------------------------------------------------------

/// Coordinator to a trainer: how to take part in the rounds of this term, until the next
/// TurnChange. Without one a trainer is in every round.
struct TurnChange {
    Term term;                              ///< the coordinator's
    TurnKind kind = TurnKind::kEveryRound;  ///< how the trainer takes part
    std::uint32_t every = 1;  ///< kSomeRounds: called to one round of these, 1 to kMaxStaleSteps
    /// Why, for the volunteer: samples per second of the whole swarm by the planner's model, with
    /// the trainer in every round and as it is now. Both 0: the others have waited for its Join.
    double speed_with = 0;
    double speed_now = 0;
    bool operator==(const TurnChange&) const = default;
};

/// Coordinator to members: finish your micro-batch and freeze your contribution.
struct Call {
    Term term;  ///< the coordinator's
    bool operator==(const Call&) const = default;
};
/// Member to coordinator: the answer to Call, which describes the frozen contribution.
struct Join {
    Term term;  ///< as in Call
    /// Names the frozen contribution. Each one gets another id, also after a restart.
    std::uint32_t contribution_id = 0;
    Samples samples;                      ///< 0: it contributes nothing
    double loss_sum = 0;                  ///< in nats; finite even if the gradient is not
    bool is_finite = true;                ///< false: the gradient overflowed, so samples is 0
    bool receives = true;                 ///< Hello::receives
    Digest state;                         ///< the state that the contribution was computed on
    std::optional<Bandwidth> upload{};    ///< nullopt: unknown
    std::optional<Bandwidth> download{};  ///< nullopt: unknown
    /// Scale of its chunks: Halves::exponent, the largest of Int8Blocks::exponents, or else 0.
    std::uint8_t exponent = 0;
    std::optional<Digest> mixture{};  ///< CommitRecord::mixture of this round, as it knows it
    std::uint8_t added = 0;           ///< CommitLine::added; at most kMaxSources
    bool operator==(const Join&) const = default;
};
/// One member of a plan, with values from its Join.
struct PlanMember {
    PeerKey peer;                       ///< its key
    Samples samples;                    ///< 0: it contributes nothing
    double loss_sum = 0;                ///< in nats
    std::uint32_t contribution_id = 0;  ///< Join::contribution_id
    bool receives = true;               ///< false: it gets no chunks of the average
    std::uint8_t exponent = 0;          ///< Join::exponent; reducers refuse chunks that differ
    std::uint8_t added = 0;             ///< Join::added
    bool operator==(const PlanMember&) const = default;
};
/// The chunks [first_chunk, last_chunk) are averaged by Plan::members[member].
struct ChunkRange {
    PeerIndex member;               ///< the reducer
    std::uint32_t first_chunk = 0;  ///< the first chunk
    std::uint32_t last_chunk = 0;   ///< one past the last chunk
    bool operator==(const ChunkRange&) const = default;
};
/// The address at which a reducer can be dialled.
struct ReducerEndpoint {
    PeerIndex member;   ///< the reducer
    Endpoint endpoint;  ///< its address; the port is not 0
    bool operator==(const ReducerEndpoint&) const = default;
};
/// Coordinator to members and voters: the members of the round and the chunks that each one
/// averages. Chunk c has the elements from c × chunk_elements on. A plan with a higher attempt
/// replaces the earlier plan of the same term.
struct Plan {
    Term term;                              ///< the coordinator's
    std::uint32_t attempt = 0;              ///< ascends from 1 over all rounds of a term
    std::uint64_t elements = 0;             ///< N, the length of the vector
    std::uint32_t chunk_elements = 0;       ///< elements of every chunk except the last one
    UpdateScalars scalars;                  ///< CommitRecord::scalars
    std::vector<PlanMember> members;        ///< ascending by key
    std::vector<ChunkRange> ranges;         ///< all chunks, ascending and without gaps
    std::vector<ReducerEndpoint> reducers;  ///< those that can be dialled
    std::vector<std::uint32_t> relays;      ///< members that relay Plan and Commit; ascending
    /// The planner's estimate of scatter and gather for the links that are known. Members and
    /// coordinator derive their timeouts from it. On the wire in milliseconds.
    std::chrono::milliseconds expected{0};
    std::optional<Digest> mixture{};  ///< CommitRecord::mixture
    bool operator==(const Plan&) const = default;
};
/// Names the sum that a plan describes: a digest of its contributors with their contribution ids
/// and samples, in order. Plans that differ only in the assignment of chunks have the same sum id.
std::uint64_t sum_id_of(const Plan& plan);
/// Index of this peer in plan.members; members.size() if it is not a member. Cost: O(log members).
std::uint32_t index_of(const Plan& plan, const PeerKey& peer);
/// Number of chunks that this member reduces. Cost: O(ranges).
std::uint32_t chunks_of(const Plan& plan, std::uint32_t member);
/// Elements that each member reduces, in member order. They sum up to the length of the vector if
/// the plan is within its bounds. Cost: O(members + ranges).
std::vector<std::uint64_t> reduced_elements(const Plan& plan);

/// Coordinator to members and voters that hold the plan `base`: a later plan of the same term, as
/// what has changed (plan_change.hpp).
struct PlanChange {
    Term term;                              ///< the coordinator's
    std::uint32_t attempt = 0;              ///< Plan::attempt of the new plan
    std::uint32_t base = 0;                 ///< Plan::attempt of the plan that it changes; lower
    std::vector<std::uint32_t> removed;     ///< members of the base that are left out; ascending
    std::vector<ChunkRange> ranges;         ///< the new plan's ranges that the base has not
    std::vector<ReducerEndpoint> reducers;  ///< the new plan's that the base does not name
    std::vector<std::uint32_t> relays;      ///< Plan::relays of the new plan
    Digest digest;                          ///< digest_of() the new plan
    bool operator==(const PlanChange&) const = default;
};
/// Member or voter to coordinator: send me the whole plan, I lack the base of your PlanChange.
struct PlanQuery {
    Term term;                  ///< PlanChange::term
    std::uint32_t attempt = 0;  ///< PlanChange::attempt
    bool operator==(const PlanQuery&) const = default;
};
/// The chunks [first_chunk, last_chunk).
struct ChunkSpan {
    std::uint32_t first_chunk = 0;  ///< the first chunk
    std::uint32_t last_chunk = 0;   ///< one past the last chunk
    bool operator==(const ChunkSpan&) const = default;
};
/// Reducer to a contributor: send these slices again. The reducer has summed and freed them, and
/// a later plan has other contributors.
struct SliceQuery {
    std::uint64_t sum_id = 0;          ///< sum_id_of() the later plan
    std::uint32_t chunk_elements = 0;  ///< Plan::chunk_elements
    std::vector<ChunkSpan> chunks;     ///< ascending; at most kMaxRanges
    bool operator==(const SliceQuery&) const = default;
};
/// Any peer to one that may not know it: the project has changed the mixture of the run's sources.
struct Mixture {
    Buffer list;  ///< encode_mixture(): the receiver reads it and verifies the project's signature
    bool operator==(const Mixture&) const = default;
};

/// Coordinator to members: this round does not take place; drop the frozen contribution and
/// continue to work.
struct Cancel {
    Term term;  ///< the coordinator's
    bool operator==(const Cancel&) const = default;
};
/// Whether a chunk belongs to a contribution or to the average.
enum class ChunkKind : std::uint8_t {
    kScatter,  ///< contributor to reducer
    kGather    ///< reducer to receivers
};
/// Numbers rounded to binary16. Each number is float(bits) × 2^(exponent − 127); with an exponent
/// within its limits this product is exact for all bits.
struct Halves {
    SharedSlice<std::uint16_t> bits;  ///< one binary16 number per element
    std::uint8_t exponent = 0;        ///< kMinHalfExponent to kMaxHalfExponent
    bool operator==(const Halves&) const = default;
};
/// Numbers rounded to bfloat16, the upper half of a binary32.
struct Bfloats {
    SharedSlice<std::uint16_t> bits;  ///< one bfloat16 number per element
    bool operator==(const Bfloats&) const = default;
};
/// Numbers rounded to 8 bits. Number i is codes[i] × 2^(exponents[i ÷ 64] − 127), which is exact.
/// All of them are finite.
struct Int8Blocks {
    SharedSlice<std::int8_t> codes;       ///< one per element, −kMaxInt8Code to kMaxInt8Code
    SharedSlice<std::uint8_t> exponents;  ///< one per block of kInt8BlockElements, the last may be
                                          ///< short; kMinInt8Exponent to kMaxInt8Exponent
    bool operator==(const Int8Blocks&) const = default;
};
/// The elements of a chunk in the run's codec; the alternatives are in the order of Codec.
using Elements = std::variant<SharedSlice<float>, Halves, Bfloats, Int8Blocks>;
static_assert(std::variant_size_v<Elements> == kCodecNames.size());
/// Number of elements.
std::size_t count_of(const Elements& elements);
/// The codec that they are in.
inline Codec codec_of(const Elements& elements) {
    return static_cast<Codec>(elements.index());
}
/// Whether a contribution in this codec can have this Join::exponent.
bool is_exponent_of(Codec codec, std::uint8_t exponent);
/// A chunk of a contribution or of the average. It is named by its contents and not by the attempt
/// in which it was sent, so chunks that have arrived stay valid when a plan is amended.
struct Chunk {
    ChunkKind kind = ChunkKind::kScatter;  ///< contribution or average
    std::uint64_t sum_id = 0;          ///< scatter: the contribution id; gather: sum_id_of(plan)
    std::uint32_t chunk = 0;           ///< index of the chunk in the vector
    std::uint32_t chunk_elements = 0;  ///< Plan::chunk_elements; int8: a multiple of a block
    Elements elements;  ///< 1 to chunk_elements; may be NaN or infinite: decode() does not check
    bool operator==(const Chunk&) const = default;
};
/// Reducer to coordinator: all chunks of mine are averaged, so I have every contribution to them.
struct Reduced {
    Term term;                  ///< Plan::term
    std::uint32_t attempt = 0;  ///< Plan::attempt
    bool operator==(const Reduced&) const = default;
};
/// Member to coordinator: these members keep me from finishing. All lists are ascending indices
/// into Plan::members. A chunk cannot be averaged if it is not finite or has a wrong exponent.
struct Stalled {
    Term term;                             ///< Plan::term
    std::uint32_t attempt = 0;             ///< Plan::attempt
    std::vector<std::uint32_t> senders;    ///< contributors whose chunks have timed out
    std::vector<std::uint32_t> reducers;   ///< reducers whose averaged chunks have timed out
    std::vector<std::uint32_t> refused{};  ///< senders of chunks that cannot be averaged
    bool operator==(const Stalled&) const = default;
};
/// Member to coordinator: I hold the whole average, or I do not receive and have reduced my part.
struct Ready {
    Term term;                  ///< Plan::term
    std::uint32_t attempt = 0;  ///< Plan::attempt
    Digest average;             ///< root of the average; zeros if the member does not receive
    bool operator==(const Ready&) const = default;
};
/// Coordinator to voters: accept this record. Without `record` the voter builds it from the plan of
/// this term and attempt. `record` is present if it was accepted in an earlier term or if the voter
/// may not have the plan.
struct Propose {
    Term term;                             ///< the coordinator's
    std::uint32_t attempt = 0;             ///< Plan::attempt
    Digest digest;                         ///< digest_of(the record)
    Digest average;                        ///< CommitRecord::average
    Digest previous_state;                 ///< CommitRecord::previous_state
    std::optional<CommitRecord> record{};  ///< the whole record, see above
    bool operator==(const Propose&) const = default;
};
/// Voter to coordinator: my vote for the proposed record.
struct Accept {
    Term term;              ///< Propose::term
    Digest digest;          ///< Propose::digest
    Signature signature{};  ///< over vote_bytes()
    bool operator==(const Accept&) const = default;
};
/// Coordinator to members and voters, or any peer to one that has missed it: a record is decided,
/// and the certificate proves it. Without `record` the receiver builds the record from the plan of
/// the certificate's term and `attempt`, and accepts it only if its digest is `digest`.
struct Commit {
    Digest digest;                         ///< digest_of(the record)
    Certificate certificate;               ///< votes for `digest`
    std::uint32_t attempt = 0;             ///< attempt of the plan that the record follows from
    Digest average;                        ///< CommitRecord::average
    Digest previous_state;                 ///< CommitRecord::previous_state
    std::optional<CommitRecord> record{};  ///< present if the receiver may not have the plan
    bool operator==(const Commit&) const = default;
};
/// The Commit of a decision with its record, for a peer that may lack the plan.
Commit full_commit(const Decision& decision);
/// Voter to voters: I hold this state at the envelope's generation and step. With the votes of a
/// majority, from any peer to any peer: the StateCertificate of that state.
struct StateVotes {
    Digest record;            ///< StateCertificate::record
    Digest state;             ///< StateCertificate::state
    std::vector<Vote> votes;  ///< ascending by key, over state_vote_bytes()
    bool operator==(const StateVotes&) const = default;
};
/// Keeper to a peer that is ahead: send me the ledger from the envelope's generation and step on.
struct CommitQuery {
    bool operator==(const CommitQuery&) const = default;
};

// --- states ------------------------------------------------------------------

/// Peer that is behind to possible donors: what can you offer a peer at the envelope's generation
/// and step?
struct StateQuery {
    bool has_state = false;  ///< it holds that state and wants rounds; false: it wants a state
    bool operator==(const StateQuery&) const = default;
};
/// Donor to a peer that is behind: I have the whole state of the envelope's generation and step.
/// The votes and the root of the leaves form its StateCertificate. The first state of a generation
/// needs no votes, because the project has signed it.
struct StateOffer {
    std::uint64_t bytes = 0;     ///< size of the state
    std::vector<Digest> leaves;  ///< leaves of its digest tree, kLeafBytes each but the last
    Digest record;               ///< StateCertificate::record
    std::vector<Vote> votes;     ///< StateCertificate::votes
    bool operator==(const StateOffer&) const = default;
};
/// Donor to a peer that is behind: I have the average of this decided round, which updates the
/// state of the envelope's step.
struct RoundOffer {
    CommitRecord record;         ///< the decided round
    Certificate certificate;     ///< proves `record`
    std::vector<Digest> leaves;  ///< leaves of the average's digest tree
    bool operator==(const RoundOffer&) const = default;
};
/// Peer that is behind to a donor: send me one leaf of an offered state or average.
struct LeafRequest {
    Digest root;             ///< root of its digest tree
    std::uint32_t leaf = 0;  ///< index of the leaf
    bool operator==(const LeafRequest&) const = default;
};
/// Donor to a peer that is behind: the answer to LeafRequest.
struct Leaf {
    Digest root;             ///< as requested
    std::uint32_t leaf = 0;  ///< as requested
    Buffer data;             ///< the leaf's bytes; empty: the donor no longer has them
    bool operator==(const Leaf&) const = default;
};

// --- many members ------------------------------------------------------------

/// Relay to its share of the members: a Plan, PlanChange or Commit of the coordinator, as the
/// coordinator has signed it.
struct Relay {
    Buffer frame;  ///< a complete signed frame
    bool operator==(const Relay&) const = default;
};

/// The kinds of messages, in the order of the union in messages.fbs.
using BodyKinds =
    std::variant<Challenge, Hello, Leave, Refusal, Heartbeat, Generation, Elect, Promise, Call,
                 Join, Plan, Cancel, Chunk, Reduced, Stalled, Ready, Propose, Accept, Commit,
                 StateVotes, CommitQuery, StateQuery, StateOffer, RoundOffer, LeafRequest, Leaf,
                 Relay, Pause, RevocationList, TurnChange, PlanChange, PlanQuery, SliceQuery,
                 Mixture>;
/// Every message. What copies, moves and destroys the 33 alternatives is compiled once, and not in
/// each source that includes this: it was a third of the time of each.
struct Body : BodyKinds {
    using BodyKinds::BodyKinds;
    using BodyKinds::operator=;
    Body();
    Body(const Body& other);
    Body(Body&& other) noexcept;
    Body& operator=(const Body& other);
    Body& operator=(Body&& other) noexcept;
    ~Body();
};

/// Whether this message is bulk (Chunk, LeafRequest, Leaf). Bulk frames may arrive out of order or
/// twice, because their contents name them: a replay changes nothing.
bool is_bulk(const Body& body);

/// Whether other peers may pass this message on (Plan, PlanChange, Commit). It is signed on every
/// link.
bool may_be_relayed(const Body& body);

/// What a link proves about its other end, which decides which frames must be signed.
enum class LinkKind : std::uint8_t {
    kUnproven,  ///< nothing: every frame is signed
    kProven,    ///< the sender's key: only messages that may be relayed are signed
};

/// A body in its envelope.
struct Message {
    RunId run;                     ///< the run that the sender takes part in
    std::uint64_t generation = 0;  ///< generation of the sender's head
    StepIndex step;                ///< the step that the body is about
    /// Ascending on each link. A frame that does not ascend is a replay, except for bulk.
    std::uint64_t sequence = 0;
    PeerKey sender;  ///< the peer that has made the message
    Body body;       ///< what it says
    bool operator==(const Message&) const = default;
};

/// Why a frame is refused.
enum class DecodeError : std::uint8_t {
    kTooLarge,      ///< more than kMaxFrameBytes
    kMalformed,     ///< unknown form, refused by FlatBuffers' verifier, or without a known body
    kUnsigned,      ///< lacks the signature that this message needs on such a link
    kOutOfBounds,   ///< a field exceeds its limit or contradicts another field
    kBadSignature,  ///< not signed by the sender that it names
};
/// A few words for the log.
const char* describe(DecodeError error);

/// The frame of a message for a link of this kind, signed if it must be. The elements of an
/// unsigned chunk are not copied: the frame shares them with the message. Requires key.public_key()
/// == message.sender and every bound of limits.hpp (DEDLOC_CHECK). Cost: one copy of the rest of
/// the body, and the signature (0.02 ms + 4 ns a byte).
Frame encode(const Message& message, const KeyPair& key, LinkKind link);

/// The message in a frame from a link of this kind. Untrusted input. A signature is verified even
/// if it is not needed. Cost: one copy of the body, and the verification of the signature.
Result<Message, DecodeError> decode(std::span<const std::byte> frame, LinkKind link);
/// The same without copying the elements of a chunk: they keep the frame alive. They are copied
/// only if the frame is more than twice as large as they are.
Result<Message, DecodeError> decode(const SharedBytes& frame, LinkKind link);

/// Index in Body of the message that a frame claims to hold; nothing if it is not a Message. Checks
/// neither signature nor bounds, so the result is good for statistics only. Untrusted input.
/// Cost: one pass of FlatBuffers' verifier.
std::optional<std::size_t> body_index(std::span<const std::byte> frame);

}  // namespace dedloc::wire
