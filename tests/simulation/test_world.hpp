// A world with faults, hostile hosts and checkers. The checkers see every event and action, and the
// peer's own invariants are checked after each of its events.
//
//     TestWorld world{seed, rules};
//     world.add_backbone();
//     const auto trainers = world.add_trainers(8, Profile::home());
//     world.kill(trainers[2], Point::kHalfScatterSent, StepIndex{3});
//     REQUIRE(world.run_until([&] { return world.are_all_at(StepIndex{10}); }, 10min));
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "peer/simulation/hooks.hpp"
#include "peer/simulation/world.hpp"
#include "tests/hostile/adversary.hpp"
#include "tests/simulation/checkers.hpp"
#include "tests/simulation/kill_points.hpp"
#include "tests/simulation/trace.hpp"

namespace dedloc::simulation {

/// The properties of a world under test.
struct TestWorldOptions : WorldOptions {
    bool computes_averages = true;  ///< recomputes averages; false saves time in large worlds
    std::size_t flood_per_second = 5'000;  ///< hostile::AdversarySettings::flood_per_second
    bool checks_bytes_queued = true;       ///< a peer that queues too much at a link is a violation
    bool checks_invariants = true;   ///< checks the peer after each of its events: O(its links)
    bool keeps_whole_trace = false;  ///< Trace::keep_all()
    std::string replay{};            ///< how to repeat the run, for the message of a failure
};

/// A world under test. All that runs it throws Violation, with describe().
class TestWorld final : public World, private Hooks {
  public:
    /// A world with these rules and otherwise default options.
    TestWorld(std::uint64_t seed, const RoundRules& rules);
    TestWorld(std::uint64_t seed, const TestWorldOptions& options);
    ~TestWorld() override;

    /// Adds and starts a peer whose frames pass through an adversary.
    Id add_hostile(hostile::Misbehaviour misbehaviour, const Profile& profile = {},
                   Role role = Role::kTrainer);

    // --- faults ---
    /// Ends the host's process, or its machine.
    void crash(Id id, Exit exit = Exit::kFlushed);
    /// Starts a crashed host's peer again.
    void restart(Id id, Memory memory = Memory::kDisk) { start(id, memory); }
    /// Crashes the host when it reaches a point in the round of `step` or in a later one.
    void kill(Id id, Point point, StepIndex step, Exit exit = Exit::kFlushed);
    void spare(Id id);  ///< cancels kill() if the host has not reached the point
    /// The step of the round in which kill() has crashed the host; nothing if it has not.
    std::optional<StepIndex> killed_in(Id id) const;
    void hang(Id id);                       ///< the process neither reads nor writes until wake()
    void wake(Id id);                       ///< the process continues with the events that waited
    void suspend(Id id);                    ///< event::LeaveRequested
    void resume(Id id);                     ///< event::ReturnRequested after suspend(), also if
                                            ///< the process hangs by now
    void jump_clock(Id id, Duration step);  ///< the host's clock jumps forward
    /// Whether new links to this host can be opened from now on; its peer is told.
    void set_dialable(Id id, bool is_dialable);
    void partition(const std::vector<Id>& side);  ///< these hosts cannot reach the others
    void heal();                                  ///< ends partition(), part() and block()
    void part(Id one, Id other);                  ///< the two hosts cannot reach each other
    /// Frames from `from` to `to` are lost; false: not any more, once the two have a new link.
    void block(Id from, Id to, bool is_blocked);
    /// Sets the host's bandwidths to `factor` times its profile's.
    void scale_bandwidth(Id id, double factor);
    void cut(Id id, std::uint64_t which);         ///< cuts link `which` modulo their number
    void silent_cut(Id id, std::uint64_t which);  ///< the same, and neither end is told
    /// Every frame from now on has a byte changed with this probability. Proven links detect that
    /// and close.
    void corrupt(double probability) { corruption_ = probability; }
    void fill_disk(Id id, bool is_full);  ///< a backbone that cannot write crashes
    void poison(Id id);                   ///< its next contribution is not finite
    /// Changes a parameter of the host in its next update at which a majority of the voters, not
    /// counting this host, is up and undamaged. Otherwise the voters might sign the damaged state,
    /// which would then be the swarm's state.
    void flip_a_bit(Id id);
    using World::note;  ///< adds a line to the trace

    // --- observation ---
    bool is_alive(Id id) const;              ///< its process runs
    bool is_damaged(Id id) const;            ///< alive, and its state contains a flipped bit
    bool is_finished(Id id) const;           ///< its peer was told that the run is over
    bool has_left(Id id) const;              ///< its peer has left the swarm after suspend()
    bool is_refused(Id id) const;            ///< its peer was refused by the swarm
    Digest digest(Id id) const;              ///< digest of its model state
    bool is_paused(Id id) const;             ///< its peer knows that the run is paused
    TurnKind turn(Id id) const;              ///< its turn, as its peer was told last
    std::uint64_t loads(Id id) const;        ///< whole states that it has loaded in this life
    std::size_t ledger_length(Id id) const;  ///< number of ledger entries on its disk
    bool is_hostile(Id id) const;            ///< its frames pass through an adversary
    /// How often honest peers have accused this host's peer (action::Note::suspect).
    std::size_t accusations(Id id) const;
    /// The coordinator as seen by the first host that is up and knows one; nothing if none does.
    std::optional<Id> coordinator() const;
    /// What the host has sent and received.
    const Traffic& traffic(Id id) const { return network().traffic(id); }
    /// Bytes that the host has given to its links and that have not been sent yet.
    std::uint64_t queued_bytes(Id id) const;
    /// The invariants and everything that they know of the swarm.
    const Checkers& checkers() const { return checkers_; }
    /// All action::Settled of all peers, in order.
    const std::vector<action::Settled>& settled() const { return settled_; }
    /// Hash of the history so far.
    std::uint64_t trace_hash() const { return trace_.hash(); }
    /// The trace so far.
    const Trace& trace() const { return trace_; }
    /// Seed, time, hosts, how to replay, and the last lines of the trace.
    std::string describe() const;

  private:
    /// A host under test: what is in store for it, and what it was seen to do.
    struct Trial {
        std::optional<hostile::Misbehaviour> misbehaviour{};  ///< nothing: an honest peer
        std::unique_ptr<hostile::Adversary> adversary{};      ///< null: an honest peer
        std::optional<KillPoint> kill_point{};                ///< where it dies, if anywhere
        Exit kill_exit = Exit::kFlushed;                      ///< how it dies there
        bool was_killed = false;                              ///< it has died there
        bool has_flip_coming = false;  ///< a bit flips with one of its next updates
        bool has_left = false;         ///< action::Left
        std::string refusal{};         ///< the reason in action::Refused; empty: none
        std::uint64_t loads = 0;       ///< number of whole states loaded in this life
        TurnKind turn{};               ///< the last action::TurnChanged
        PeerKey coordinator{};         ///< the coordinator by its last action::SwarmSeen
    };

    // The hooks.
    void added(NodeId id) override;
    void starts(NodeId id) override;
    bool takes_event(NodeId id, const Event& event) override;
    void before_event(NodeId id, const Event& event) override;
    void after_event(NodeId id) override;
    void before_action(NodeId id, const Actions& actions, std::size_t i) override;
    void performs(NodeId id, const Action& action) override;
    void after_action(NodeId id, const Actions& actions, std::size_t i) override;
    bool takes_frame(NodeId id, const action::Send& send) override;
    SharedBytes transmits(LinkId link, SharedBytes frame) override;
    void frozen(NodeId id, const Frozen& frozen) override;
    void generation_signed(const SignedGeneration& generation) override;
    void noted(NodeId id, const std::string& line) override;
    void failed(const std::exception& error) override;

    void check(Id id, const Action& action);
    void check_queue(Id id, const action::Send& send) const;
    void flip_if_noticed(Id id);
    void die_at_point(Id id);
    void check_leaving(Id id, std::uint64_t life) const;
    bool is_damage_noticed(Id id) const;
    void act_as_adversary(Id id, const Actions& actions);

    const TestWorldOptions settings_;
    std::deque<Trial> trials_;  ///< one for each host
    Trace trace_;
    Checkers checkers_;
    std::vector<action::Settled> settled_;
    std::map<PeerKey, std::size_t> accusations_;
    Duration jumps_{};  ///< sum of all jumps of clocks
    double corruption_ = 0;
};

}  // namespace dedloc::simulation
