// An adversary between a member's peer and its transport: `hostile_peer join --misbehave`.
//
//     transport ── events ──► HostileInterposer::sink ──► queue ──► reactor
//     trainer   ── events ──►
//     transport ◄── frames ── HostileTransport ◄────────────────────── reactor
//
// Events come from the threads of transport and trainer, frames from the reactor's. Only the
// reactor's thread may call the transport, so the adversary's actions on an event wait until the
// reactor's next call: taken(), for that event.
#pragma once

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "peer/net/transport.hpp"
#include "peer/tool/interposer.hpp"
#include "peer/trainer.hpp"
#include "tests/hostile/adversary.hpp"

namespace dedloc::test {

/// An adversary with a lock. Thread: any.
class SharedAdversary final {
  public:
    /// `key` is the peer's key, with which the adversary signs.
    SharedAdversary(const hostile::AdversarySettings& settings, const KeyPair& key)
        : adversary_(settings, key) {}

    /// The peer sends a frame: returns the waiting actions and then those instead of the frame.
    Actions send(const action::Send& send);
    /// The peer is to get an event: returns the events that it gets instead; actions wait.
    std::vector<Event> receive(const Event& event);
    /// Removes and returns the waiting actions.
    Actions take_waiting();

  private:
    std::mutex mutex_;  ///< guards the members below
    hostile::Adversary adversary_;
    Actions waiting_;
};

/// A transport whose frames pass through the adversary.
class HostileTransport final : public net::Transport {
  public:
    /// Both arguments must outlive it.
    HostileTransport(net::Transport& transport, SharedAdversary& adversary)
        : transport_(transport), adversary_(adversary) {}

    void dial(const Endpoint& remote) override { transport_.dial(remote); }
    void send(LinkId link, Frame frame) override;
    void close(LinkId link) override { transport_.close(link); }
    void taken(LinkId link) override;
    std::uint16_t listening_port() const override { return transport_.listening_port(); }

  private:
    void perform(Actions actions);

    net::Transport& transport_;
    SharedAdversary& adversary_;
};

/// An adversary for a whole stay.
class HostileInterposer final : public tool::Interposer {
  public:
    /// `key` is the peer's key.
    HostileInterposer(const hostile::AdversarySettings& settings, const KeyPair& key)
        : adversary_(settings, key) {}

    EventSink sink(EventSink sink) override;
    net::Transport& transport(net::Transport& transport) override {
        return transport_.emplace(transport, adversary_);
    }

  private:
    SharedAdversary adversary_;
    std::optional<HostileTransport> transport_;
};

}  // namespace dedloc::test
