// CatchUp brings a peer's model state to the swarm's: it gives a new peer its first state, brings a
// peer that is behind up to date and repairs a damaged state.
//
// Targets    States that a majority of the voters has signed (StateCertificate). No other state is
//            ever loaded. Every offer carries its own certificate, so donors are not trusted.
// Rounds     A peer that is a few steps behind in the same history fetches the decided averages and
//            applies them one after the other: at most RoundRules::kept_averages from any donor,
//            and as many as a state is worth from a backbone.
// State      Any other peer fetches a whole state. Its leaves come from all donors that hold the
//            same state (download.hpp). Leaves of this peer's own state of that step are reused if
//            their digests match.
// Lists      An array with too many leaves for one offer is offered with the digests of the pages
//            of their list (leaf_list.hpp). The list is fetched first; if it does not lead to the
//            certified or decided root, the donors that offered it have lied.
// Rest       A peer whose link cannot follow the swarm (pace.hpp), or that has received six times
//            the bytes of a state or two whole states without having reached the swarm's, notes
//            that and rests: a minute at first, then twice as long each time, up to 16 minutes. So
//            it does not drain its donors.
//
//            begin() ─► ask ≤ 4 donors ─► rounds: take_round() … until the target is reached
//                          │     ▲            │ no donor retains the round
//                          ▼     │ all lost   ▼
//                        whole state ─► action::Load ─► reached() ─► rounds, if still behind
//                               ▲             │
//                               └─ refused() ─┘
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/config.hpp"
#include "peer/outbox.hpp"
#include "peer/state/download.hpp"
#include "peer/state/own.hpp"
#include "peer/state/pace.hpp"

namespace dedloc::state {

/// A linked peer that may serve as a donor, as described by its last heartbeat.
struct DonorCandidate {
    PeerKey peer;                  ///< its public key
    std::uint64_t generation = 0;  ///< the generation it has reached
    StepIndex step;                ///< the step of its head
    bool has_state = false;        ///< it holds the model state of `step`
    Digest state;                  ///< digest of that state; meaningless without has_state
    bool is_voter = false;         ///< it votes; other donors are preferred
    bool is_backbone = false;      ///< it retains rounds_of_a_state() averages
};

/// A decided round to apply to this peer's state.
struct FetchedRound {
    CommitRecord record;      ///< what was decided
    Certificate certificate;  ///< proves the record
    SharedFloats average;     ///< the average; its digest is the record's
};

/// Fetches what this peer lacks, from any donors. The core delivers events and messages to it.
class CatchUp {
  public:
    /// Lists the linked peers, as their last heartbeats describe them.
    using Candidates = std::function<std::vector<DonorCandidate>()>;
    /// Whether this record extends this peer's head and its certificate proves it.
    using IsDecided = std::function<bool(const CommitRecord&, const Certificate&)>;
    /// Whether this certificate is valid and this peer may move to its state.
    using IsProven = std::function<bool(const StateCertificate&)>;

    /// `rules` must outlive this object. `random` breaks ties between donors.
    CatchUp(const RoundRules& rules, Candidates candidates, IsDecided is_decided,
            IsProven is_proven, Random random);

    /// The round that led to the state of this step was decided at this moment.
    void decided(TimePoint now, StepIndex step) { pace_.decided(now, step); }
    /// A voter's heartbeat says how long a round takes (Pace::told).
    void told_round(const PeerKey& voter, Duration round) { pace_.told(voter, round); }
    /// Mean duration of the last rounds; zero: unknown.
    Duration round() const { return pace_.round(); }
    /// Adds a target. Keeps the 32 newest targets of the newest generation. A target of a lower
    /// generation is ignored. One of a higher generation ends the present fetch, but not a load;
    /// then call begin() again.
    /// Requires  a certificate that has been verified
    void aim(TimePoint now, const StateCertificate& target, Outbox& out);
    /// The decided history of this generation reaches `head`. Rounds before it are fetched even
    /// where no state of that step is signed yet.
    void follow(std::uint64_t generation, StepIndex head);
    /// Starts a fetch, unless one is active, this peer rests, or `own` has reached the goal.
    /// Deadline   none overall, as donors come and go; next_deadline() drives retries
    void begin(TimePoint now, const Own& own, Outbox& out);

    /// A donor offers a whole state. `step` is the envelope's step, so the state's.
    void offered(TimePoint now, const PeerKey& from, StepIndex step, const wire::StateOffer& offer,
                 Outbox& out);
    /// A donor offers a decided round. `step` is the envelope's step, so the round's.
    void offered(TimePoint now, const PeerKey& from, StepIndex step, const wire::RoundOffer& offer,
                 Outbox& out);
    /// Takes any Leaf message. Leaves that were not requested are ignored.
    void received(TimePoint now, const PeerKey& from, const wire::Leaf& leaf, Outbox& out);
    /// Takes every event::SnapshotTaken. Reuses the leaves if this object requested the snapshot.
    void own_snapshot(TimePoint now, const event::SnapshotTaken& snapshot, Outbox& out);

    /// Takes every event::StateReached. After a load, fetches what is still missing. After an
    /// update whose digest is not the certified one, fetches a whole state.
    void reached(TimePoint now, StepIndex step, const Digest& state, Outbox& out);
    /// Takes event::StateRefused: fetches the state again without reusing this peer's own leaves.
    void refused(TimePoint now, Outbox& out);

    /// Returns a complete round that the caller must apply, or nothing. The next advance(), due at
    /// once, requests the next round, so at most one waits here. By then the peer's head must
    /// include this round, or is_decided() refuses the next one.
    std::optional<FetchedRound> take_round();
    /// Whether the trainer has been given a state and has not answered yet.
    bool is_loading() const { return mode_ == Mode::kLoading; }

    /// A heartbeat of this peer has arrived. If no donor is asked or gives, and this one could, it
    /// is asked now, not only when the next query is due.
    void heard(TimePoint now, const PeerKey& peer);
    /// The link to this peer is lost: drops it as a donor.
    void lost(TimePoint now, const PeerKey& peer, Outbox& out);
    /// Time has passed: drops stalled donors and repeats queries.
    void advance(TimePoint now, Outbox& out);
    /// When advance() is due; kNever if nothing waits for a time.
    TimePoint next_deadline() const;
    /// Drops the fetch, with a round that is not taken, but not a load; begin() starts another one.
    /// What is to be reached stays: within a generation nothing makes this object forget it.
    void stop();
    /// True from begin() until the goal is reached: the last round taken, or the state loaded.
    bool is_active() const { return mode_ != Mode::kIdle || fetched_; }
    /// Number of leaves verified and rounds completed since construction. It grows while the fetch
    /// makes progress.
    std::uint64_t progress() const { return progress_; }
    /// DEDLOC_CHECKs what must hold between two events.
    void check_invariants() const;

  private:
    static constexpr std::size_t kMaxOffers = 8;  ///< in offers_

    enum class Mode : std::uint8_t {
        kIdle,    ///< no fetch
        kRounds,  ///< fetching the average of the round at own_.step
        kState,   ///< fetching a whole state
        kLoading  ///< the trainer loads target_
    };
    /// A StateOffer that is not in use yet.
    struct Offer {
        TimePoint at;  ///< when it arrived
        StepIndex step;
        wire::StateOffer state;
        Digest root;  ///< the state's digest, computed from the offered leaves
        Digest list;  ///< root of the list that the leaves came in; zeros: they were in the offer
    };
    /// The list of leaf digests that is being fetched.
    struct Listing {
        StepIndex step;
        wire::Body offer;  ///< StateOffer or RoundOffer: complete but for the digests of the leaves
        std::shared_ptr<Buffer> bytes;  ///< filled by `download`
        Download download;
    };
    /// The round that is being fetched.
    struct Round {
        CommitRecord record;
        Certificate certificate;
        std::shared_ptr<FloatVector> average;
    };

    // Choice of donors and their failures (catch_up_donors.cpp).
    void ask(TimePoint now, Outbox& out);
    std::vector<DonorCandidate> pick_donors();
    /// The step of the round or the state that this donor is asked for. If the goal has become old,
    /// as it does during an absence, that is the donor's own: it may still hold a snapshot of an
    /// older state.
    StepIndex wanted_from(const DonorCandidate& donor) const;
    bool could_give(const DonorCandidate& candidate) const;
    void answered(TimePoint now, const PeerKey& from, Outbox& out);
    void lie(TimePoint now, const PeerKey& donor, std::uint32_t leaf, Outbox& out);
    void without_donors(TimePoint now, Outbox& out);
    void drop_stalled(TimePoint now, Outbox& out);
    bool has_donors() const {
        return (download_ && download_->donor_count() > 0) ||
               (listing_ && listing_->download.donor_count() > 0);
    }
    bool is_asking() const { return mode_ == Mode::kRounds || mode_ == Mode::kState; }

    // Choice of what to fetch.
    /// The highest known step: of the newest target or of the decided history.
    StepIndex goal() const;
    void enter_generation(std::uint64_t generation);
    const StateCertificate* aim_at(StepIndex step) const;
    void remember(const StateCertificate& target);
    bool is_at_aim() const;
    /// The goal is reached.
    void finish();
    /// Ends the fetch, and allows no other one for a while. `why` is told before what has been
    /// measured; it may be empty.
    void rest(TimePoint now, const std::string& why, Outbox& out);
    /// Whether a certified state of this step would improve this peer's state.
    bool is_news(StepIndex step) const;
    /// Whether this peer is sound and few enough steps behind to fetch rounds.
    bool wants_rounds() const;
    std::int64_t rounds_to_spare(const DonorCandidate& candidate) const;
    /// Whether the average of the round at own_.step may still be retained by this donor.
    bool may_retain(const DonorCandidate& candidate) const;
    void proceed(TimePoint now, Outbox& out);
    void enter(TimePoint now, Mode mode, Outbox& out);
    void forget_fetch();
    void go_idle();

    // Fetching a whole state.
    /// Whether the offered state is a target.
    bool is_aimed(const Offer& offer) const;
    /// Whether the offered state is a target or its certificate is valid; in the latter case it
    /// becomes a target. Notes a donor that offers any other state.
    bool is_proven(const PeerKey& from, const Offer& offer, Outbox& out);
    void choose_state(TimePoint now, Outbox& out);
    void join_donors(TimePoint now);
    void start_state(TimePoint now, StepIndex step, Outbox& out);
    void finish_state(Outbox& out);

    // Fetching a list of leaf digests (catch_up_lists.cpp).
    /// Whether the offer of an array of this size has the digests of its list's pages.
    static bool has_pages(const std::vector<Digest>& offered, std::uint64_t bytes);
    /// Takes an offer with pages: begins a listing, or adds the donor to the one with these pages
    /// or to the download whose list has them. Another list waits until no donor of this one is
    /// left.
    void list_first(TimePoint now, const PeerKey& from, StepIndex step, wire::Body offer,
                    const std::vector<Digest>& pages, std::uint64_t bytes);
    void received_page(TimePoint now, const PeerKey& from, const wire::Leaf& page, Outbox& out);
    /// Every page is there: goes on with the offer as if it had had all digests.
    void finish_list(TimePoint now, Outbox& out);
    void drop_from_list(const PeerKey& donor);
    /// Notes that the donor's list is wrong, and drops the donor.
    void lie_in_list(TimePoint now, const PeerKey& donor, StepIndex step, Outbox& out);

    // Fetching a round.
    bool is_usable(const wire::RoundOffer& offer) const;
    void finish_round(TimePoint now);

    /// Requests missing leaves, or finishes the fetch when the download is complete.
    void go_on(TimePoint now, Outbox& out);

    const RoundRules& rules_;
    const Candidates candidates_;
    const IsDecided is_decided_;
    const IsProven is_proven_;
    Random random_;

    std::uint64_t generation_ = 0;                ///< generation of head_ and aims_
    StepIndex head_;                              ///< where the decided history stands
    std::map<StepIndex, StateCertificate> aims_;  ///< the targets, by step
    std::uint64_t progress_ = 0;
    Pace pace_;
    std::uint32_t loaded_ = 0;        ///< states loaded since begin()
    Duration rest_;                   ///< length of the next rest
    TimePoint rests_until_ = kNever;  ///< kNever: does not rest
    Mode mode_ = Mode::kIdle;
    Own own_;                       ///< this peer's state, including rounds already handed over
    bool knows_own_state_ = false;  ///< own_.state is valid; false while an update is unreported
    bool distrusts_own_ = false;    ///< a load with this peer's own leaves was refused

    /// Donors queried in this fetch; only their offers are accepted. The value counts the queries
    /// since the donor's last verified leaf.
    std::map<PeerKey, std::uint32_t> asked_;
    std::set<PeerKey> awaited_;        ///< donors that have not answered the last query
    std::map<PeerKey, Offer> offers_;  ///< offers that are not in use
    std::set<PeerKey> givers_;         ///< donors that offered the state being fetched
    std::set<PeerKey> liars_;          ///< donors that sent a leaf with a wrong digest
    TimePoint lied_at_;                ///< when a wrong leaf last arrived
    TimePoint asked_at_;               ///< when donors were last queried
    TimePoint ask_again_ = kNever;     ///< when donors are queried again

    Duration leaf_time_{};                 ///< Download::leaf_time() of the last download
    std::optional<Listing> listing_;       ///< the list that is fetched before a download
    Digest list_;                          ///< root of the list of download_; zeros: it had none
    std::optional<Download> download_;     ///< fills bytes_ or round_->average
    std::shared_ptr<Buffer> bytes_;        ///< the state being fetched
    StateCertificate target_;              ///< the state that is fetched or loaded
    TimePoint own_leaves_until_ = kNever;  ///< deadline for the snapshot of this peer's state
    std::optional<Round> round_;           ///< the round being fetched
    std::optional<FetchedRound> fetched_;  ///< a complete round that take_round() returns
};

}  // namespace dedloc::state
