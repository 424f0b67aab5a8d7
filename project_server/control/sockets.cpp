#include "project_server/control/sockets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/platform/signals_blocked.hpp"
#include "project_server/control/curve.hpp"
#include "project_server/control/zmq_sockets.hpp"

namespace dedloc::control {
namespace {

using std::chrono::milliseconds;

/// Events that wait at each end of a subscription; a subscriber that is further behind loses some.
constexpr int kQueuedEvents = 128;
/// Messages that wait at each end of another connection.
constexpr int kQueuedMessages = 16;
constexpr std::size_t kQueuedRequests = 64;
constexpr int kLastReplies =
    1'000;  ///< ms that replies may be on their way after the end of a Replier
constexpr int kBacklog = 64;
/// How long the end of a socket waits for ZeroMQ's thread at most.
constexpr milliseconds kLongestClose{2'000};
/// The events after which there is no connection.
constexpr int kFailed = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_CONNECT_RETRIED |
                        ZMQ_EVENT_DISCONNECTED;
std::string address_of(const std::string& path) {
    return "ipc://" + path;
}

/// A Unix socket that is closed unless it is given away.
class LocalSocket {
  public:
    explicit LocalSocket(const std::string& what)
        : number_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        if (number_ < 0) fail(what, std::strerror(errno));
    }
    ~LocalSocket() {
        if (number_ >= 0) ::close(number_);
    }
    LocalSocket(const LocalSocket&) = delete;
    LocalSocket& operator=(const LocalSocket&) = delete;
    int number() const { return number_; }
    void give_away() { number_ = -1; }

  private:
    int number_;
};

/// ZeroMQ would take the path from a living process, and accept every user's processes.
void listen_at(SocketHandle& socket, const std::string& path) {
    const std::string what = fmt::format("listen at {}", path);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) fail(what, "the path is too long");
    std::memcpy(address.sun_path, path.data(), path.size());
    const auto* const place = reinterpret_cast<const sockaddr*>(&address);
    {
        const LocalSocket probe{what};
        // EAGAIN: another process listens, and its backlog is full.
        if (::connect(probe.number(), place, sizeof address) == 0 || errno == EAGAIN) {
            fail(what, std::strerror(EADDRINUSE));
        }
    }
    LocalSocket listener{what};
    (void)::unlink(path.c_str());
    if (::fchmod(listener.number(), S_IRUSR | S_IWUSR) != 0 ||  // the mode of the file to come
        ::bind(listener.number(), place, sizeof address) != 0 ||
        ::listen(listener.number(), kBacklog) != 0) {
        fail(what, std::strerror(errno));
    }
    set(socket.get(), ZMQ_USE_FD, listener.number());
    check(zmq_bind(socket.get(), address_of(path).c_str()) == 0, what);
    listener.give_away();
    set(socket.get(), ZMQ_USE_FD, -1);  // the next zmq_bind() makes its own
    socket.get_deleter().is_listening = true;
}

/// The TCP address of one of the two channels, which have consecutive ports.
std::string address_of(const platform::ListenAddress& commands, Channel channel) {
    platform::ListenAddress address = commands;
    if (channel == Channel::kEvents) ++address.port;
    return "tcp://" + address.text();
}

void listen_at(SocketHandle& socket, const RemoteAccess& access, Channel channel) {
    const std::string address = address_of(access.listen, channel);
    serve_curve(socket.get(), access);
    check(zmq_bind(socket.get(), address.c_str()) == 0,
          fmt::format("listen at {} for the control plane", address));
}

/// Tells what happens to the connections of a socket.
class Monitor {
  public:
    Monitor(void* socket, int events) : socket_(socket), events_(open(ZMQ_PAIR, kQueuedMessages)) {
        static std::atomic<std::uint64_t> count = 0;
        const std::string address = fmt::format("inproc://monitor-{}", ++count);
        check(zmq_socket_monitor(socket_, address.c_str(), events) == 0, "open a socket");
        check(zmq_connect(events_.get(), address.c_str()) == 0, "open a socket");
    }
    ~Monitor() { (void)zmq_socket_monitor(socket_, nullptr, 0); }
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    /// Waits for the next event; 0 if there is none within the limit.
    int next(milliseconds limit) {
        if (!can_receive(events_.get(), limit)) return 0;
        // The first frame begins with the event's number.
        const auto frames = receive_frames(events_.get());
        std::uint16_t event = 0;
        if (!frames || frames->front().size() < sizeof event) return 0;
        std::memcpy(&event, frames->front().data(), sizeof event);
        return event;
    }

  private:
    void* socket_;
    SocketHandle events_;
};

/// ZeroMQ closes sockets later, on a thread of its own.
void stop_listening(void* socket) {
    std::array<char, sizeof(sockaddr_un) + 16> address{};
    std::size_t size = address.size();
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, address.data(), &size) != 0) return;
    Monitor monitor{socket, ZMQ_EVENT_CLOSED};
    if (zmq_unbind(socket, address.data()) == 0) (void)monitor.next(kLongestClose);
}

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

std::string SocketFolder::path(const std::string& name) const {
    return fmt::format("/proc/self/fd/{}/{}", descriptor_, name);
}

void CloseSocket::operator()(void* socket) const {
    if (is_listening) stop_listening(socket);
    (void)zmq_close(socket);
}

Socket::Socket(Kind kind) {
    switch (kind) {
        case Kind::kPublish:
            handle_ = open(ZMQ_PUB, kQueuedEvents);
            break;
        case Kind::kSubscribe:
            handle_ = open(ZMQ_SUB, kQueuedEvents);
            check(zmq_setsockopt(handle_.get(), ZMQ_SUBSCRIBE, "", 0) == 0, "subscribe");
            break;
        case Kind::kRequest:
            handle_ = open(ZMQ_REQ, kQueuedMessages);
            break;
    }
}

void Socket::listen(const std::string& path) {
    listen_at(handle_, path);
}

void Socket::listen(const RemoteAccess& access, Channel channel) {
    listen_at(handle_, access, channel);
}

bool Socket::dial(const std::string& path, milliseconds limit) {
    Monitor monitor{handle_.get(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED | kFailed};
    keep_dialling(path);
    return (monitor.next(limit) & kFailed) == 0;
}

bool Socket::dial(const RemoteEnd& end, Channel channel, milliseconds limit) {
    Monitor monitor{handle_.get(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED | kFailed};
    keep_dialling(end, channel);
    return monitor.next(limit) == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
}

void Socket::keep_dialling(const std::string& path) {
    check(zmq_connect(handle_.get(), address_of(path).c_str()) == 0,
          fmt::format("connect to {}", path));
}

void Socket::keep_dialling(const RemoteEnd& end, Channel channel) {
    const std::string address = address_of(end.address, channel);
    use_curve(handle_.get(), end);
    check(zmq_connect(handle_.get(), address.c_str()) == 0, fmt::format("connect to {}", address));
}

void Socket::publish(const std::string& text) {
    send_frames(handle_.get(), {text}, ZMQ_DONTWAIT);
}

bool Socket::send(const std::string& text, milliseconds limit) {
    set(handle_.get(), ZMQ_SNDTIMEO, static_cast<int>(limit.count()));
    return zmq_send(handle_.get(), text.data(), text.size(), 0) >= 0;
}

std::optional<std::string> Socket::receive(milliseconds limit) {
    if (!can_receive(handle_.get(), limit)) return std::nullopt;
    auto frames = receive_frames(handle_.get());
    if (!frames) return std::nullopt;
    // A message of several frames is none of ours, and reads as an invalid one.
    return frames->size() == 1 ? std::move(frames->front()) : std::string{};
}

/// One thread moves messages between the clients' socket and the queue; others answer.
class Replier::Threads {
  public:
    Threads(const std::string& path, const std::optional<RemoteAccess>& access, std::size_t threads,
            std::function<std::string(const std::string&)> handle)
        : handle_(std::move(handle)), clients_(open(ZMQ_ROUTER, kQueuedMessages)) {
        static std::atomic<std::uint64_t> count = 0;
        replies_address_ = fmt::format("inproc://replies-{}", ++count);
        check(zmq_bind(replies_.get(), replies_address_.c_str()) == 0, "open a socket");
        set(clients_.get(), ZMQ_LINGER, kLastReplies);
        listen_at(clients_, path);
        if (access) listen_at(clients_, *access, Channel::kCommands);
        const platform::SignalsBlocked blocked;
        for (std::size_t i = 0; i < threads; ++i) workers_.emplace_back([this] { answer(); });
        mover_ = std::thread{[this, threads] { move_messages(threads); }};
    }
    ~Threads() {
        {
            const std::lock_guard lock{mutex_};
            is_stopping_ = true;
        }
        changed_.notify_all();
        for (std::thread& worker : workers_) worker.join();
        mover_.join();
    }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

  private:
    struct Request {
        std::string client;
        std::string text;
    };

    /// Ends once every worker has sent its last frame.
    void move_messages(std::size_t workers) {
        while (workers > 0) {
            std::array<zmq_pollitem_t, 2> items{
                {{.socket = clients_.get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0},
                 {.socket = replies_.get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0}}};
            (void)zmq_poll(items.data(), static_cast<int>(items.size()), -1);
            while (const auto reply = receive_frames(replies_.get())) {
                if (reply->size() != 2) {
                    --workers;
                } else {
                    // A client that has gone is no failure.
                    send_frames(clients_.get(), {reply->at(0), "", reply->at(1)}, ZMQ_DONTWAIT);
                }
            }
            if (const auto message = receive_frames(clients_.get())) take(*message);
        }
    }
    void take(const Frames& message) {
        if (message.size() != 3 || !message[1].empty()) return;
        const std::lock_guard lock{mutex_};
        if (queue_.size() >= kQueuedRequests) return;
        queue_.push_back({.client = message[0], .text = message[2]});
        changed_.notify_one();
    }

    std::optional<Request> next() {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
        if (is_stopping_) return std::nullopt;
        Request request = std::move(queue_.front());
        queue_.pop_front();
        return request;
    }
    void answer() {
        const SocketHandle replies = open(ZMQ_PUSH, kQueuedMessages);
        check(zmq_connect(replies.get(), replies_address_.c_str()) == 0, "open a socket");
        while (const auto request = next()) {
            const std::string text = handle_(request->text);
            send_frames(replies.get(), {request->client, text}, 0);
        }
        send_frames(replies.get(), {""}, 0);
    }

    const std::function<std::string(const std::string&)> handle_;
    SocketHandle clients_;  ///< only the mover's, once it runs
    const SocketHandle replies_ = open(ZMQ_PULL, kQueuedMessages);
    std::string replies_address_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Request> queue_;  ///< guarded by mutex_
    bool is_stopping_ = false;   ///< guarded by mutex_
    std::vector<std::thread> workers_;
    std::thread mover_;
};

Replier::Replier(const std::string& path, std::size_t threads,
                 std::function<std::string(const std::string&)> handle,
                 const std::optional<RemoteAccess>& access)
    : threads_(std::make_unique<Threads>(path, access, threads, std::move(handle))) {}

Replier::~Replier() = default;

}  // namespace dedloc::control
