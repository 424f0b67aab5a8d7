// Watches one simulated round: when its plan was sent, and when every member had all that the plan
// sends it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/simulation/observer.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::plan {

class RoundWatch final : public simulation::Observer {
  public:
    using NodeId = simulation::NodeId;

    /// `host_of` says on which of so many hosts the peer with this key runs.
    RoundWatch(std::size_t hosts, std::function<std::optional<NodeId>(const PeerKey&)> host_of)
        : host_of_(std::move(host_of)), missing_(hosts, 0) {}

    /// Of the round of this step from now on.
    void begin(StepIndex step);
    void handles(TimePoint now, NodeId node, const Event& event) override;
    void has_handled(TimePoint now, NodeId node, const Actions& actions) override;

    std::optional<TimePoint> planned_at() const { return planned_at_; }
    /// Every reducer has its chunks of all contributions, every receiver the averages of the rest.
    std::optional<TimePoint> whole_at() const { return whole_at_; }

  private:
    std::optional<wire::Message> read(const SharedBytes& frame) const;
    void learn(const wire::Plan& plan);

    const std::function<std::optional<NodeId>(const PeerKey&)> host_of_;
    StepIndex step_;
    std::optional<TimePoint> planned_at_;
    std::optional<TimePoint> whole_at_;
    std::vector<std::uint64_t> missing_;  ///< chunks, by host
    std::uint64_t waiting_ = 0;           ///< hosts that miss some
};

}  // namespace dedloc::plan
