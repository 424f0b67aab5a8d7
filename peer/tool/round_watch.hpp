// What can be seen of rounds from the frames that pass: when they began and ended, what the plan
// promised, how many bytes went by. Nothing here takes part in the protocol.
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

/// Frames and bytes that have gone one way, headers of the transport included; pings and what
/// TCP and IP add are not.
struct Traffic {
    std::uint64_t bulk = 0;     ///< bytes of frames with chunks or leaves
    std::uint64_t control = 0;  ///< bytes of all others
    std::uint64_t frames = 0;
    std::uint64_t bytes() const { return bulk + control; }
};

/// One round as seen from one member. Seconds of the machine's clock since it was started, so
/// processes of one machine can be compared; 0: not seen.
struct RoundTimes {
    StepIndex step;
    double frozen = 0;        ///< the contribution is handed over
    double planned = 0;       ///< the last plan is here
    double averaged = 0;      ///< we hold the whole average; of a coordinator: everybody does
    double committed = 0;     ///< decided
    double cpu_frozen = 0;    ///< processor seconds of this process until `frozen`
    double cpu_averaged = 0;  ///< … until `averaged`
    std::uint32_t attempt = 0;
    std::uint32_t reducers = 0;
    /// The transfer time that the plan promises with the bandwidths that its members have told: T*
    /// but for whole chunks. Nothing: no bandwidth is known, or too many members.
    std::optional<double> promised;
};

/// Seconds since the machine was started, also those it slept.
double seconds_now();
/// Of this process, all its threads, user and system.
double cpu_seconds_now();

/// Thread: any.
class RoundWatch final {
  public:
    /// Of a run with this codec.
    explicit RoundWatch(Codec codec) : codec_(codec) {}

    void sent(const Frame& frame);
    void received(LinkId link, const SharedBytes& frame);
    void closed(LinkId link);
    void frozen(StepIndex step);
    void committed(StepIndex step);

    /// Of the last round that anything was seen of.
    RoundTimes times() const;
    Traffic sent() const;
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
    mutable std::mutex mutex_;  ///< guards all below
    RoundTimes times_;
    std::array<Traffic, 2> traffic_;
    /// The newest heartbeat of each link, not decoded before a plan asks what it says; ours has the
    /// id 0.
    std::map<LinkId, SharedBytes> heartbeats_;
};

/// Tells a watch of everything that is sent, and passes it on.
class WatchedTransport final : public net::Transport {
  public:
    /// Both outlive it.
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

/// A sink that tells the watch what has been received, and passes everything on. `watch` outlives
/// it.
EventSink watched(RoundWatch& watch, EventSink sink);

}  // namespace dedloc::tool
