// A connect operation and a deadline timer share one Dialling object. The deadline only closes the
// socket, which aborts the connect operation; finish() runs once, in the connect handler. A connect
// that succeeds just as the deadline closes the socket counts as failed.
#include "peer/net/tcp/tcp_dials.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "peer/net/endpoint_text.hpp"
#include "peer/platform/networks.hpp"

namespace dedloc::net {

namespace {

/// The reason of a failed dial. Only the deadline aborts a dial.
std::string sentence_of(const error_code& error) {
    if (error == asio::error::connection_refused) return "the connection was refused";
    if (!error || error == asio::error::operation_aborted || error == asio::error::timed_out) {
        return "it cannot be reached in time";
    }
    if (error == asio::error::no_descriptors) {
        return "this process has no descriptor left to dial with";
    }
    return fmt::format("it cannot be reached ({})", error.message());
}

}  // namespace

/// One dial, owned by the handlers of its deadline and its connect operation.
struct TcpDials::Dialling {
    Dialling(asio::io_context& context, const Endpoint& to, const DialPurpose& what_for)
        : remote(to), purpose(what_for), socket(context), deadline(context) {}
    const Endpoint remote;
    const DialPurpose purpose;
    TcpSocket socket;
    Timer deadline;
};

TcpDials::TcpDials(asio::io_context& context, std::chrono::milliseconds deadline,
                   std::string congestion, Owner owner)
    : context_(context),
      deadline_(deadline),
      congestion_(std::move(congestion)),
      owner_(std::move(owner)) {}

void TcpDials::dial(const Endpoint& remote, const DialPurpose& purpose, bool has_place) {
    if (!is_numeric_host(remote.host) || remote.port == 0) {
        return owner_.on_failed(remote, purpose, "its address cannot be dialled");
    }
    if (!has_place) return owner_.on_failed(remote, purpose, "too many dials and links at once");
    const tcp::endpoint there(asio::ip::make_address(remote.host), remote.port);
    const auto dialling = std::make_shared<Dialling>(context_, remote, purpose);
    error_code error;
    dialling->socket.open(there.protocol(), error);
    if (error) return owner_.on_failed(remote, purpose, sentence_of(error));
    set_up(dialling->socket, platform::is_loopback_host(remote.host) ? "" : congestion_);
    ++count_;
    dialling->deadline.expires_after(deadline_);
    dialling->deadline.async_wait([dialling](const error_code& cancelled) {
        error_code ignored;
        if (!cancelled) dialling->socket.close(ignored);
    });
    dialling->socket.async_connect(
        there, [this, dialling](const error_code& refused) { finish(*dialling, refused); });
}

void TcpDials::finish(Dialling& dialling, const error_code& error) {
    --count_;
    dialling.deadline.cancel();
    if (!error && dialling.socket.is_open()) {
        owner_.on_connected(std::move(dialling.socket), dialling.remote, dialling.purpose);
    } else {
        owner_.on_failed(dialling.remote, dialling.purpose, sentence_of(error));
    }
}

}  // namespace dedloc::net
