// An adversary between the reactor and the transport, for tests of swarms: `join --misbehave`.
//
//     transport ── events ──► through(adversary, sink) ──► queue ──► reactor
//     transport ◄── frames ── HostileTransport ◄────────────────────── reactor
//
// Events come from the transport's thread and frames from the reactor's, which is the only one that
// may use the transport: what the adversary does when an event comes waits for the reactor's next
// call, which is that the event has been taken.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "peer/hostile/adversary.hpp"
#include "peer/net/transport.hpp"
#include "peer/trainer.hpp"

namespace dedloc::tool {

/// An adversary that two threads share. Thread: any.
class SharedAdversary final {
  public:
    SharedAdversary(const hostile::AdversarySettings& settings, const KeyPair& key)
        : adversary_(settings, key) {}

    /// The peer sends a frame: what is to be done now, with what has been waiting first.
    Actions send(const action::Send& send);
    /// An event is on its way: what the peer gets instead. What is to be done waits.
    std::vector<Event> receive(const Event& event);
    Actions take_waiting();

  private:
    std::mutex mutex_;  ///< guards all below
    hostile::Adversary adversary_;
    Actions waiting_;
};

/// `adversary` outlives the sink.
EventSink through(SharedAdversary& adversary, EventSink sink);

class HostileTransport final : public net::Transport {
  public:
    /// Both outlive it.
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

}  // namespace dedloc::tool
