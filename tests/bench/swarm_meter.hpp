// Measures the steps of a simulated swarm: the processor time of chosen peers, their messages by
// kind, and the phases of a round.
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

inline constexpr std::size_t kKinds = std::variant_size_v<wire::BodyKinds>;
/// Whether a message carries contributions, averages or states; all others are control messages.
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

/// The work of one peer.
struct Tally {
    std::array<Count, kKinds> sent{}, received{};
    std::array<double, kKinds> cpu_of_received{};  ///< seconds, including answers
    double cpu_seconds = 0;                        ///< for all events
    double longest_call_seconds = 0;               ///< longest call of Peer::handle
    std::uint64_t events = 0;

    Tally& operator+=(const Tally& other);
    Count sum(const std::array<Count, kKinds>& counts, bool data) const;
};

/// One step, from the previous commit to its own. Work after a commit counts for the next step.
struct Step {
    StepIndex step;
    std::size_t members = 0;
    std::size_t reducers = 0;
    TimePoint committed;
    std::map<simulation::NodeId, Tally> tallies;  ///< the metered peers

    // Times of the simulated world.
    std::optional<TimePoint> call_sent;  ///< when the first Call was sent
    TimePoint called, frozen;            ///< when the last member was called, has frozen
    TimePoint planned;                   ///< when the last member has its plan
    TimePoint reached;                   ///< when the last member holds the next state
    /// The longest time that a member needs for its chunks alone: a lower bound of the round.
    Duration data{};
};

class Meter final : public simulation::Observer {
  public:
    /// `links` are the peers' rates by number, from which the time of their data is computed.
    /// `tells_notes`: the first peer's notes and decisions go to the error stream.
    Meter(std::vector<simulation::NodeId> metered, std::vector<simulation::Connection> links,
          bool tells_notes = false)
        : metered_(std::move(metered)),
          links_(std::move(links)),
          tells_notes_(tells_notes),
          data_(links_.size()) {}

    void handles(TimePoint now, simulation::NodeId node, const Event& event) override;
    void has_handled(TimePoint now, simulation::NodeId node, const Actions& actions) override;

    /// The committed steps, oldest first.
    const std::vector<Step>& steps() const { return steps_; }

  private:
    struct Data {
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
    };
    struct Frame {
        std::size_t kind = 0;
        StepIndex step;
        std::size_t reducers = 0;  ///< reducers of the plan
        std::uint64_t bytes = 0;
    };

    const Frame& look_at(const SharedBytes& bytes);
    bool is_metered(simulation::NodeId node) const;
    Step& step_of(StepIndex step);
    void received(TimePoint now, simulation::NodeId node, const Frame& frame);
    void tell(TimePoint now, const std::string& line) const;
    void close_step(TimePoint now, const CommitRecord& record);

    const std::vector<simulation::NodeId> metered_;
    const std::vector<simulation::Connection> links_;
    const bool tells_notes_;
    std::vector<Data> data_;  ///< data of the current step
    SharedBytes last_seen_;
    Frame last_frame_;
    Step open_;  ///< the current step
    std::vector<Step> steps_;
    double begun_seconds_ = 0;  ///< processor time of this thread
    std::optional<std::size_t> handled_kind_;
};

}  // namespace dedloc::bench
