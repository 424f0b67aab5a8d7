// Transport over TCP. A link is one connection. Frames have 16-byte headers; shared buffers are
// written without a copy, or sealed for each link when they are written. With
// TransportOptions::session a link opens only after both ends have proven their tickets; until then
// PendingLinks owns the connection. tcp_link.hpp describes a link, ../README.md the limits.
#pragma once

#include <memory>
#include <optional>

#include "peer/net/tcp/transport_options.hpp"
#include "peer/net/transport.hpp"
#include "peer/trainer.hpp"

namespace dedloc::net {

/// Owns the thread "dedloc-net"; no call but the destructor waits for it.
class TcpTransport final : public Transport {
  public:
    /// Starts the thread, and listens if options.listen is set. `sink` gets the events of
    /// transport.hpp on the transport's thread. It may block, which delays all links, but must
    /// return once the driver is stopping. Errors: InputError (host is not numeric), IoError (port
    /// in use, no such address).
    TcpTransport(const TransportOptions& options, EventSink sink);
    /// Cuts all links and waits until the sink has returned from its last call. Never call it from
    /// inside the sink.
    ~TcpTransport() override;

    void dial(const Endpoint& remote) override;
    /// Dials and refuses a peer with another key than `expected`. Without
    /// TransportOptions::session the key is not checked.
    void dial(const Endpoint& remote, const PeerKey& expected);
    /// Replaces the session's ticket: new handshakes prove it, and open links show it to their
    /// other ends. A link ends when the last ticket that was shown on it expires. Does nothing
    /// without TransportOptions::session. Thread: any.
    void present(const formats::SignedTicket& ticket);
    /// Replaces the list of revocations and ends the links of revoked peers: both ends get the
    /// reason with event::LinkClosed. Does nothing if a newer list is known, or without
    /// TransportOptions::session. Thread: any.
    void revoke(const formats::Revocations& revoked);
    /// Sets listening_port(): the port of a router that forwards to ours, or 0 if peers cannot dial
    /// us. Thread: any.
    void set_listening_port(std::uint16_t port);
    /// The port of our own socket; 0: there is none. Thread: any.
    std::uint16_t bound_port() const;
    /// Caps what all links together send and receive, in bytes a second; nothing: no cap. Thread:
    /// any.
    void limit(std::optional<Bandwidth> upload, std::optional<Bandwidth> download);
    /// Bytes that all links have sent since the transport began. Thread: any.
    Bytes sent() const;
    /// Bytes that all links have received since the transport began. Thread: any.
    Bytes received() const;
    /// Requires a frame that is not empty and has at most options.limits.frame_bytes
    /// (DEDLOC_CHECK).
    void send(LinkId link, Frame frame) override;
    void close(LinkId link) override;
    void taken(LinkId link) override;
    std::uint16_t listening_port() const override;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::net
