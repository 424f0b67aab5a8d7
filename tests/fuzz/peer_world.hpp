// One Peer alone among strangers: its clock, links and trainer, and what other keys say to it, all
// chosen by a string of bytes. The trainer and the links keep their contracts; the strangers keep
// none, but can also answer as an honest peer would, so that rounds get to their end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/peer.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::fuzz {

inline constexpr std::uint64_t kElements = 8;  ///< length of the vector that is averaged
inline constexpr std::uint8_t kStrangers = 5;  ///< keys that speak, the peer's own among them

class PeerWorld {
  public:
    /// The first byte says which peer it is, whether it may vote, whether links prove who speaks,
    /// and the run's codec.
    explicit PeerWorld(std::span<const std::byte> choices);
    ~PeerWorld();

    /// Until the choices end, then a while of honest answers. Checks the peer's invariants after
    /// every event, and what its driver may rely on.
    void run();

  private:
    struct Link {
        Endpoint remote;
        bool is_closing = false;
        std::size_t unwritten = 0;        ///< frames given to Send
        std::optional<Digest> challenge;  ///< the peer's nonce
        std::uint8_t stranger = 0;        ///< the number of its stranger, once introduced; 0: none
        std::uint8_t proven = 0;          ///< the other end's number, where links prove it
    };
    /// What the peer has said on a link that belongs to a stranger.
    struct Heard {
        LinkId link;
        wire::Message message;
    };

    // peer_world.cpp: choices, events, actions
    std::uint8_t byte();
    std::size_t pick(std::size_t count) { return byte() % count; }
    bool coin() { return (byte() & 1) == 1; }
    void take_choice();
    void tell(const Event& event);
    void act(const Action& action);
    void sent(LinkId link, const Buffer& frame);
    void apply(const action::Apply& apply);
    void tick();
    void open_link(const Endpoint& remote, bool dialled);
    void close_link();
    void write_frames();
    void train();
    void answer_trainer();
    void host();
    void read_history(const action::ReadHistory& read);
    void check_vote(const wire::Message& message, const wire::Accept& accept);
    Link* any_link(LinkId& id);

    // peer_messages.cpp: what strangers say, whatever it is
    void introduce(std::uint8_t stranger);
    void say(LinkId id, std::uint64_t generation, StepIndex step, wire::Body body);
    void say_anything();
    // peer_answers.cpp: what honest ones would say
    void beat();
    void call();
    void answer();
    void answer_as(const Heard& heard);
    void answer(const Heard& heard, const wire::Join& join);
    void answer(const Heard& heard, const wire::Plan& plan);
    void answer(const Heard& heard, const wire::Chunk& chunk);
    wire::Elements numbers(std::size_t count, std::uint8_t number) const;
    void note_average(const wire::Chunk& chunk);
    void be_ready(const wire::Message& message);
    void propose(const Heard& heard, const Digest& average);
    void commit(const Heard& heard, const Term& term, const Digest& digest);
    void offer(const Heard& heard);
    void answer_history(const Heard& heard);
    std::vector<Vote> votes_of_all(std::span<const std::byte> bytes) const;
    std::uint8_t exponent() const;
    std::uint32_t chunk_elements() const;
    wire::Body any_body();
    wire::Body any_body_outside_rounds(std::size_t choice);
    wire::Body any_body_of_a_round(std::size_t choice);
    wire::Body any_decision(std::size_t choice);
    wire::Plan any_plan(std::uint8_t stranger);
    wire::PlanChange any_plan_change();
    Term any_term();
    Digest any_digest();
    StepIndex any_step();
    std::optional<CommitRecord> maybe_record();
    Certificate any_certificate(const CommitRecord& record);
    SignedPause any_pause();
    std::vector<PeerKey> any_voters();
    std::vector<Vote> any_votes(StateCertificate state);
    wire::StateVotes any_state_votes();
    wire::Relay any_relay();
    std::uint8_t any_exponent();

    /// A state of the run as it is in this world: bytes that depend on the step alone.
    static Buffer state_at(StepIndex step);
    static Digest state_digest(StepIndex step);

    ByteReader choices_;
    bool is_over_ = false;
    std::uint8_t self_ = 1;
    bool proves_links_ = false;
    Codec codec_ = Codec::kFp32;
    bool mixes_forms_ = false;  ///< strangers sign what need not be, and leave out what must
    std::optional<Peer> peer_;
    TimePoint now_{};
    std::size_t events_ = 0;

    std::map<LinkId, Link> links_;
    std::uint64_t next_link_ = 1;
    std::uint64_t sequence_ = 0;
    TimePoint beat_at_{};  ///< the record in the strangers' heartbeats
    std::set<Endpoint> dials_;
    std::deque<Event> trainer_;      ///< answers that it owes
    std::optional<StepIndex> held_;  ///< the state that the trainer will hold after those
    bool works_ = false;
    bool wants_generation_ = false;
    GenerationRecord wanted_;

    std::deque<Heard> heard_;
    Head head_;
    std::vector<Term> terms_;
    std::vector<Digest> digests_;
    std::vector<CommitRecord> records_;
    std::optional<wire::Plan> plan_;  ///< the last one, of any coordinator
    std::optional<CommitRecord> proposal_;
    std::vector<Decision> decided_;  ///< what the peer has committed, for its host's ledger
    /// What it has voted for: one record in each term of a round.
    std::map<std::tuple<std::uint64_t, StepIndex, Term>, Digest> voted_;
    std::map<std::uint32_t, FloatVector> average_;  ///< chunks that the peer gave back
};

}  // namespace dedloc::fuzz
