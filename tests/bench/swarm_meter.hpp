// What a simulated swarm's steps cost: the processor time of chosen peers, their messages by kind,
// and where a round's time goes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "peer/simulation/observer.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::bench {

inline constexpr std::size_t kKinds = std::variant_size_v<wire::Body>;
/// Contributions, averages and states; all else is control.
bool is_data(std::size_t kind);

struct Count {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;  ///< on the wire
    Count& operator+=(const Count& other) {
        frames += other.frames;
        bytes += other.bytes;
        return *this;
    }
};

/// What one peer did.
struct Tally {
    std::array<Count, kKinds> sent{}, received{};
    std::array<double, kKinds> cpu_of_received{};  ///< seconds, answers included
    double cpu_seconds = 0;                        ///< of all events
    double longest_call_seconds = 0;               ///< of Peer::handle
    std::uint64_t events = 0;

    Tally& operator+=(const Tally& other);
    Count sum(const std::array<Count, kKinds>& counts, bool data) const;
};

/// One step, from the commit before to its own; what follows the commit counts for the next one.
struct Step {
    StepIndex step;
    std::size_t members = 0;
    std::size_t reducers = 0;
    TimePoint committed;
    std::map<simulation::NodeId, Tally> tallies;  ///< of the peers that are metered

    // In the world's time.
    std::optional<TimePoint> call_sent;  ///< to the first
    TimePoint called, frozen;            ///< the last member
    TimePoint planned;                   ///< the last member has got its plan
    TimePoint reached;                   ///< the last member holds the next state
    /// Of the machine that needs longest for its chunks alone: no round is shorter than that.
    Duration data{};
};

class Meter final : public simulation::Observer {
  public:
    /// `links` of the peers by number: to know how long their data takes.
    Meter(std::vector<simulation::NodeId> metered, std::vector<simulation::Connection> links)
        : metered_(std::move(metered)), links_(std::move(links)), data_(links_.size()) {}

    void handles(TimePoint now, simulation::NodeId node, const Event& event) override;
    void has_handled(TimePoint now, simulation::NodeId node, const Actions& actions) override;

    /// Committed ones, oldest first.
    const std::vector<Step>& steps() const { return steps_; }

  private:
    struct Data {
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
    };
    struct Frame {
        std::size_t kind = 0;
        StepIndex step;
        std::size_t reducers = 0;  ///< of a plan
        std::uint64_t bytes = 0;
    };

    const Frame& look_at(const SharedBytes& bytes);
    bool is_metered(simulation::NodeId node) const;
    Step& step_of(StepIndex step);
    void received(TimePoint now, simulation::NodeId node, const Frame& frame);
    void close_step(TimePoint now, const CommitRecord& record);

    const std::vector<simulation::NodeId> metered_;
    const std::vector<simulation::Connection> links_;
    std::vector<Data> data_;  ///< of the step at hand
    SharedBytes last_seen_;
    Frame last_frame_;
    Step open_;  ///< the step at hand
    std::vector<Step> steps_;
    double begun_seconds_ = 0;  ///< processor time of this thread
    std::optional<std::size_t> handled_kind_;
};

}  // namespace dedloc::bench
