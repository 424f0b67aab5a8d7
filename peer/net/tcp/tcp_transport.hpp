// Transport over TCP: one connection per pair of peers, 16-byte frame headers, shared buffers
// written without a copy, or sealed for each link when they are written. With
// TransportOptions::session a link opens once both ends have proven their tickets: before that it
// is nobody's but PendingLinks'. See tcp_link.hpp for a link's life and README.md for the figures.
#pragma once

#include <memory>

#include "peer/net/tcp/transport_options.hpp"
#include "peer/net/transport.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

class TcpTransport final : public Transport {
  public:
    /// Listens if told to. `sink` gets the events of transport.hpp, on the transport's own thread;
    /// it may wait, which holds back everything that this transport does, but must return once the
    /// driver is stopping. Errors: InputError (host is not numeric), IoError (port in use, no such
    /// address).
    TcpTransport(const TransportOptions& options, EventSink sink);
    /// Cuts all links and waits until the sink has returned from its last call. Never from inside
    /// the sink.
    ~TcpTransport() override;

    void dial(const Endpoint& remote) override;
    /// Links with nobody but `expected`. Without TransportOptions::session this is not checked.
    void dial(const Endpoint& remote, const PeerKey& expected);
    /// The ticket that links from now on are proven with, in place of the session's own, and that
    /// those which are open are renewed with: each ends when the last ticket that it has been shown
    /// expires. Does nothing without TransportOptions::session. Thread: any.
    void present(const formats::SignedTicket& ticket);
    /// Refuses these, and nobody else, from now on, and ends their links: both ends hear why by
    /// event::LinkClosed. Does nothing if it knows a newer list, or without
    /// TransportOptions::session. Thread: any.
    void revoke(const formats::Revocations& revoked);
    /// It has turned out that others dial us at this port, which a router passes on, or, with 0,
    /// that nobody can: listening_port() from now on. Thread: any.
    void set_listening_port(std::uint16_t port);
    /// Requires a frame of at most options.limits.frame_bytes.
    void send(LinkId link, Frame frame) override;
    void close(LinkId link) override;
    void taken(LinkId link) override;
    std::uint16_t listening_port() const override;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::net
