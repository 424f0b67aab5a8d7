// How a newcomer gets the state, how a peer that is behind catches up, and how a damaged state is
// mended.
//
// Aim        states that a majority of the voters has signed (StateCertificate). Nothing else is
//            ever loaded; an offer carries its own certificate
// Rounds     a few steps behind in the same history: the decided averages, one after the other
// State      else a whole one, its leaves from all donors that hold the same (download.hpp); leaves
//            that are known to be right, also from the own state of that step, are not asked for
//
//            begin ─► asks ≤ 4 donors ─► rounds: take_round() … until the aim is reached
//                          │    ▲            │ nobody has the round any more
//                          ▼    │ all gone   ▼
//                        whole state ─► action::Load ─► reached() ─► rounds, if it is behind again
//                               ▲             │
//                               └─ refused() ─┘
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/config.hpp"
#include "peer/outbox.hpp"
#include "peer/state/download.hpp"
#include "peer/state/own.hpp"

namespace dedloc::state {

/// A peer that may have something to give, from its last heartbeat.
struct DonorCandidate {
    PeerKey peer;
    std::uint64_t generation = 0;
    StepIndex step;
    bool has_state = false;
    Digest state;
    bool is_voter = false;
};

/// A decided round to apply to the own state. Its average is the record's.
struct FetchedRound {
    CommitRecord record;
    Certificate certificate;
    SharedFloats average;
};

class CatchUp {
  public:
    using Candidates = std::function<std::vector<DonorCandidate>()>;
    /// Whether this record extends the own head and its certificate proves it.
    using IsDecided = std::function<bool(const CommitRecord&, const Certificate&)>;
    /// Whether this state is proven, and this peer may go there.
    using IsProven = std::function<bool(const StateCertificate&)>;

    /// The rules must outlive this.
    CatchUp(const RoundRules& rules, Candidates candidates, IsDecided is_decided,
            IsProven is_proven, Random random);

    /// Requires a target that is proven. Keeps the last 32 of the newest generation. A target of a
    /// lower one is ignored; one of a higher one ends what is under way, except a load: begin()
    /// again.
    void aim(TimePoint now, const StateCertificate& target, Outbox& out);
    /// Decisions have got so far in this generation: rounds up to there are fetched as soon as they
    /// are decided, with or without a state that is signed already.
    void follow(std::uint64_t generation, StepIndex head);
    /// Asks donors, unless something is under way or `own` is where the aim is.
    /// Deadline   none overall: donors come and go; next_deadline() says when it moves by itself
    void begin(TimePoint now, const Own& own, Outbox& out);

    /// The envelope's step.
    void offered(TimePoint now, const PeerKey& from, StepIndex step, const wire::StateOffer& offer,
                 Outbox& out);
    void offered(TimePoint now, const PeerKey& from, StepIndex step, const wire::RoundOffer& offer,
                 Outbox& out);
    /// A leaf of anything; what was not asked for is ignored.
    void received(TimePoint now, const PeerKey& from, const wire::Leaf& leaf, Outbox& out);
    /// Every event::SnapshotTaken: the own leaves, when this asked for them.
    void own_snapshot(TimePoint now, const event::SnapshotTaken& snapshot, Outbox& out);

    /// Every event::StateReached. After a load: on to what is still missing. After an update: if
    /// the digest is not the aim's, a whole state is fetched.
    void reached(TimePoint now, StepIndex step, const Digest& state, Outbox& out);
    /// event::StateRefused: from the start, and without the own leaves.
    void refused(TimePoint now, Outbox& out);

    /// A round that is complete, to be applied. The next one is asked for once this is taken (by
    /// the next advance(), which is due at once), so no more than one waits here; is_decided() must
    /// know this one by then.
    std::optional<FetchedRound> take_round();
    bool is_loading() const { return mode_ == Mode::kLoading; }

    void lost(TimePoint now, const PeerKey& peer, Outbox& out);
    void advance(TimePoint now, Outbox& out);
    TimePoint next_deadline() const;
    void reset();
    /// From begin() until the aim is reached (the last round taken, or the state loaded).
    bool is_active() const { return mode_ != Mode::kIdle || fetched_; }
    /// Of what is being fetched, how much is verified: 0 to 1.
    double fraction() const;
    /// Leaves that were verified and rounds that were taken, ever: grows as long as it gets on.
    std::uint64_t progress() const { return progress_; }
    void check_invariants() const;

  private:
    enum class Mode : std::uint8_t { kIdle, kRounds, kState, kLoading };
    struct Offer {
        TimePoint at;
        StepIndex step;
        wire::StateOffer state;
        Digest root;  ///< of the state, from its leaves
    };
    struct Round {
        CommitRecord record;
        Certificate certificate;
        std::shared_ptr<FloatVector> average;
    };

    // Whom to ask (catch_up_donors.cpp).
    void ask(TimePoint now, Outbox& out);
    std::vector<PeerKey> pick_donors();
    bool could_give(const DonorCandidate& candidate) const;
    void answered(TimePoint now, const PeerKey& from, Outbox& out);
    void lie(TimePoint now, const PeerKey& donor, std::uint32_t leaf, Outbox& out);
    void without_donors(TimePoint now, Outbox& out);
    void drop_stalled(TimePoint now, Outbox& out);
    bool has_donors() const { return download_ && download_->donor_count() > 0; }
    bool is_asking() const { return mode_ == Mode::kRounds || mode_ == Mode::kState; }

    // What to fetch.
    StepIndex goal() const;
    void enter_generation(std::uint64_t generation);
    const StateCertificate* aim_at(StepIndex step) const;
    void remember(const StateCertificate& target);
    bool is_at_aim() const;
    /// Whether a state of this step is better than the own one.
    bool is_news(StepIndex step) const;
    bool wants_rounds() const;
    void proceed(TimePoint now, Outbox& out);
    void enter(TimePoint now, Mode mode, Outbox& out);
    void stop();
    void forget_fetch();

    // A whole state.
    bool is_aimed(const Offer& offer) const;
    /// Is an aim by then, if its certificate proves it. Notes a peer that offers anything else.
    bool is_proven(const PeerKey& from, const Offer& offer, Outbox& out);
    void choose_state(TimePoint now, Outbox& out);
    void join_donors(TimePoint now);
    void start_state(TimePoint now, StepIndex step, Outbox& out);
    void finish_state(Outbox& out);

    // A round.
    bool is_usable(const wire::RoundOffer& offer) const;
    void finish_round(TimePoint now);

    /// Requests what is missing, or ends the download when nothing is.
    void go_on(TimePoint now, Outbox& out);

    const RoundRules& rules_;
    const Candidates candidates_;
    const IsDecided is_decided_;
    const IsProven is_proven_;
    Random random_;

    std::uint64_t generation_ = 0;
    StepIndex head_;
    bool has_goal_ = false;                       ///< an aim or a head is known
    std::map<StepIndex, StateCertificate> aims_;  ///< of that generation, ascending
    std::uint64_t progress_ = 0;
    Mode mode_ = Mode::kIdle;
    Own own_;
    bool knows_own_state_ = false;  ///< own_.state holds; false after an update not yet reported
    bool distrusts_own_ = false;    ///< the own leaves did not lead to the promised digest

    /// In this fetch, so whose offers are taken; and how often since it last sent something right.
    std::map<PeerKey, std::uint32_t> asked_;
    std::set<PeerKey> awaited_;        ///< of the last asking, who has not answered
    std::map<PeerKey, Offer> offers_;  ///< answers that are not in use (yet)
    std::set<PeerKey> givers_;         ///< have offered what is being fetched
    std::set<PeerKey> liars_;          ///< sent a leaf with another digest; not asked again
    TimePoint lied_at_;
    TimePoint asked_at_;
    TimePoint ask_again_ = kNever;

    std::optional<Download> download_;     ///< of the state or the round
    std::shared_ptr<Buffer> bytes_;        ///< of the state
    StateCertificate target_;              ///< the state that is fetched or loaded
    TimePoint own_leaves_until_ = kNever;  ///< waiting for the own snapshot until then
    std::optional<Round> round_;
    std::optional<FetchedRound> fetched_;
};

}  // namespace dedloc::state
