// A seeded world for the protocol core: virtual time, a network, and hosts with disks and clocks.
// The same seed gives the same history, event by event. Faults, adversaries and checkers are added
// from outside, through Hooks and the protected part of World (tests/simulation/test_world.hpp).
//
//     World world{seed, rules};
//     world.add_backbone();
//     world.add_trainers(8, Profile::home());
//     world.run_until([&] { return world.are_all_at(StepIndex{10}); }, 10min);
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/peer.hpp"
#include "peer/simulation/clock.hpp"
#include "peer/simulation/hooks.hpp"
#include "peer/simulation/network.hpp"
#include "peer/simulation/observer.hpp"
#include "peer/simulation/problem.hpp"
#include "peer/simulation/virtual_trainer.hpp"

namespace dedloc::simulation {

/// Sources of a simulated run; what its samples are does not depend on them.
inline constexpr std::size_t kSources = 2;

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
    /// Compute bound in its ticket; 0: four times what its device computes.
    std::uint64_t max_samples_per_second = 0;

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
    bool auto_sign = true;  ///< the project signs every generation that is requested
    /// Links prove the key at their other end, as after a real handshake; nothing: the seed
    /// decides.
    std::optional<bool> proves_links{};
    Observer* observer = nullptr;                           ///< must outlive the world; null: none
    Duration directory_interval = std::chrono::seconds{1};  ///< time between answers to a peer
    std::size_t directory_answer = 64;  ///< max. addresses in an answer, not counting host 0's
};

/// A swarm of simulated hosts. Hosts are numbered in the order in which they are added.
class World : private NetworkSink {
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
    /// The project changes the mixture of sources from this step on: host 0 receives
    /// event::MixtureSigned, if it runs. Changes from a later step are withdrawn.
    void change_mixture(StepIndex from, std::vector<std::uint64_t> weights);
    /// The project adds a source: host 0 receives event::MixtureSigned, if it runs. Jobs of hosts
    /// that are added after that have it.
    void add_source();
    /// Adds and starts a trainer.
    Id add_trainer(const Profile& profile = {});
    /// Adds and starts `count` equal trainers.
    std::vector<Id> add_trainers(std::size_t count, const Profile& profile = {});
    /// Adds and starts an aggregator, which computes no samples.
    Id add_aggregator(const Profile& profile = {});
    /// Adds a host whose peer does not run until start().
    Id add(Role role, const Profile& profile);
    /// Starts a host's peer. Requires that it does not run (DEDLOC_CHECK).
    void start(Id id, Memory memory = Memory::kLost);

    /// Sets the faults of the directory's answers from now on.
    void set_directory(const DirectoryFaults& faults) { directory_ = faults; }

    // --- time ---
    /// Runs until `is_done()` holds or `limit` has passed. Returns whether it holds. Throws what a
    /// hook throws.
    bool run_until(const std::function<bool()>& is_done, Duration limit);
    /// Runs for this time. Throws what a hook throws.
    void run_for(Duration time);
    /// Calls a function after this time.
    void after(Duration wait, std::function<void()> what);
    /// The world's time.
    TimePoint now() const { return timeline_.now(); }

    // --- observation ---
    /// Number of hosts.
    std::size_t size() const { return nodes_.size(); }
    bool is_up(Id id) const;      ///< its process runs, does not hang and is not suspended
    bool has_state(Id id) const;  ///< its trainer holds a model state
    StepIndex step(Id id) const;  ///< step of its model state; 0 without one
    /// Whether every honest peer that is up and receives holds this or a later state, or was told
    /// that the run is over.
    bool are_all_at(StepIndex step) const;
    const VirtualTrainer& trainer(Id id) const;  ///< requires a host that was started
    const PeerKey& key(Id id) const;             ///< the peer's public key
    Role role(Id id) const;                      ///< the peer's role
    /// The host of this peer; nothing if there is none.
    std::optional<Id> find(const PeerKey& key) const;
    /// What the swarm learns.
    const Problem& problem() const { return *problem_; }
    /// The run's codec.
    Codec codec() const { return options_.rules.codec; }
    /// The seed of all that is random in it.
    std::uint64_t seed() const { return seed_; }
    /// Whether links prove the key at their other end.
    bool proves_links() const { return proves_links_; }

  protected:
    struct Disk;
    struct Node;

    // Worlds with faults, adversaries and checkers use these.
    /// Calls these hooks from now on. They must outlive the last event.
    void attach(Hooks& hooks) { hooks_ = &hooks; }
    /// The record of a host.
    Node& node(Id id) { return *nodes_[id]; }
    const Node& node(Id id) const { return *nodes_[id]; }
    /// All machines and links.
    Network& network() { return network_; }
    const Network& network() const { return network_; }
    /// The random stream of everything that has none of its own.
    Random& random() { return random_; }
    /// The options of the world.
    const WorldOptions& options() const { return options_; }
    /// The run's id.
    const RunId& run() const { return run_; }
    /// All generations that the project has signed.
    const std::map<std::uint64_t, SignedGeneration>& signed_generations() const { return signed_; }
    /// A key of a world: 0 the project's, 1 + k that of host k.
    static KeyPair key_of(std::uint64_t seed, std::uint64_t number);
    /// The sample rate that the peer's ticket allows, or without proven links the run.
    std::uint64_t max_samples_per_second(Id id) const;
    /// Whether a host keeps an action on its disk.
    static bool writes(const Node& host, const Action& action);
    /// An event reaches a host. It waits while the process hangs or is busy.
    void deliver(Id id, const Event& event);
    /// The host's peer handles an event now.
    void deliver_to_peer(Id id, const Event& event);
    /// Sends a frame on a link of a host.
    void put_on_link(LinkId link, const Frame& frame);
    /// True: the process neither reads nor writes any more. False: it continues with what has
    /// waited.
    void set_hung(Id id, bool is_hung);
    /// Reports a line to the hooks.
    void note(Id id, const std::string& line) { hooks_->noted(id, line); }

  private:
    void sign_mixture_after(const SharedMixture& last, std::vector<MixtureChange> changes,
                            std::vector<Digest> added);
    void happened(Id id, const Event& event) override;
    void handle(Id id, const Event& event);
    void perform_rest(Id id);
    bool is_kept_busy_by_digests(Id id);
    void work_ahead(Id id);
    void keep_busy(Id id, Duration time);
    void go_on(Id id);
    void perform(Id id, const Action& action);
    void do_write(Id id, const Action& action);
    void sign(Id id, const GenerationRecord& wanted);
    SignedGeneration signed_by_project(const GenerationRecord& record) const;
    void begin_with_voters();
    void read_history(Id id, const action::ReadHistory& wanted);
    std::optional<SignedGeneration> last_generation(const Disk& disk) const;
    std::optional<Decision> last_decision(const Disk& disk) const;
    void arm(Id id);
    void tick(Id id, const Moment& moment);
    void happen(const Moment& moment);
    void call(std::uint64_t number);
    PeerConfig config_for(Id id, Memory memory) const;
    std::unique_ptr<VirtualTrainer> trainer_for(Id id);
    void load_disk(Id id, Memory memory);
    void write_checkpoint(Id id, StepIndex step);
    void answer_directory(Id id);

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
    Hooks none_;  ///< does nothing
    Hooks* hooks_ = &none_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<Digest> added_;  ///< sources that the project has added
    std::map<std::uint64_t, std::function<void()>> calls_;
    std::uint64_t next_call_ = 0;
    std::map<std::uint64_t, SignedGeneration> signed_;
    std::uint64_t newest_generation_ = 0;  ///< that a peer has entered
    DirectoryFaults directory_;
};

}  // namespace dedloc::simulation
