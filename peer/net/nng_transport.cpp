#include "peer/net/nng_transport.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/net/link_ticket.hpp"
#include "peer/net/nng_handles.hpp"
#include "peer/net/nng_link.hpp"
#include "peer/net/nng_strangers.hpp"
#include "peer/net/refusal_log.hpp"
#include "peer/net/signals_blocked.hpp"

namespace dedloc::net {

namespace {

/// After a failed accept (no descriptor left, say) this passes before the next one.
constexpr nng_duration kAcceptPauseMilliseconds = 100;
/// Room for large frames that is kept for the next ones.
constexpr std::size_t kPoolBytes = std::size_t{8} << 20;

std::string url_of(const Endpoint& endpoint) {
    return "tcp://" + endpoint.text();
}

/// Why a dial failed, as one of a few sentences.
std::string sentence_of(int status) {
    switch (status) {
        case NNG_ECONNREFUSED:
            return "nobody listens there";
        case NNG_ETIMEDOUT:
            return "it cannot be reached in time";
        default:
            return fmt::format("it cannot be reached ({})", nng_strerror(status));
    }
}

Endpoint remote_of(nng_stream* stream) {
    nng_sockaddr address{};
    if (nng_stream_get_addr(stream, NNG_OPT_REMADDR, &address) != 0) return {};
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.s_family == NNG_AF_INET) {
        inet_ntop(AF_INET, &address.s_in.sa_addr, text.data(), text.size());
        return {text.data(), ntohs(address.s_in.sa_port)};
    }
    if (address.s_family == NNG_AF_INET6) {
        inet_ntop(AF_INET6, address.s_in6.sa_addr, text.data(), text.size());
        return {text.data(), ntohs(address.s_in6.sa_port)};
    }
    return {};
}

/// What was accepted or dialled. It sends small data at once: nng leaves Nagle's algorithm on, by
/// which a receipt or a vote waits for a round trip while something else is on its way. On a
/// connection that is lost already this does nothing.
NngStream stream_of(nng_aio* aio) {
    NngStream stream{static_cast<nng_stream*>(nng_aio_get_output(aio, 0))};
    nng_stream_set_bool(stream.get(), NNG_OPT_TCP_NODELAY, true);
    return stream;
}

}  // namespace

/// Objects with callbacks cannot be destroyed inside them: what is over is put on a list, and the
/// owner's next call destroys it. Links are found and destroyed on the owner's thread only, so a
/// found link stays while it is used.
class NngTransport::Impl {
  public:
    Impl(const TransportOptions& options, EventSink sink);
    ~Impl();

    void dial(const Endpoint& remote, const std::optional<PeerKey>& expected);
    void present(const wire::SignedTicket& ticket);
    void revoke(const wire::Revocations& latest);
    NngLink* find(LinkId id);
    void bury();
    void end_expired();
    std::uint16_t port() const { return port_; }
    void set_port(std::uint16_t port) { port_ = port; }

  private:
    struct Dialling {
        Dialling(Impl& owner, const Endpoint& endpoint, const std::optional<PeerKey>& peer)
            : impl(owner),
              remote(endpoint),
              expected(peer),
              aio([](void* self) { static_cast<Dialling*>(self)->ended(); }, this) {}
        void ended() { impl.dial_ended(*this); }

        Impl& impl;
        const Endpoint remote;
        const std::optional<PeerKey> expected;
        NngDialer dialer;
        NngAio aio;
    };

    struct Entry {
        std::unique_ptr<NngLink> link;
        std::optional<LinkTicket> ticket;  ///< of the other end
        bool is_dialled = false;
        bool is_over = false;  ///< has ended, or is about to
    };

    void listen(const Endpoint& endpoint);
    void accepted();
    void dial_ended(Dialling& dialling);
    void greeted(NngStrangers::Outcome outcome);
    void adopt(NngStream stream, const Endpoint& remote, bool is_dialled, const Proven* proven,
               LinkWindow::Duration round_trip = LinkWindow::kLongestRoundTrip);
    void make_room_for(const PeerKey& peer, const Endpoint& remote);
    LinkRefusal renewed(LinkId id, std::span<const std::byte> ticket);
    void link_over(LinkId id);
    std::shared_ptr<const wire::Revocations> revoked();
    bool is_full();

    const TransportOptions options_;
    const EventSink sink_;
    const BufferPool pool_{kPoolBytes};
    std::uint16_t port_ = 0;
    wire::UtcSeconds looked_{};  ///< for expired tickets; the owner's

    std::mutex mutex_;  ///< guards what follows, up to the listener
    std::condition_variable all_over_;
    std::unordered_map<LinkId, Entry> links_;
    std::shared_ptr<const wire::Revocations> revoked_;  ///< never changed, but replaced
    std::optional<wire::SignedTicket> presented_;       ///< our last, once it has been renewed
    std::vector<LinkId> over_;
    std::vector<std::unique_ptr<Dialling>> diallings_;
    std::vector<const Dialling*> dialled_;
    std::uint64_t last_id_ = 0;
    std::size_t living_ = 0;
    bool is_stopping_ = false;

    RefusalLog refusals_;
    std::unique_ptr<NngStrangers> strangers_;  ///< null when links prove nothing
    NngListener listener_;
    bool accept_pauses_ = false;  ///< the accept operation under way is a sleep
    NngAio accept_;
};

NngTransport::Impl::Impl(const TransportOptions& options, EventSink sink)
    : options_(options),
      sink_(std::move(sink)),
      accept_([](void* self) { static_cast<Impl*>(self)->accepted(); }, this) {
    DEDLOC_CHECK(options_.limits.frame_bytes <= kLargestFrameLimit, "frame limit is too large");
    if (options_.session) {
        revoked_ = std::make_shared<const wire::Revocations>(options_.session->revocations);
        strangers_ = std::make_unique<NngStrangers>(
            *options_.session, options_.handshakes, [this] { return revoked(); },
            [this](NngStrangers::Outcome outcome) { greeted(std::move(outcome)); });
    }
    if (options_.listen) listen(*options_.listen);
}

NngTransport::Impl::~Impl() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    if (listener_) nng_stream_listener_close(listener_.get());
    accept_.stop();
    for (const auto& dialling : diallings_) dialling->aio.stop();
    strangers_.reset();
    std::unique_lock lock(mutex_);
    for (const auto& [id, entry] : links_) entry.link->cut();
    all_over_.wait(lock, [&] { return living_ == 0; });
}

void NngTransport::Impl::listen(const Endpoint& endpoint) {
    if (!is_numeric_host(endpoint.host)) {
        throw InputError(
            fmt::format("cannot listen on \"{}\": it is not a numeric address", endpoint.host));
    }
    nng_stream_listener* listener = nullptr;
    int status = nng_stream_listener_alloc(&listener, url_of(endpoint).c_str());
    listener_.reset(listener);
    if (status == 0) status = nng_stream_listener_listen(listener);
    if (status == NNG_EADDRINUSE) {
        throw IoError(fmt::format("cannot listen on {}: the port is in use", endpoint.text()));
    }
    int port = endpoint.port;
    if (status == 0 && port == 0) {
        status = nng_stream_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port);
    }
    if (status != 0) {
        throw IoError(
            fmt::format("cannot listen on {}: {}", endpoint.text(), nng_strerror(status)));
    }
    port_ = static_cast<std::uint16_t>(port);
    nng_stream_listener_accept(listener, accept_.get());
}

void NngTransport::Impl::accepted() {
    const int status = accept_.result();
    const bool is_accept = !std::exchange(accept_pauses_, false);
    NngStream stream;
    if (is_accept && status == 0) {
        stream = stream_of(accept_.get());
    }
    {
        const std::lock_guard lock(mutex_);
        if (is_stopping_ || status == NNG_ECLOSED || status == NNG_ECANCELED) return;
    }
    if (is_accept && status != 0) {
        accept_pauses_ = true;
        nng_sleep_aio(kAcceptPauseMilliseconds, accept_.get());
        return;
    }
    if (stream && !is_full()) {
        const Endpoint remote = remote_of(stream.get());
        if (strangers_) {
            strangers_->greet(std::move(stream), remote, Side::kListener, {});
        } else {
            adopt(std::move(stream), remote, false, nullptr);
        }
    }
    nng_stream_listener_accept(listener_.get(), accept_.get());
}

void NngTransport::Impl::dial(const Endpoint& remote, const std::optional<PeerKey>& expected) {
    const std::string url = url_of(remote);
    nng_stream_dialer* dialer = nullptr;
    if (!is_numeric_host(remote.host) || remote.port == 0 ||
        nng_stream_dialer_alloc(&dialer, url.c_str()) != 0) {
        sink_(event::DialFailed{remote, "it has no address that can be dialled"});
        return;
    }
    auto dialling = std::make_unique<Dialling>(*this, remote, expected);
    dialling->dialer.reset(dialer);
    nng_aio* aio = dialling->aio.get();
    nng_aio_set_timeout(aio, static_cast<nng_duration>(options_.dial_deadline.count()));
    {
        const std::lock_guard lock(mutex_);
        diallings_.push_back(std::move(dialling));
    }
    nng_stream_dialer_dial(dialer, aio);
}

void NngTransport::Impl::dial_ended(Dialling& dialling) {
    const int status = dialling.aio.result();
    if (status == 0) {
        NngStream stream = stream_of(dialling.aio.get());
        if (strangers_) {
            strangers_->greet(std::move(stream), dialling.remote, Side::kDialler,
                              dialling.expected);
        } else {
            adopt(std::move(stream), dialling.remote, true, nullptr);
        }
    } else {
        sink_(event::DialFailed{dialling.remote, sentence_of(status)});
    }
    const std::lock_guard lock(mutex_);
    dialled_.push_back(&dialling);
}

void NngTransport::Impl::greeted(NngStrangers::Outcome outcome) {
    if (outcome.proven != nullptr) {
        adopt(std::move(outcome.stream), outcome.remote, outcome.is_dialled, outcome.proven,
              outcome.round_trip);
    } else if (outcome.is_dialled) {
        sink_(event::DialFailed{outcome.remote, outcome.why, outcome.is_self});
    } else {
        refusals_.refused(outcome.remote, outcome.why);
    }
}

std::shared_ptr<const wire::Revocations> NngTransport::Impl::revoked() {
    const std::lock_guard lock(mutex_);
    return revoked_;
}

bool NngTransport::Impl::is_full() {
    const std::lock_guard lock(mutex_);
    return living_ >= options_.most_links;
}

void NngTransport::Impl::present(const wire::SignedTicket& ticket) {
    if (!strangers_) return;
    strangers_->present(ticket);
    const auto shown = std::make_shared<const Buffer>(wire::encode(ticket));
    const std::lock_guard lock(mutex_);
    presented_ = ticket;
    for (const auto& [id, entry] : links_) entry.link->show(shown);
}

/// A link's other end shows a ticket. On a thread of nng.
LinkRefusal NngTransport::Impl::renewed(LinkId id, std::span<const std::byte> ticket) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const std::lock_guard lock(mutex_);
    auto& known = links_.at(id).ticket;
    if (!known) return LinkRefusal::kNotALink;  // this link proves nothing
    return known->renew(ticket, *options_.session, now, *revoked_);
}

void NngTransport::Impl::revoke(const wire::Revocations& latest) {
    if (!options_.session) return;
    const std::lock_guard lock(mutex_);
    if (latest.as_of < revoked_->as_of) return;
    revoked_ = std::make_shared<const wire::Revocations>(latest);
    for (const auto& [id, entry] : links_) {
        if (entry.ticket && revoked_->covers(entry.ticket->last())) {
            entry.link->refuse(LinkRefusal::kRevoked);
        }
    }
}

/// Looks once a second at most.
void NngTransport::Impl::end_expired() {
    if (!options_.session) return;
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (now == std::exchange(looked_, now)) return;
    const std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : links_) {
        if (entry.ticket && now >= entry.ticket->last().expires) {
            entry.link->refuse(LinkRefusal::kExpired);
        }
    }
}

/// Makes a link of a connection. On a thread of nng.
void NngTransport::Impl::adopt(NngStream stream, const Endpoint& remote, bool is_dialled,
                               const Proven* proven, LinkWindow::Duration round_trip) {
    const bool is_sealed = proven != nullptr && proven->encrypts;
    FrameCodec codec = is_sealed ? make_sealed_codec(proven->send.bytes, proven->receive.bytes,
                                                     options_.limits.frame_bytes, pool_)
                                 : make_plain_codec(options_.limits.frame_bytes, pool_);
    event::LinkOpened opened{.link = {}, .remote = remote, .dialled = is_dialled};
    std::optional<LinkTicket> ticket;
    if (proven != nullptr) {
        ticket.emplace(proven->peer);
        opened.proven = proven->peer.peer;
    }
    NngLink* link = nullptr;
    bool is_revoked = false;
    SharedBytes renewed;
    {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) return;
        if (!is_dialled && living_ >= options_.most_links) return;
        opened.link = LinkId{++last_id_};
        auto owned = std::make_unique<NngLink>(
            opened.link,
            NngLink::Connection{std::move(stream), std::move(codec),
                                LinkWindow{options_.limits.path_bytes, round_trip}},
            options_.limits, sink_,
            NngLink::Owner{.on_ticket = [this](LinkId shown,
                                               auto bytes) { return this->renewed(shown, bytes); },
                           .on_over = [this](LinkId over) { link_over(over); }});
        link = owned.get();
        // Revoked, or renewed here, while it was proving itself.
        is_revoked = ticket && revoked_->covers(ticket->last());
        if (ticket && presented_ && presented_->ticket.expires > proven->expires) {
            renewed = std::make_shared<const Buffer>(wire::encode(*presented_));
        }
        if (ticket && !is_dialled) make_room_for(ticket->last().peer, remote);
        links_.emplace(opened.link, Entry{std::move(owned), ticket, is_dialled});
        ++living_;
    }
    sink_(opened);
    if (is_revoked) link->refuse(LinkRefusal::kRevoked);
    if (renewed) link->show(renewed);
    link->start();
}

/// With the lock held: cuts the oldest link that this peer has opened if it has its share of them.
/// One that has restarted, or lost its way to us, may still have dead ones.
void NngTransport::Impl::make_room_for(const PeerKey& peer, const Endpoint& remote) {
    std::size_t count = 0;
    auto oldest = links_.end();
    for (auto at = links_.begin(); at != links_.end(); ++at) {
        const Entry& entry = at->second;
        if (entry.is_over || entry.is_dialled || !entry.ticket ||
            entry.ticket->last().peer != peer) {
            continue;
        }
        ++count;
        if (oldest == links_.end() || at->first < oldest->first) oldest = at;
    }
    if (count < options_.most_links_of_one) return;
    oldest->second.is_over = true;
    oldest->second.link->cut();
    refusals_.refused(remote, "it opens more and more links");
}

void NngTransport::Impl::link_over(LinkId id) {
    const std::lock_guard lock(mutex_);
    links_.at(id).is_over = true;
    over_.push_back(id);
    if (--living_ == 0) all_over_.notify_all();
}

/// Destroys what is over. Waits at most for a callback that is just returning.
void NngTransport::Impl::bury() {
    std::vector<std::unique_ptr<NngLink>> links;
    std::vector<std::unique_ptr<Dialling>> diallings;
    const std::lock_guard lock(mutex_);
    for (const LinkId id : std::exchange(over_, {})) {
        links.push_back(std::move(links_.at(id).link));
        links_.erase(id);
    }
    for (const Dialling* over : std::exchange(dialled_, {})) {
        const auto found = std::ranges::find(diallings_, over, &std::unique_ptr<Dialling>::get);
        diallings.push_back(std::move(*found));
        diallings_.erase(found);
    }
}

NngLink* NngTransport::Impl::find(LinkId id) {
    const std::lock_guard lock(mutex_);
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : found->second.link.get();
}

NngTransport::NngTransport(const TransportOptions& options, EventSink sink) {
    const SignalsBlocked blocked;  // nng starts its threads at its first use
    impl_ = std::make_unique<Impl>(options, std::move(sink));
}

NngTransport::~NngTransport() = default;

void NngTransport::dial(const Endpoint& remote) {
    impl_->bury();
    impl_->dial(remote, {});
}

void NngTransport::dial(const Endpoint& remote, const PeerKey& expected) {
    impl_->bury();
    impl_->dial(remote, expected);
}

void NngTransport::present(const wire::SignedTicket& ticket) {
    impl_->present(ticket);
}

void NngTransport::revoke(const wire::Revocations& revoked) {
    impl_->revoke(revoked);
}

void NngTransport::set_listening_port(std::uint16_t port) {
    impl_->set_port(port);
}

void NngTransport::send(LinkId link, Frame frame) {
    if (NngLink* found = impl_->find(link)) found->send(std::move(frame));
}

void NngTransport::close(LinkId link) {
    if (NngLink* found = impl_->find(link)) found->close();
}

void NngTransport::taken(LinkId link) {
    if (NngLink* found = impl_->find(link)) found->taken();
    impl_->bury();
    impl_->end_expired();
}

std::uint16_t NngTransport::listening_port() const {
    return impl_->port();
}

}  // namespace dedloc::net
