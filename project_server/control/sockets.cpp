#include "project_server/control/sockets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/signals_blocked.hpp"
#include "project_server/control/messages.hpp"

namespace dedloc::control {
namespace {

/// Events that wait at each end of a subscription; a subscriber that is further behind loses some.
constexpr int kQueuedEvents = 128;
constexpr nng_duration kFirstRedial = 50;
constexpr nng_duration kLastRedial = 500;
constexpr int kOwnerOnly = 0600;
/// How long a Replier's thread waits at once, so how long its destructor takes.
constexpr nng_duration kLongestWait = 200;

void check(int error, const std::string& what) {
    if (error != 0) throw IoError(fmt::format("cannot {}: {}", what, nng_strerror(error)));
}

nng_socket handle(const Socket& socket) {
    return nng_socket{socket.id()};
}

nng_duration milliseconds(std::chrono::milliseconds time) {
    return static_cast<nng_duration>(time.count());
}

/// A context of a reply socket: it remembers which client waits for its answer.
class Context {
  public:
    explicit Context(const Socket& socket) {
        check(nng_ctx_open(&context_, handle(socket)), "open a context of a socket");
        check(nng_aio_alloc(&aio_, nullptr, nullptr), "wait for messages of a socket");
        nng_aio_set_timeout(aio_, kLongestWait);
    }
    ~Context() {
        nng_aio_free(aio_);
        nng_ctx_close(context_);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Waits for kLongestWait at most. Nothing if no request came.
    std::optional<std::string> receive() {
        nng_ctx_recv(context_, aio_);
        nng_aio_wait(aio_);
        if (nng_aio_result(aio_) != 0) return std::nullopt;
        nng_msg* const message = nng_aio_get_msg(aio_);
        std::string text{static_cast<const char*>(nng_msg_body(message)), nng_msg_len(message)};
        nng_msg_free(message);
        return text;
    }
    /// A failure is the asker's: it waits in vain and asks again.
    void send(const std::string& text) {
        nng_msg* message = nullptr;
        if (nng_msg_alloc(&message, 0) != 0) return;
        if (nng_msg_append(message, text.data(), text.size()) != 0) return nng_msg_free(message);
        nng_aio_set_msg(aio_, message);
        nng_ctx_send(context_, aio_);
        nng_aio_wait(aio_);
        if (nng_aio_result(aio_) != 0) nng_msg_free(nng_aio_get_msg(aio_));
    }

  private:
    nng_ctx context_{};
    nng_aio* aio_ = nullptr;
};

}  // namespace

SocketFolder::SocketFolder(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) {
        throw InputError(
            fmt::format("cannot open the folder {}: {}", folder.string(), std::strerror(errno)));
    }
}

SocketFolder::~SocketFolder() {
    ::close(descriptor_);
}

std::string SocketFolder::address(const std::string& name) const {
    return fmt::format("ipc:///proc/self/fd/{}/{}", descriptor_, name);
}

Socket::Socket(Kind kind) {
    const platform::SignalsBlocked blocked;  // in the threads that nng starts with its first socket
    nng_socket opened{};
    switch (kind) {
        case Kind::kPublish:
            check(nng_pub0_open(&opened), "open a socket");
            check(nng_socket_set_int(opened, NNG_OPT_SENDBUF, kQueuedEvents), "size a buffer");
            break;
        case Kind::kSubscribe:
            check(nng_sub0_open(&opened), "open a socket");
            check(nng_socket_set_int(opened, NNG_OPT_RECVBUF, kQueuedEvents), "size a buffer");
            check(nng_socket_set(opened, NNG_OPT_SUB_SUBSCRIBE, "", 0), "subscribe");
            break;
        case Kind::kRequest:
            check(nng_req0_open(&opened), "open a socket");
            check(nng_socket_set_ms(opened, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE),
                  "open a socket");
            break;
        case Kind::kReply:
            check(nng_rep0_open(&opened), "open a socket");
            break;
    }
    id_ = opened.id;
    check(nng_socket_set_size(opened, NNG_OPT_RECVMAXSZ, kMaxMessageBytes), "bound messages");
    check(nng_socket_set_ms(opened, NNG_OPT_RECONNMINT, kFirstRedial), "open a socket");
    check(nng_socket_set_ms(opened, NNG_OPT_RECONNMAXT, kLastRedial), "open a socket");
}

Socket::~Socket() {
    close();
}

void Socket::close() {
    nng_close(handle(*this));
}

void Socket::listen(const std::string& address) {
    nng_listener listener{};
    const std::string what = fmt::format("listen at {}", address);
    check(nng_listener_create(&listener, handle(*this), address.c_str()), what);
    check(nng_listener_set_int(listener, NNG_OPT_IPC_PERMISSIONS, kOwnerOnly), what);
    check(nng_listener_start(listener, 0), what);
}

bool Socket::dial(const std::string& address) {
    const int error = nng_dial(handle(*this), address.c_str(), nullptr, 0);
    switch (error) {
        case NNG_ECONNREFUSED:
        case NNG_ENOENT:
        case NNG_ECONNSHUT:  // it ends just now
        case NNG_ECONNRESET:
        case NNG_ECLOSED:
            return false;
        default:
            check(error, fmt::format("connect to {}", address));
            return true;
    }
}

void Socket::keep_dialling(const std::string& address) {
    check(nng_dial(handle(*this), address.c_str(), nullptr, NNG_FLAG_NONBLOCK),
          fmt::format("connect to {}", address));
}

void Socket::publish(const std::string& text) {
    // A publisher never waits: nng drops what a subscriber's buffer cannot take.
    (void)send(text, std::chrono::milliseconds{0});
}

bool Socket::send(const std::string& text, std::chrono::milliseconds limit) {
    if (limit.count() > 0) {
        (void)nng_socket_set_ms(handle(*this), NNG_OPT_SENDTIMEO, milliseconds(limit));
    }
    nng_msg* message = nullptr;
    if (nng_msg_alloc(&message, 0) != 0) return false;
    int error = nng_msg_append(message, text.data(), text.size());
    if (error == 0) {
        error = nng_sendmsg(handle(*this), message, limit.count() > 0 ? 0 : NNG_FLAG_NONBLOCK);
    }
    if (error != 0) nng_msg_free(message);
    return error == 0;
}

std::optional<std::string> Socket::receive(std::chrono::milliseconds limit) {
    (void)nng_socket_set_ms(handle(*this), NNG_OPT_RECVTIMEO, milliseconds(limit));
    nng_msg* message = nullptr;
    if (nng_recvmsg(handle(*this), &message, 0) != 0) return std::nullopt;
    std::string text{static_cast<const char*>(nng_msg_body(message)), nng_msg_len(message)};
    nng_msg_free(message);
    return text;
}

Replier::Replier(const std::string& address, std::size_t threads,
                 std::function<std::string(const std::string&)> handle)
    : handle_(std::move(handle)), socket_(Socket::Kind::kReply) {
    socket_.listen(address);
    const platform::SignalsBlocked blocked;
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

/// The socket is closed after the last use of its contexts: nng 1.5.2 panics when a context is used
/// while its socket closes.
Replier::~Replier() {
    is_stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
}

void Replier::serve() {
    Context context{socket_};
    while (!is_stopping_) {
        if (const auto request = context.receive()) context.send(handle_(*request));
    }
}

}  // namespace dedloc::control
