// One thread runs an io_context and owns links, pending links, dials and timers without locks.
// Calls of the owner put tasks into an inbox; the first one posts drain(), which runs all of them
// in order. Calls of taken() do not wake the thread unless a link's reading waits for them.
// A connection passes accepted() or a dial, then connected(), the handshake, greeted() and adopt();
// without proofs connected() adopts it at once.
// Every path that ends a link goes through TcpLink::cut() and over(), which erases it from links_.
#include "peer/net/tcp/tcp_transport.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/net/tcp/listening.hpp"
#include "peer/net/tcp/tcp_transport_impl.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/networks.hpp"
#include "peer/platform/signals_blocked.hpp"

namespace dedloc::net {

namespace {

/// Pause after a failed accept, for example without a free descriptor.
constexpr std::chrono::milliseconds kAcceptPause{100};
/// Pause between two accepts while there are too many pending links: 16 of one address then have
/// 16 ms to send a Hello, and 1,000 in the system's queue delay another connection by one second.
constexpr std::chrono::milliseconds kCrowdedPause{1};
constexpr const char* kLinksTaken = "the limit of links is reached";

Endpoint remote_of(const TcpSocket& socket) {
    error_code error;
    const tcp::endpoint remote = socket.remote_endpoint(error);
    if (error) return {};
    if (!remote.address().is_v6()) return {remote.address().to_string(), remote.port()};
    const asio::ip::address_v6 v6 = remote.address().to_v6();
    if (v6.is_v4_mapped()) {  // on a socket for both families
        return {asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_string(), remote.port()};
    }
    const asio::ip::address_v6 without_scope(v6.to_bytes());
    return {without_scope.to_string(), remote.port()};
}

}  // namespace

TcpTransport::Impl::Impl(const TransportOptions& options, EventSink sink)
    : options_(options),
      places_(divide_sockets(options, options.sockets.value_or(
                                          platform::socket_budget(platform::descriptor_limit())))),
      sink_(std::move(sink)) {
    DEDLOC_CHECK(options_.limits.frame_bytes <= kMaxFrameLimit, "the frame limit is too large");
    DEDLOC_CHECK(options_.max_flows >= 1 && options_.max_flows <= kMaxFlows,
                 "a link has between one and kMaxFlows flows", options_.max_flows);
    if (places_.links < options_.max_links) {
        log_info("{}", describe_places(options_, places_, platform::descriptor_limit()));
    }
    if (options_.session) {
        revoked_ = options_.session->revocations;
        pending_links_.emplace(
            options_, places_, revoked_, [this](const PeerKey& opener) { return admit(opener); },
            [this](const FlowToken& token) { return find_link(token); },
            [this](const Endpoint& remote, Side side, TcpHandshake& handshake) {
                greeted(remote, side, handshake);
            });
        look_again();
    }
    if (options_.listen) {
        port_ = bound_port_ = listen(acceptor_, *options_.listen, options_.preferred_port);
        accept();
    }
    const platform::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
}

TcpTransport::Impl::~Impl() {
    submit([this] { stop(); });
    thread_.join();
}

void TcpTransport::Impl::run() {
    pthread_setname_np(pthread_self(), "dedloc-net");
    context_.run();
}

/// Pending handlers are not called after this, but destroyed with the context.
void TcpTransport::Impl::stop() {
    while (!links_.empty()) find(links_.begin()->first)->cut();
    context_.stop();
}

void TcpTransport::Impl::submit(Task task, Wake wake) {
    {
        const std::lock_guard lock(mutex_);
        inbox_.push_back(std::move(task));
        if (wake == Wake::kIfReadingWaits && waiting_links_ == 0) return;
        if (std::exchange(is_drain_due_, true)) return;
    }
    asio::post(context_, [this] { drain(); });
}

void TcpTransport::Impl::drain() {
    {
        const std::lock_guard lock(mutex_);
        tasks_.swap(inbox_);
        is_drain_due_ = false;
    }
    for (const Task& task : tasks_) task();
    tasks_.clear();
}

/// A link's reading stops, or goes on. When it stops, the inbox may hold a taken() that no wake-up
/// follows, so the thread is woken.
void TcpTransport::Impl::held_back(bool now) {
    {
        const std::lock_guard lock(mutex_);
        now ? ++waiting_links_ : --waiting_links_;
    }
    if (now) submit([] {});
}

void TcpTransport::Impl::accept() {
    acceptor_.async_accept([this](const error_code& error, TcpSocket socket) {
        if (!error) {
            accepted(std::move(socket));
            const bool is_crowded = pending_links_ && pending_links_->take_crowded();
            return is_crowded ? accept_after(kCrowdedPause) : accept();
        }
        refusals_.accept_failed(error == asio::error::no_descriptors
                                    ? "this process has no descriptor left"
                                    : error.message());
        accept_after(kAcceptPause);
    });
}

void TcpTransport::Impl::accept_after(std::chrono::milliseconds pause) {
    accept_pause_.expires_after(pause);
    accept_pause_.async_wait([this](const error_code&) { accept(); });
}

void TcpTransport::Impl::accepted(TcpSocket socket) {
    const Endpoint remote = remote_of(socket);
    set_up(socket, platform::is_loopback_host(remote.host) ? "" : options_.congestion);
    // A peer that proves its key is told that there is no place.
    if (!pending_links_ && !evict_for_unproven(remote)) {
        return refusals_.refused(remote, kLinksTaken);
    }
    connected(std::move(socket), remote, Side::kListener, {});
}

/// A peer may open so many links in a time, since each one costs more than a message.
LinkRefusal TcpTransport::Impl::admit(const PeerKey& opener) {
    const TimePoint now{std::chrono::steady_clock::now().time_since_epoch()};
    if (!opens_.take(now, opener)) return LinkRefusal::kTooOften;
    return has_place() ? LinkRefusal::kNone : LinkRefusal::kFull;
}

/// Whether one more dial may begin now.
bool TcpTransport::Impl::has_dial_place() const {
    const std::size_t dials = dials_.count() + (pending_links_ ? pending_links_->dialled() : 0);
    return dials < places_.dials &&
           links_.size() + more_flows_ + dials < places_.links + places_.dials;
}

void TcpTransport::Impl::dial(const Endpoint& remote, const std::optional<PeerKey>& expected) {
    dials_.dial(remote, {.expected = expected}, has_dial_place());
}

void TcpTransport::Impl::dial_failed(const Endpoint& remote, const DialPurpose& purpose,
                                     const std::string& why) {
    if (purpose.link) return refusals_.not_widened(remote, why);
    sink_(event::DialFailed{remote, why});
}

void TcpTransport::Impl::connected(TcpSocket socket, const Endpoint& remote, Side side,
                                   const DialPurpose& purpose) {
    if (purpose.link) {
        const auto link = links_.find(*purpose.link);
        if (link == links_.end()) return;
        pending_links_->begin_flow(std::move(socket), remote, link->second.flows);
    } else if (pending_links_) {
        pending_links_->begin_handshake(std::move(socket), remote, side, purpose.expected);
    } else {
        adopt(std::move(socket), remote, side, nullptr);
    }
}

void TcpTransport::Impl::greeted(const Endpoint& remote, Side side, TcpHandshake& handshake) {
    if (handshake.flow() != nullptr) {
        if (handshake.is_proven()) return attach(remote, handshake);
        if (side == Side::kDialler) return refusals_.not_widened(remote, handshake.sentence());
        refusals_.refused(remote, handshake.sentence());
    } else if (handshake.is_proven()) {
        adopt(handshake.take_socket(), remote, side, &handshake.proven(), handshake.round_trip());
    } else if (side == Side::kDialler) {
        sink_(event::DialFailed{remote, handshake.sentence(), handshake.is_self()});
    } else {
        refusals_.refused(remote, handshake.sentence());
    }
}

void TcpTransport::Impl::present(const formats::SignedTicket& ticket) {
    if (!pending_links_) return;
    pending_links_->present(ticket);
    presented_ = ticket;
    const auto shown = std::make_shared<const Buffer>(formats::encode(ticket));
    for (const auto& [id, entry] : links_) entry.link->show(shown);
}

/// Judges a ticket that a link's other end shows.
LinkRefusal TcpTransport::Impl::renewed(LinkId id, std::span<const std::byte> ticket) {
    auto& known = links_.at(id).ticket;
    if (!known) return LinkRefusal::kNotALink;  // this link proves nothing
    return known->renew(ticket, *options_.session, platform::utc_now(), revoked_);
}

void TcpTransport::Impl::revoke(const formats::Revocations& latest) {
    if (!pending_links_ || latest.as_of < revoked_.as_of) return;
    revoked_.as_of = latest.as_of;
    if (latest == revoked_) return;
    revoked_ = latest;
    for (const auto& [id, entry] : links_) {
        if (entry.ticket && revoked_.covers(entry.ticket->last())) {
            entry.link->refuse(LinkRefusal::kRevoked);
        }
    }
}

void TcpTransport::Impl::look_again() {
    next_look_.expires_after(options_.check_interval);
    next_look_.async_wait([this](const error_code&) {
        end_expired();
        widen_limited();
        look_again();
    });
}

void TcpTransport::Impl::end_expired() {
    const formats::UtcSeconds now = platform::utc_now();
    for (const auto& [id, entry] : links_) {
        if (entry.ticket && now >= entry.ticket->last().expires) {
            entry.link->refuse(LinkRefusal::kExpired);
        }
    }
}

/// Turns a connection into a link.
void TcpTransport::Impl::adopt(TcpSocket socket, const Endpoint& remote, Side side,
                               const Proven* proven, LinkWindow::Duration round_trip) {
    const bool is_dialled = side == Side::kDialler;
    if (!is_dialled && !has_place()) return refusals_.refused(remote, kLinksTaken);
    const bool is_sealed = proven != nullptr && proven->encrypts;
    FrameCodec codec = is_sealed
                           ? make_sealed_codec(proven->keys(), options_.limits.frame_bytes, pool_)
                           : make_plain_codec(options_.limits.frame_bytes, pool_);
    event::LinkOpened opened{.link = LinkId{++last_id_}, .remote = remote, .dialled = is_dialled};
    std::optional<LinkTicket> ticket;
    if (proven != nullptr) {
        ticket.emplace(proven->peer);
        opened.proven = proven->peer.peer;
        opened.user = proven->peer.job.user;
        opened.max_samples_per_second = proven->peer.max_samples_per_second;
        if (!is_dialled) evict_for(proven->peer.peer, remote);
    }
    const auto link = std::make_shared<TcpLink>(
        opened.link,
        TcpLink::Connection{.socket = std::move(socket),
                            .codec = std::move(codec),
                            .window = LinkWindow{options_.limits.path_bytes, round_trip},
                            .may_widen = proven != nullptr},
        options_.limits, traffic_, sink_,
        TcpLink::Owner{.on_ticket = [this](LinkId id, auto shown) { return renewed(id, shown); },
                       .on_held_back = [this](bool now) { held_back(now); },
                       .on_first_frame = [this](LinkId id) { silent_.remove(id.value()); },
                       .on_widen = [this](LinkId id) { asked_to_widen(id); },
                       .on_over = [this](LinkId id) { over(id); }});
    Entry entry{link, ticket, is_dialled, remote};
    if (proven != nullptr) {
        entry.flows = proven->flows;
        entry.cipher = proven->cipher;
        entry.is_sealed = is_sealed;
        by_token_.emplace(proven->flows.token, opened.link);
    }
    links_.emplace(opened.link, std::move(entry));
    if (!is_dialled && !ticket) {
        unproven_.add(opened.link.value(), remote.host);
        silent_.add(opened.link.value(), remote.host);
    }
    sink_(opened);
    // A revocation or a new ticket of ours may have come during the handshake.
    if (ticket && revoked_.covers(ticket->last())) link->refuse(LinkRefusal::kRevoked);
    if (ticket && presented_ && presented_->ticket.expires > proven->expires) {
        link->show(std::make_shared<const Buffer>(formats::encode(*presented_)));
    }
    link->start();
}

/// Cuts the oldest link that this peer has opened if it has as many as it may have. A peer that has
/// restarted or changed its network may still have dead links.
void TcpTransport::Impl::evict_for(const PeerKey& peer, const Endpoint& remote) {
    std::size_t count = 0;
    auto oldest = links_.end();
    for (auto at = links_.begin(); at != links_.end(); ++at) {
        const Entry& entry = at->second;
        if (entry.is_dialled || !entry.ticket || entry.ticket->last().peer != peer) continue;
        ++count;
        if (oldest == links_.end() || at->first < oldest->first) oldest = at;
    }
    if (count < options_.max_links_of_one) return;
    find(oldest->first)->cut();
    refusals_.refused(remote, "it has opened too many links");
}

/// Makes space for an incoming link without proofs from this address, if needed by cutting one on
/// which no frame has arrived. False: there is no space and no such link.
bool TcpTransport::Impl::evict_for_unproven(const Endpoint& remote) {
    const bool is_share_taken = unproven_.size_of(remote.host) >= places_.unproven_from_one_address;
    if (!is_share_taken && has_place()) return true;
    std::optional<AddressGroups::Number> evicted;
    if (is_share_taken) {
        evicted = silent_.oldest_of(remote.host);
    } else if (const auto victim = silent_.victim(random_)) {
        evicted = victim->number;
    }
    if (!evicted) return false;
    const LinkId id{*evicted};
    refusals_.refused(links_.at(id).remote,
                      "it has sent nothing, and another connection needs its place");
    find(id)->cut();
    return true;
}

void TcpTransport::Impl::over(LinkId id) {
    const auto found = links_.find(id);
    more_flows_ -= found->second.link->flows() - 1;
    by_token_.erase(found->second.flows.token);
    links_.erase(found);
    unproven_.remove(id.value());
    silent_.remove(id.value());
}

std::shared_ptr<TcpLink> TcpTransport::Impl::find(LinkId id) const {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : found->second.link;
}

TcpTransport::TcpTransport(const TransportOptions& options, EventSink sink)
    : impl_(std::make_unique<Impl>(options, std::move(sink))) {}

TcpTransport::~TcpTransport() = default;

void TcpTransport::dial(const Endpoint& remote) {
    impl_->submit([impl = impl_.get(), remote] { impl->dial(remote, {}); });
}

void TcpTransport::dial(const Endpoint& remote, const PeerKey& expected) {
    impl_->submit([impl = impl_.get(), remote, expected] { impl->dial(remote, expected); });
}

void TcpTransport::present(const formats::SignedTicket& ticket) {
    impl_->submit([impl = impl_.get(), ticket] { impl->present(ticket); });
}

void TcpTransport::revoke(const formats::Revocations& revoked) {
    impl_->submit([impl = impl_.get(), revoked] { impl->revoke(revoked); });
}

void TcpTransport::set_listening_port(std::uint16_t port) {
    impl_->set_port(port);
}

std::uint16_t TcpTransport::bound_port() const {
    return impl_->bound_port();
}

void TcpTransport::limit(std::optional<Bandwidth> upload, std::optional<Bandwidth> download) {
    impl_->submit([impl = impl_.get(), upload, download] { impl->limit(upload, download); });
}

Bytes TcpTransport::sent() const {
    return Bytes{impl_->traffic().sent};
}

Bytes TcpTransport::received() const {
    return Bytes{impl_->traffic().received};
}

void TcpTransport::send(LinkId link, Frame frame) {
    DEDLOC_CHECK(bool{frame}, "the frame to send is empty");
    DEDLOC_CHECK(frame.size() <= impl_->frame_limit(), "the frame to send is larger than the limit",
                 frame.size());
    impl_->submit([impl = impl_.get(), link, frame = std::move(frame)]() mutable {
        if (const auto found = impl->find(link)) found->send(std::move(frame));
    });
}

void TcpTransport::close(LinkId link) {
    impl_->submit([impl = impl_.get(), link] {
        if (const auto found = impl->find(link)) found->close();
    });
}

void TcpTransport::taken(LinkId link) {
    const auto take = [impl = impl_.get(), link] {
        if (const auto found = impl->find(link)) found->taken();
    };
    impl_->submit(take, Impl::Wake::kIfReadingWaits);
}

std::uint16_t TcpTransport::listening_port() const {
    return impl_->port();
}

}  // namespace dedloc::net
