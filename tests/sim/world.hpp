// A seeded world for the protocol core: virtual time, links with latency and bandwidth, peers that
// crash, hang, are suspended and come back. The same seed gives the same history. After every event
// the invariants are checked:
//   equal digests at equal steps · commits of one step are one commit · a peer's samples count once
//   a step · a suspended peer sends nothing · every peer's own invariants
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/peer.hpp"
#include "tests/sim/quadratic_trainer.hpp"

namespace dedloc::sim {

struct LinkProfile {
    Duration latency = std::chrono::milliseconds{10};
    Duration jitter = std::chrono::milliseconds{5};
    double bytes_per_second = 10e6;
};

class World {
  public:
    using Id = std::size_t;

    World(std::uint64_t seed, const RoundRules& rules, const LinkProfile& profile = {});
    ~World();

    /// The first one is the backbone, which coordinates and holds the first state.
    Id add_backbone();
    Id add_trainer(Duration micro_batch_time = std::chrono::milliseconds{200},
                   bool is_reachable = true);

    void crash(Id id);    ///< all links close, memory is lost
    void restart(Id id);  ///< after a crash: the same key, nothing else
    void hang(Id id);     ///< neither reads nor writes nor closes anything
    void suspend(Id id);
    void resume(Id id);
    /// Frames from now on are corrupted with this probability.
    void corrupt(double probability) { corruption_ = probability; }

    /// Runs until `is_done` or until `limit` of virtual time has passed; says whether it was done.
    bool run_until(const std::function<bool()>& is_done, Duration limit);

    const std::vector<CommitRecord>& commits() const { return commits_; }
    const std::vector<action::Settled>& settled() const { return settled_; }
    bool is_finished(Id id) const;
    const state::ModelState& state(Id id) const;
    QuadraticTrainer& trainer(Id id);
    const PeerKey& key(Id id) const;
    std::uint64_t frames_sent(Id id) const;
    std::uint64_t trace_hash() const { return trace_; }
    const std::vector<std::string>& notes() const { return notes_; }

  private:
    struct Node;
    struct Pipe {
        Id from_node, to_node;
        LinkId to_link;
        TimePoint last_arrival;
        bool is_open = true;
    };
    struct Entry {
        TimePoint when;
        std::uint64_t order;
        std::function<void()> what;
        bool operator<(const Entry& other) const {
            return std::pair{other.when, other.order} < std::pair{when, order};
        }
    };

    Id add(Node node);
    void start(Id id);
    void at(TimePoint when, std::function<void()> what);
    void deliver(Id id, std::uint64_t life, const Event& event);
    void perform(Id id, const Action& action);
    void dial(Id from, const Endpoint& remote);
    void send(LinkId link, SharedBytes frame);
    void close(LinkId link);
    void drop_links(Id id);
    void announce();
    void record(Id id, const CommitRecord& commit);

    const RoundRules rules_;
    const LinkProfile profile_;
    Random random_;
    const std::uint64_t seed_;
    TimePoint now_{};
    std::uint64_t next_order_ = 0;
    std::uint64_t next_link_ = 1;
    std::priority_queue<Entry> queue_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::map<LinkId, Pipe> pipes_;  ///< by the sender's link
    double corruption_ = 0;
    std::uint64_t trace_ = 0;
    std::vector<CommitRecord> commits_;
    std::vector<action::Settled> settled_;
    std::map<StepIndex, Digest> digest_at_;
    std::vector<std::string> notes_;
};

}  // namespace dedloc::sim
