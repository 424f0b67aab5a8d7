#include "project_server/control/zmq_sockets.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include "peer/base/error.hpp"
#include "project_server/control/messages.hpp"

namespace dedloc::control {
namespace {

constexpr int kFirstRedial = 50;   ///< ms
constexpr int kLastRedial = 500;   ///< ms
constexpr int kHandshake = 5'000;  ///< ms that a client has to show who it is

/// The process's only context. It is never destroyed: to destroy it waits for all of its sockets.
void* context() {
    static void* const only = zmq_ctx_new();
    return only;
}

}  // namespace

void fail(const std::string& what, const char* why) {
    throw IoError(fmt::format("cannot {}: {}", what, why));
}

void check(bool is_done, const std::string& what) {
    if (!is_done) fail(what, zmq_strerror(zmq_errno()));
}

void set(void* socket, int option, int value) {
    check(zmq_setsockopt(socket, option, &value, sizeof value) == 0, "prepare a socket");
}

void set(void* socket, int option, std::string_view bytes) {
    check(zmq_setsockopt(socket, option, bytes.data(), bytes.size()) == 0, "prepare a socket");
}

SocketHandle open(int type, int queued) {
    check(context() != nullptr, "use ZeroMQ");
    SocketHandle socket{zmq_socket(context(), type)};
    check(socket != nullptr, "open a socket");
    set(socket.get(), ZMQ_LINGER, 0);
    set(socket.get(), ZMQ_SNDHWM, queued);
    set(socket.get(), ZMQ_RCVHWM, queued);
    set(socket.get(), ZMQ_RECONNECT_IVL, kFirstRedial);
    set(socket.get(), ZMQ_RECONNECT_IVL_MAX, kLastRedial);
    set(socket.get(), ZMQ_HANDSHAKE_IVL, kHandshake);
    const std::int64_t bytes = kMaxMessageBytes;
    check(zmq_setsockopt(socket.get(), ZMQ_MAXMSGSIZE, &bytes, sizeof bytes) == 0,
          "bound messages");
    return socket;
}

bool can_receive(void* socket, std::chrono::milliseconds limit) {
    zmq_pollitem_t item{.socket = socket, .fd = 0, .events = ZMQ_POLLIN, .revents = 0};
    return zmq_poll(&item, 1, static_cast<long>(limit.count())) > 0;
}

std::optional<Frames> receive_frames(void* socket) {
    Frames frames;
    for (int more = 1; more != 0;) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&message);
            return std::nullopt;
        }
        if (frames.size() <= kMaxFrames) {
            frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)),
                                zmq_msg_size(&message));
        }
        more = zmq_msg_more(&message);
        zmq_msg_close(&message);
    }
    return frames;
}

void send_frames(void* socket, std::initializer_list<std::string_view> frames, int flags) {
    std::size_t left = frames.size();
    for (const std::string_view frame : frames) {
        const int more = --left > 0 ? ZMQ_SNDMORE : 0;
        if (zmq_send(socket, frame.data(), frame.size(), flags | more) < 0) return;
    }
}

}  // namespace dedloc::control
