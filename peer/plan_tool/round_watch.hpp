// Observes one simulated round: when its plan was sent, and when every member had received all
// chunks that the plan sends to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/simulation/observer.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::plan {

/// Counts the chunks that arrive at each host.
class RoundWatch final : public simulation::Observer {
  public:
    using NodeId = simulation::NodeId;

    /// `host_of` maps a peer's key to its host, one of `hosts`.
    RoundWatch(std::size_t hosts, std::function<std::optional<NodeId>(const PeerKey&)> host_of)
        : host_of_(std::move(host_of)), missing_(hosts, 0) {}

    /// Starts to observe the round of this step.
    void begin(StepIndex step);
    /// Counts received chunks.
    void handles(TimePoint now, NodeId node, const Event& event) override;
    /// Looks for the first plan that is sent.
    void has_handled(TimePoint now, NodeId node, const Actions& actions) override;

    /// When the plan was sent; nothing: not yet.
    std::optional<TimePoint> planned_at() const { return planned_at_; }
    /// When every reducer had its chunks of all contributions and every receiver all other
    /// averages; nothing: not yet.
    std::optional<TimePoint> whole_at() const { return whole_at_; }

  private:
    std::optional<wire::Message> read(const SharedBytes& frame) const;
    void learn(const wire::Plan& plan);

    const std::function<std::optional<NodeId>(const PeerKey&)> host_of_;
    StepIndex step_;
    std::optional<TimePoint> planned_at_;
    std::optional<TimePoint> whole_at_;
    std::vector<std::uint64_t> missing_;  ///< number of missing chunks of each host
    std::uint64_t waiting_ = 0;           ///< number of hosts with missing chunks
};

}  // namespace dedloc::plan
