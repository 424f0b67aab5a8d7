// The state of a TcpTransport and what its thread does. Only the sources of the transport include
// it.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "peer/net/session/link_ticket.hpp"
#include "peer/net/tcp/address_groups.hpp"
#include "peer/net/tcp/pending_links.hpp"
#include "peer/net/tcp/refusal_log.hpp"
#include "peer/net/tcp/socket_places.hpp"
#include "peer/net/tcp/tcp_dials.hpp"
#include "peer/net/tcp/tcp_link.hpp"
#include "peer/net/tcp/tcp_transport.hpp"

namespace dedloc::net {

/// Owns the links, the handshakes and the dials of a transport.
class TcpTransport::Impl {
  public:
    Impl(const TransportOptions& options, EventSink sink);
    ~Impl();

    // Thread: any.
    using Task = std::function<void()>;
    /// When a posted task must run.
    enum class Wake { kNow, kIfReadingWaits };
    /// Runs `task` on the thread, in the order of the calls. With kIfReadingWaits it may be delayed
    /// until the next call that wakes the thread.
    void submit(Task task, Wake wake = Wake::kNow);
    std::size_t frame_limit() const { return options_.limits.frame_bytes; }
    std::uint16_t port() const { return port_; }
    std::uint16_t bound_port() const { return bound_port_; }
    void set_port(std::uint16_t port) { port_ = port; }
    const LinkTraffic& traffic() const { return traffic_; }

    // On the thread.
    /// Posted by the functions of Transport with these names.
    void dial(const Endpoint& remote, const std::optional<PeerKey>& expected);
    void present(const formats::SignedTicket& ticket);
    void revoke(const formats::Revocations& latest);
    void limit(std::optional<Bandwidth> upload, std::optional<Bandwidth> download) {
        traffic_.upload.set(upload);
        traffic_.download.set(download);
    }
    /// The open link with this id; null: it has closed.
    std::shared_ptr<TcpLink> find(LinkId id) const;

  private:
    struct Entry {
        std::shared_ptr<TcpLink> link;
        std::optional<LinkTicket> ticket;  ///< the other end's; nothing if links prove nothing
        bool is_dialled = false;
        Endpoint remote;
        FlowSecret flows{};                                   ///< set if the link is proven
        Cipher cipher = Cipher::kXChaCha20;                   ///< seals the frames of its flows
        bool is_sealed = false;                               ///< its frames are sealed
        std::chrono::steady_clock::time_point widen_after{};  ///< no attempt before this
    };

    void run();
    void drain();
    void stop();
    void accept();
    void accept_after(std::chrono::milliseconds pause);
    void accepted(TcpSocket socket);
    void connected(TcpSocket socket, const Endpoint& remote, Side side, const DialPurpose& purpose);
    void dial_failed(const Endpoint& remote, const DialPurpose& purpose, const std::string& why);
    void greeted(const Endpoint& remote, Side side, TcpHandshake& handshake);
    void adopt(TcpSocket socket, const Endpoint& remote, Side side, const Proven* proven,
               LinkWindow::Duration round_trip = LinkWindow::kMaxRoundTrip);
    void evict_for(const PeerKey& peer, const Endpoint& remote);
    bool evict_for_unproven(const Endpoint& remote);
    /// Whether one more incoming link may be opened now.
    bool has_place() const { return links_.size() + more_flows_ < places_.links; }
    bool has_dial_place() const;
    LinkRefusal admit(const PeerKey& opener);
    void over(LinkId id);
    LinkRefusal renewed(LinkId id, std::span<const std::byte> ticket);
    void held_back(bool now);
    void look_again();
    void end_expired();

    // Flows beyond the first of each link (tcp_transport_flows.cpp).
    void widen_limited();
    void widen(LinkId id);
    void asked_to_widen(LinkId id);
    void attach(const Endpoint& remote, TcpHandshake& handshake);
    NamedLink find_link(const FlowToken& token) const;
    /// Whether one more flow may be attached to a link now.
    bool has_flow_place() const { return has_place() && more_flows_ < places_.more_flows; }

    const TransportOptions options_;
    const SocketPlaces places_;
    const EventSink sink_;
    /// Enough for the large frames of a round of 36 MB: a new buffer would be zeroed first
    /// (tests/bench/RESULTS.md, net_bench).
    const BufferPool pool_{std::size_t{64} << 20};
    std::atomic<std::uint16_t> port_ = 0;
    std::uint16_t bound_port_ = 0;  ///< constant after construction

    std::mutex mutex_;  ///< guards the members up to context_
    std::vector<Task> inbox_;
    bool is_drain_due_ = false;
    std::size_t waiting_links_ = 0;  ///< links whose reading waits for taken()

    // Used by the thread only.
    asio::io_context context_{1};  ///< outlives the members below, which use it
    asio::executor_work_guard<Executor> work_{context_.get_executor()};
    LinkTraffic traffic_{RateLimit{context_.get_executor()}, RateLimit{context_.get_executor()}};
    std::vector<Task> tasks_;  ///< taken from the inbox by drain()
    std::unordered_map<LinkId, Entry> links_;
    std::map<FlowToken, LinkId> by_token_;  ///< the proven links
    std::size_t more_flows_ = 0;            ///< flows beyond the first, of all links
    AddressGroups unproven_;                ///< incoming links that prove nothing, by LinkId
    AddressGroups silent_;                  ///< those of unproven_ on which no frame has arrived
    Random random_{unpredictable_seed()};   ///< which of them are evicted
    TokenBuckets opens_{options_.opens_of_one};  ///< incoming proven links
    formats::Revocations revoked_;
    std::optional<formats::SignedTicket> presented_;  ///< last ticket given to present()
    std::uint64_t last_id_ = 0;
    RefusalLog refusals_{options_.logs_addresses};
    std::optional<PendingLinks> pending_links_;  ///< nothing if links prove nothing
    TcpDials dials_{context_,
                    options_.dial_deadline,
                    options_.congestion,
                    {.on_connected =
                         [this](TcpSocket socket, const Endpoint& remote, const auto& purpose) {
                             connected(std::move(socket), remote, Side::kDialler, purpose);
                         },
                     .on_failed = [this](const Endpoint& remote, const auto& purpose,
                                         const auto& why) { dial_failed(remote, purpose, why); }}};
    TcpAcceptor acceptor_{context_};
    Timer accept_pause_{context_};
    Timer next_look_{context_};
    std::thread thread_;
};

}  // namespace dedloc::net
