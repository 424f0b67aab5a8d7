// A seeded world for the protocol core: virtual time, a network, hosts with disks and clocks, and
// their faults. The same seed gives the same history, event by event. After every event, the
// checkers and the peer's own invariants are checked.
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

/// The properties of a host.
struct Profile {
    Connection connection;                                       ///< its bandwidths and latency
    Duration micro_batch_time = std::chrono::milliseconds{400};  ///< duration of a micro-batch
    std::uint64_t micro_batch = 16;                              ///< samples in a micro-batch
    bool receives = true;     ///< false, for an aggregator: it holds no state
    Duration apply_time{};    ///< time from Apply or Load to StateReached
    Duration disk_latency{};  ///< time of a write until it is durable, or of a read
    /// Bytes of averages that its peer's thread digests in a second, alone or while it waits for
    /// others; 0: digests take no time. Time of the digests of its state: see apply_time.
    double digested_bytes_per_second = 0;
    std::int64_t drift_ppm = 0;          ///< µs per second that its clock gains
    std::uint64_t checkpoint_every = 1;  ///< steps between checkpoints on its disk; 0: none
    bool guesses_bandwidth = true;       ///< the peer starts with its true bandwidths
    bool measures_bandwidth = true;      ///< false: the peer keeps the bandwidths it starts with
    bool holds_first_state = false;      ///< the peer starts with the state of step 0
    std::uint64_t user = 0;              ///< the user in its ticket; 0: one that no other host has

    /// A host with these bandwidths in Mbit/s.
    static Profile with_mbit(double upload, double download);
    static Profile home();          ///< 100 Mbit/s down, 20 Mbit/s up
    static Profile office();        ///< 1,000 Mbit/s in both directions
    Profile outbound_only() const;  ///< the same host behind a NAT: it cannot be dialled
};

/// What a host still has when its peer starts again.
enum class Memory : std::uint8_t {
    kLost,   ///< only its key
    kDisk,   ///< everything on its disk
    kStale,  ///< its oldest checkpoint; ledger and votes are complete
};

/// Faults of the directory's answers, as if they travelled in datagrams.
struct DirectoryFaults {
    double missing = 0;    ///< probability that an answer is lost
    double duplicate = 0;  ///< probability that an answer arrives twice
    double stale = 0;      ///< probability that an answer also names an address without a peer
    double partial = 0;    ///< probability, for each address, that the answer lacks it
};

/// What the swarm learns (problem.hpp).
enum class ProblemKind : std::uint8_t { kQuadratic, kTinyNetwork };

/// The properties of a world.
struct WorldOptions {
    RoundRules rules;                               ///< the rules of the run
    NetworkOptions network;                         ///< properties of all links
    ProblemKind problem = ProblemKind::kQuadratic;  ///< what the swarm learns
    /// Number of voters of the first round, on hosts 0, 1, …: with 1 the backbone votes by
    /// generation 0, with more they vote by a generation 1 that is signed before the run begins.
    std::size_t voters = 1;
    bool auto_sign = true;          ///< the project signs every generation that is requested
    bool computes_averages = true;  ///< recomputes averages; false saves time in large worlds
    /// Links prove the key at their other end, as after a real handshake; nothing: the seed
    /// decides.
    std::optional<bool> proves_links{};
    std::size_t flood_per_second = 5'000;  ///< hostile::AdversarySettings::flood_per_second
    bool checks_bytes_queued = true;       ///< a peer that queues too much at a link is a violation
    bool checks_invariants = true;  ///< checks the peer after each of its events: O(its links)
    Observer* observer = nullptr;   ///< must outlive the world; null: none
    Duration directory_interval = std::chrono::seconds{1};  ///< time between answers to a peer
    std::size_t directory_answer = 64;  ///< max. addresses in an answer, not counting host 0's
    bool keeps_whole_trace = false;     ///< Trace::keep_all()
    std::string replay;                 ///< how to repeat the run, for the message of a failure
};

/// A swarm of simulated hosts. Hosts are numbered in the order in which they are added.
class World final : private NetworkSink {
  public:
    using Id = NodeId;  ///< a host's number

    /// A world with these rules and otherwise default options.
    World(std::uint64_t seed, const RoundRules& rules);
    World(std::uint64_t seed, const WorldOptions& options);
    ~World() override;

    // --- hosts ---
    /// Adds and starts a backbone. The first host must be one; further ones are voters or
    /// candidates that may be appointed.
    Id add_backbone(const Profile& profile = {});
    /// Adds WorldOptions::voters backbones. They must be the first hosts.
    std::vector<Id> add_voters(const Profile& profile = {});
    /// The project appoints these voters: host 0 receives event::VotersWanted now and at each
    /// start.
    void appoint(const std::vector<Id>& voters);
    /// The project pauses the run or lets it go on: host 0 receives event::PauseSigned, if it
    /// runs.
    void set_paused(bool is_paused);
    /// Adds and starts a trainer.
    Id add_trainer(const Profile& profile = {});
    /// Adds and starts `count` equal trainers.
    std::vector<Id> add_trainers(std::size_t count, const Profile& profile = {});
    /// Adds and starts an aggregator, which computes no samples.
    Id add_aggregator(const Profile& profile = {});
    /// Adds and starts a peer whose frames pass through an adversary.
    Id add_hostile(hostile::Misbehaviour misbehaviour, const Profile& profile = {},
                   Role role = Role::kTrainer);
    /// Adds a host whose peer does not run until start().
    Id add(Role role, const Profile& profile);
    /// Starts a host's peer. Requires that it does not run (DEDLOC_CHECK).
    void start(Id id, Memory memory = Memory::kLost);

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
    /// Sets the faults of the directory's answers from now on.
    void set_directory(const DirectoryFaults& faults) { directory_ = faults; }
    void fill_disk(Id id, bool is_full);  ///< a backbone that cannot write crashes
    void poison(Id id);                   ///< its next contribution is not finite
    /// Changes a parameter of the host in its next update at which a majority of the voters, not
    /// counting this host, is up and undamaged. Otherwise the voters might sign the damaged state,
    /// which would then be the swarm's state.
    void flip_a_bit(Id id);
    /// Adds a line to the trace.
    void note(Id id, const std::string& line);

    // --- time ---
    /// Runs until `is_done()` holds or `limit` has passed. Returns whether it holds. Throws
    /// Violation.
    bool run_until(const std::function<bool()>& is_done, Duration limit);
    /// Runs for this time. Throws Violation.
    void run_for(Duration time);
    /// Calls a function after this time.
    void after(Duration wait, std::function<void()> what);
    /// The world's time.
    TimePoint now() const { return timeline_.now(); }

    // --- observation ---
    /// Number of hosts.
    std::size_t size() const { return nodes_.size(); }
    bool is_alive(Id id) const;              ///< its process runs
    bool is_up(Id id) const;                 ///< alive, not hung, and not suspended
    bool is_damaged(Id id) const;            ///< alive, and its state contains a flipped bit
    bool is_finished(Id id) const;           ///< its peer was told that the run is over
    bool has_left(Id id) const;              ///< its peer has left the swarm after suspend()
    bool is_refused(Id id) const;            ///< its peer was refused by the swarm
    bool has_state(Id id) const;             ///< its trainer holds a model state
    StepIndex step(Id id) const;             ///< step of its model state; 0 without one
    Digest digest(Id id) const;              ///< digest of its model state
    bool is_paused(Id id) const;             ///< its peer knows that the run is paused
    TurnKind turn(Id id) const;              ///< its turn, as its peer was told last
    std::uint64_t loads(Id id) const;        ///< whole states that it has loaded in this life
    std::size_t ledger_length(Id id) const;  ///< number of ledger entries on its disk
    /// Whether every honest peer that is up and receives holds this or a later state, or was told
    /// that the run is over.
    bool are_all_at(StepIndex step) const;
    const VirtualTrainer& trainer(Id id) const;  ///< requires a host that was started
    const PeerKey& key(Id id) const;             ///< the peer's public key
    Role role(Id id) const;                      ///< the peer's role
    bool is_hostile(Id id) const;                ///< its frames pass through an adversary
    /// How often honest peers have accused this host's peer (action::Note::suspect).
    std::size_t accusations(Id id) const;
    /// The host of this peer; nothing if there is none.
    std::optional<Id> find(const PeerKey& key) const;
    /// The coordinator as seen by the first host that is up and knows one; nothing if none does.
    std::optional<Id> coordinator() const;
    /// What the host has sent and received.
    const Traffic& traffic(Id id) const { return network_.traffic(id); }
    /// Bytes that the host has given to its links and that have not been sent yet.
    std::uint64_t queued_bytes(Id id) const;
    /// The invariants and everything that they know of the swarm.
    const Checkers& checkers() const { return checkers_; }
    /// What the swarm learns.
    const Problem& problem() const { return *problem_; }
    /// The run's codec.
    Codec codec() const { return options_.rules.codec; }
    /// All action::Settled of all peers, in order.
    const std::vector<action::Settled>& settled() const { return settled_; }
    /// The seed of all that is random in it.
    std::uint64_t seed() const { return seed_; }
    /// Hash of the history so far.
    std::uint64_t trace_hash() const { return trace_.hash(); }
    /// The trace so far.
    const Trace& trace() const { return trace_; }
    /// Seed, time, hosts, how to replay, and the last lines of the trace.
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
    void perform_rest(Id id);
    bool is_kept_busy_by_digests(Id id);
    void work_ahead(Id id);
    void keep_busy(Id id, Duration time);
    void go_on(Id id);
    void perform(Id id, const Action& action);
    void do_dial(Id id, const action::Dial& dial);
    void do_send(Id id, const action::Send& send);
    void put_on_link(LinkId link, const Frame& frame);
    // Hostile peers (world_hostile.cpp).
    void deliver_to_adversary(Id id, const Event& event);
    void send_through_adversary(Id id, const action::Send& send);
    void act_as_adversary(const Node& host, Id id, const Actions& actions);
    void start_adversary(Id id);
    std::uint64_t max_samples_per_second(Id id) const;
    static bool writes(const Node& host, const Action& action);
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

    const SimulatedSignatures signatures_;  ///< real ones take most of a run's time
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
    std::map<PeerKey, std::size_t> accusations_;
    Duration jumps_{};  ///< sum of all jumps of clocks
    double corruption_ = 0;
    DirectoryFaults directory_;
};

}  // namespace dedloc::simulation
