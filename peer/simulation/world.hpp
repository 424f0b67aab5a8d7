// A seeded world for the protocol core: virtual time, a network, hosts with disks and clocks, and
// whatever goes wrong with them. The same seed gives the same history, event by event; after every
// event the checkers and the peer's own invariants are asked.
//
//     World world{seed, rules};
//     world.add_backbone();
//     const auto trainers = world.add_trainers(8, Profile::home());
//     world.kill(trainers[2], Point::kHalfScatterSent, StepIndex{3});
//     REQUIRE(world.run_until([&] { return world.are_all_at(StepIndex{10}); }, 10min));
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/hostile/misbehaviour.hpp"
#include "peer/peer.hpp"
#include "peer/simulation/checkers.hpp"
#include "peer/simulation/clock.hpp"
#include "peer/simulation/kill_points.hpp"
#include "peer/simulation/network.hpp"
#include "peer/simulation/observer.hpp"
#include "peer/simulation/problem.hpp"
#include "peer/simulation/trace.hpp"
#include "peer/simulation/virtual_trainer.hpp"

namespace dedloc::simulation {

/// One host.
struct Profile {
    Connection connection;
    Duration micro_batch_time = std::chrono::milliseconds{400};
    std::uint64_t micro_batch = 16;      ///< samples
    bool receives = true;                ///< of an aggregator: false, it holds no state
    Duration apply_time{};               ///< from Apply or Load to StateReached
    std::int64_t drift_ppm = 0;          ///< the clock gains so many µs a second
    std::uint64_t checkpoint_every = 1;  ///< steps between checkpoints on its disk
    bool guesses_bandwidth = true;       ///< tells the peer its own bandwidths as a first guess
    bool measures_bandwidth = true;      ///< false: the peer keeps to the first guess
    bool holds_first_state = false;      ///< need not fetch the state that the run begins with

    static Profile with_mbit(double upload, double download);
    static Profile home();    ///< 100 down, 20 up, in Mbit/s
    static Profile office();  ///< 1,000 both ways
    Profile outbound_only() const;
};

/// What a host still has when its peer starts again.
enum class Memory : std::uint8_t {
    kLost,   ///< its key only
    kDisk,   ///< what was on its disk
    kStale,  ///< its model state is that of an older checkpoint; a backbone's records are kept
};

/// What the directory does to its answers, which travel as datagrams.
struct DirectoryFaults {
    double missing = 0;    ///< probability that an answer is lost
    double duplicate = 0;  ///< … comes twice
    double stale = 0;      ///< … names an address where nobody was for long
    double partial = 0;    ///< … of each address, to be left out
};

enum class ProblemKind : std::uint8_t { kQuadratic, kTinyNetwork };

struct WorldOptions {
    RoundRules rules;
    NetworkOptions network;
    ProblemKind problem = ProblemKind::kQuadratic;
    /// Voters of the first round, on hosts 0, 1, …: the backbone alone by generation 0, more by a
    /// generation 1 that the project has signed before the run begins.
    std::size_t voters = 1;
    bool auto_sign = true;          ///< the project signs generations that are wanted
    bool computes_averages = true;  ///< checks averages; false saves time in large worlds
    /// Links say whose they are, as after a real network's handshake; nothing: the seed decides.
    std::optional<bool> proves_links{};
    bool checks_bytes_queued = true;
    bool checks_invariants = true;  ///< of every peer after every event: O(its links)
    Observer* observer = nullptr;   ///< outlives the world
    Duration directory_interval = std::chrono::seconds{1};
    std::size_t directory_answer = 64;  ///< most addresses in one, beside the run's backbone
    bool keeps_whole_trace = false;
    std::string replay;  ///< how to see it again, for the message of a failure
};

class World final : private NetworkSink {
  public:
    using Id = NodeId;

    World(std::uint64_t seed, const RoundRules& rules);
    World(std::uint64_t seed, const WorldOptions& options);
    ~World() override;

    // --- who is there ---
    /// The first host; then other voters, or backbones that may be appointed.
    Id add_backbone(const Profile& profile = {});
    /// As many as WorldOptions::voters, which come first.
    std::vector<Id> add_voters(const Profile& profile = {});
    /// The project wants these to vote, and tells its backbone (host 0), now and at every start.
    void appoint(const std::vector<Id>& voters);
    Id add_trainer(const Profile& profile = {});
    std::vector<Id> add_trainers(std::size_t count, const Profile& profile = {});
    Id add_aggregator(const Profile& profile = {});
    /// A trainer whose frames pass through an adversary.
    Id add_hostile(hostile::Misbehaviour misbehaviour, const Profile& profile = {});
    /// A host whose peer does not run until start().
    Id add(Role role, const Profile& profile);
    void start(Id id, Memory memory = Memory::kLost);

    // --- what goes wrong ---
    void crash(Id id, Exit exit = Exit::kFlushed);
    void restart(Id id, Memory memory = Memory::kDisk) { start(id, memory); }
    /// Dies at a point of the round of `step`.
    void kill(Id id, Point point, StepIndex step, Exit exit = Exit::kFlushed);
    void spare(Id id);  ///< takes kill() back, unless it has happened
    /// The round of the point, once it is reached.
    std::optional<StepIndex> killed_in(Id id) const;
    void hang(Id id);  ///< neither reads nor writes nor closes …
    void wake(Id id);  ///< … and goes on as if nothing had happened
    void suspend(Id id);
    void resume(Id id);
    void jump_clock(Id id, Duration step);
    void partition(const std::vector<Id>& side);  ///< from all others
    void heal();
    void part(Id one, Id other);  ///< they never reach each other any more
    /// What `from` sends to `to` is lost, until it is not blocked any more and they link again.
    void block(Id from, Id to, bool is_blocked);
    /// Its links have so many times the bandwidth of its profile from now on.
    void scale_bandwidth(Id id, double factor);
    void cut(Id id, std::uint64_t which);         ///< one of its links
    void silent_cut(Id id, std::uint64_t which);  ///< one of its links, and nobody is told
    /// Frames from now on have a byte changed with this probability. Links that prove who speaks
    /// notice that, and end.
    void corrupt(double probability) { corruption_ = probability; }
    void set_directory(const DirectoryFaults& faults) { directory_ = faults; }
    void fill_disk(Id id, bool is_full);  ///< who must write and cannot, dies
    void poison(Id id);                   ///< its next contribution is not finite
    /// In its parameters, with its next update after which a majority of the voters without it is
    /// sound and here: what they sign is the swarm's state, so more damage is not damage.
    void flip_a_bit(Id id);
    void note(Id id, const std::string& line);

    // --- time ---
    /// Runs until `is_done` or until `limit` has passed; says whether it was. Throws Violation.
    bool run_until(const std::function<bool()>& is_done, Duration limit);
    void run_for(Duration time);
    void after(Duration wait, std::function<void()> what);
    TimePoint now() const { return timeline_.now(); }

    // --- what is seen ---
    std::size_t size() const { return nodes_.size(); }
    bool is_alive(Id id) const;
    bool is_up(Id id) const;       ///< alive, not hung, and in the swarm as far as its host knows
    bool is_damaged(Id id) const;  ///< alive, and its state has a flipped bit
    bool is_finished(Id id) const;
    bool has_left(Id id) const;
    bool is_refused(Id id) const;
    bool has_state(Id id) const;
    StepIndex step(Id id) const;  ///< of the state it holds; 0 without one
    Digest digest(Id id) const;
    std::uint64_t loads(Id id) const;        ///< of whole states, in this life
    std::size_t ledger_length(Id id) const;  ///< entries on its disk
    /// All honest peers that run and receive hold this or a later state, or were told that the run
    /// is over.
    bool are_all_at(StepIndex step) const;
    const VirtualTrainer& trainer(Id id) const;
    const PeerKey& key(Id id) const;
    Role role(Id id) const;
    bool is_hostile(Id id) const;
    std::optional<Id> find(const PeerKey& key) const;
    /// As the first backbone that is up sees it; nothing without one.
    std::optional<Id> coordinator() const;
    const Traffic& traffic(Id id) const { return network_.traffic(id); }
    const Checkers& checkers() const { return checkers_; }
    const Problem& problem() const { return *problem_; }
    Codec codec() const { return options_.rules.codec; }
    const std::vector<action::Settled>& settled() const { return settled_; }
    std::uint64_t trace_hash() const { return trace_.hash(); }
    const Trace& trace() const { return trace_; }
    std::uint64_t event_count() const { return timeline_.scheduled(); }
    /// Seed, time, replay and the last lines of the trace.
    std::string describe() const;

  private:
    struct Disk;
    struct Node;

    Node& node(Id id) { return *nodes_[id]; }
    const Node& node(Id id) const { return *nodes_[id]; }
    void happened(Id id, const Event& event) override;
    void deliver(Id id, const Event& event);
    void deliver_to_peer(Id id, const Event& event);
    void handle(Id id, const Event& event);
    void perform(Id id, const Action& action);
    void do_dial(Id id, const action::Dial& dial);
    void do_send(Id id, const action::Send& send);
    void put_on_link(LinkId link, const Frame& frame);
    // Of a hostile peer (world_hostile.cpp).
    void deliver_to_adversary(Id id, const Event& event);
    void send_through_adversary(Id id, const action::Send& send);
    void act_as_adversary(const Node& host, Id id, const Actions& actions);
    void start_adversary(Id id);
    std::uint64_t max_samples_per_second(Id id) const;
    void do_write(Id id, const Action& action);
    void sign(Id id, const GenerationRecord& wanted);
    SignedGeneration signed_by_project(const GenerationRecord& record) const;
    void begin_with_voters();
    void read_history(Id id, const action::ReadHistory& wanted);
    std::optional<SignedGeneration> last_generation(const Disk& disk) const;
    std::optional<Decision> last_decision(const Disk& disk) const;
    void die_at_point(Id id);
    void arm(Id id);
    void tick(Id id, const Moment& moment);
    void happen(const Moment& moment);
    void call(std::uint64_t number);
    PeerConfig config_for(Id id, Memory memory) const;
    std::unique_ptr<VirtualTrainer> trainer_for(Id id);
    void load_disk(Id id, Memory memory);
    void write_checkpoint(Id id, StepIndex step);
    void answer_directory(Id id);
    void check_leaving(Id id, std::uint64_t life);
    bool is_damage_noticed(Id id) const;

    const WorldOptions options_;
    const std::uint64_t seed_;
    const kernels::ThisThread workers_;
    const std::unique_ptr<const Problem> problem_;
    const KeyPair project_;
    const RunId run_;
    const bool proves_links_;
    Random random_;
    Timeline timeline_;
    Network network_;
    Trace trace_;
    Checkers checkers_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::map<std::uint64_t, std::function<void()>> calls_;
    std::uint64_t next_call_ = 0;
    std::map<std::uint64_t, SignedGeneration> signed_;
    std::vector<action::Settled> settled_;
    Duration jumps_{};  ///< of clocks, all of them
    double corruption_ = 0;
    DirectoryFaults directory_;
};

}  // namespace dedloc::simulation
