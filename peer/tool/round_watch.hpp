// Observes rounds from the frames that a member sends and receives: when each phase ended, what the
// plan forecast, how many bytes were sent. It takes no part in the protocol.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "peer/base/units.hpp"
#include "peer/net/transport.hpp"
#include "peer/trainer.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::tool {

/// Traffic in one direction. Bytes include the transport's frame headers, but not pings and the
/// headers of TCP and IP.
struct Traffic {
    std::uint64_t bulk = 0;     ///< bytes of frames with chunks or leaves
    std::uint64_t control = 0;  ///< bytes of all other frames
    std::uint64_t frames = 0;   ///< number of frames
    /// All bytes.
    std::uint64_t bytes() const { return bulk + control; }
};

/// One round as seen by one member. Times are seconds since the machine was started, so that
/// processes of one machine can be compared; 0: not seen.
struct RoundTimes {
    StepIndex step;              ///< the round's step
    double frozen = 0;           ///< the contribution was handed over
    double planned = 0;          ///< the last plan was sent or received
    double averaged = 0;         ///< we held the whole average; coordinator: all members did
    double committed = 0;        ///< the round was decided
    double cpu_frozen = 0;       ///< CPU seconds of this process at `frozen`
    double cpu_averaged = 0;     ///< CPU seconds of this process at `averaged`
    std::uint32_t attempt = 0;   ///< attempt of the last plan
    std::uint32_t reducers = 0;  ///< number of reducers in the last plan
    /// Forecast transfer time of the plan in seconds, with the bandwidths that its members have
    /// reported: T*, with whole chunks. Nothing: no bandwidth is known, or there are too many
    /// members.
    std::optional<double> promised;
};

/// Seconds since the machine was started, including sleep.
double seconds_now();
/// CPU seconds of this process: all threads, user and system.
double cpu_seconds_now();

/// Collects the times of the current round and the traffic. Thread: any.
class RoundWatch final {
  public:
    /// `codec` is the run's, for the forecast.
    explicit RoundWatch(Codec codec) : codec_(codec) {}

    // Called by the wiring for what this peer does.

    /// A frame is sent.
    void sent(const Frame& frame);
    /// A frame has arrived on this link.
    void received(LinkId link, const SharedBytes& frame);
    /// The link has ended; forgets its heartbeat.
    void closed(LinkId link);
    /// The contribution for this step was handed over.
    void frozen(StepIndex step);
    /// The round of this step was decided.
    void committed(StepIndex step);

    /// The times of the last round of which anything was seen.
    RoundTimes times() const;
    /// Traffic to other peers so far.
    Traffic sent() const;
    /// Traffic from other peers so far.
    Traffic received() const;

  private:
    enum class Direction { kOut, kIn };
    void count(Direction direction, bool is_bulk, std::size_t frame_bytes);
    void look_at(Direction direction, LinkId link, const SharedBytes& frame);
    void take(const wire::Message& message, Direction direction);
    void take_plan(const wire::Message& message, const wire::Plan& plan);
    std::optional<double> promise_of(const wire::Plan& plan) const;
    RoundTimes& round_of(StepIndex step);

    const Codec codec_;
    mutable std::mutex mutex_;        ///< guards the members below
    std::optional<wire::Plan> plan_;  ///< the last one seen, the base of changes
    RoundTimes times_;
    std::array<Traffic, 2> traffic_;
    /// The newest heartbeat frame of each link, decoded only when a plan needs it; our own has the
    /// id 0.
    std::map<LinkId, SharedBytes> heartbeats_;
};

/// Passes all calls on to a transport and reports sent frames to a watch.
class WatchedTransport final : public net::Transport {
  public:
    /// Both arguments must outlive it.
    WatchedTransport(net::Transport& transport, RoundWatch& watch)
        : transport_(transport), watch_(watch) {}

    void dial(const Endpoint& remote) override { transport_.dial(remote); }
    void send(LinkId link, Frame frame) override {
        watch_.sent(frame);
        transport_.send(link, std::move(frame));
    }
    void close(LinkId link) override { transport_.close(link); }
    void taken(LinkId link) override { transport_.taken(link); }
    std::uint16_t listening_port() const override { return transport_.listening_port(); }

  private:
    net::Transport& transport_;
    RoundWatch& watch_;
};

/// A sink that passes all events on and reports received frames and closed links to the watch,
/// which must outlive it.
EventSink watched(RoundWatch& watch, EventSink sink);

}  // namespace dedloc::tool
