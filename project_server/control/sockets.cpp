// A reply is written to its connection by the thread that sends it, unless the connection's buffer
// (some 200 KB) is full. So a Replier that ends has sent its replies, except for the end of a long
// one: its client then knows as little as if the process had been killed, and asks again.
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
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/platform/posix_calls.hpp"
#include "peer/platform/signals_blocked.hpp"
#include "project_server/control/nng_handles.hpp"

namespace dedloc::control {
namespace {

using std::chrono::milliseconds;

/// Events that wait at each end of a subscription; a subscriber that is further behind loses some.
constexpr int kQueuedEvents = 128;
constexpr std::size_t kRequestHeader = 4;  ///< nng's number of a request
constexpr milliseconds kFirstRedial{50};   ///< between two attempts to connect
/// How long a reply waits for a client that has not read the one before.
constexpr milliseconds kReplyLimit{1'000};

nng_duration duration(milliseconds time) {
    return static_cast<nng_duration>(time.count());
}

SocketKind kind_of(Socket::Kind kind) {
    switch (kind) {
        case Socket::Kind::kPublish:
            return {.open = nng_pub0_open, .queued = kQueuedEvents};
        case Socket::Kind::kSubscribe:
            return {.open = nng_sub0_open, .queued = kQueuedEvents};
        case Socket::Kind::kRequest:
            return {.open = nng_req0_open, .queued = 1, .header_bytes = kRequestHeader};
    }
    throw IoError("cannot open a socket: there is no such kind");
}

nng_dialer dialer_to(const SocketHandle& socket, const std::string& path) {
    nng_dialer dialer{};
    check(nng_dialer_create(&dialer, socket.get(), ("ipc://" + path).c_str()),
          fmt::format("connect to {}", path));
    return dialer;
}

}  // namespace

SocketFolder::SocketFolder(const std::filesystem::path& folder)
    : descriptor_(platform::try_open(folder, O_PATH | O_DIRECTORY)) {
    if (descriptor_) return;
    throw InputError(
        fmt::format("cannot open the folder {}: {}", folder.string(), std::strerror(errno)));
}

std::string SocketFolder::path(const std::string& name) const {
    return fmt::format("/proc/self/fd/{}/{}", descriptor_.id(), name);
}

Socket::Socket(Kind kind) : handle_(std::make_unique<SocketHandle>(kind_of(kind))) {
    if (kind == Kind::kSubscribe) {
        check(nng_sub0_socket_subscribe(handle_->get(), "", 0), "subscribe");
    }
    // A request is sent once: who asks repeats it.
    if (kind == Kind::kRequest) {
        handle_->set_milliseconds(NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
    }
}

Socket::~Socket() = default;

void Socket::listen(const std::string& path) {
    handle_->listen(path);
}

// nng_dialer_start() may take 10 s, and has no limit of its own: to close the dialer ends it.
Socket::Dialled Socket::dial(const std::string& path, milliseconds limit) {
    const nng_dialer dialer = dialer_to(*handle_, path);
    const platform::SignalsBlocked blocked;
    auto started = std::async(std::launch::async, [dialer] { return nng_dialer_start(dialer, 0); });
    if (started.wait_for(limit) != std::future_status::ready) {
        (void)nng_dialer_close(dialer);
        started.wait();
        return Dialled::kSilent;
    }
    const int error = started.get();
    if (error == 0) return Dialled::kConnected;
    (void)nng_dialer_close(dialer);
    return error == NNG_ECONNREFUSED ? Dialled::kAbsent : Dialled::kLost;
}

void Socket::keep_dialling(const std::string& path, milliseconds last_backoff) {
    handle_->set_milliseconds(NNG_OPT_RECONNMINT, duration(kFirstRedial));
    handle_->set_milliseconds(NNG_OPT_RECONNMAXT, duration(last_backoff));
    check(nng_dialer_start(dialer_to(*handle_, path), NNG_FLAG_NONBLOCK),
          fmt::format("connect to {}", path));
}

void Socket::publish(const std::string& text) {
    Message message{text};
    if (nng_sendmsg(handle_->get(), message.get(), NNG_FLAG_NONBLOCK) == 0) message.sent();
}

bool Socket::send(const std::string& text, milliseconds limit) {
    handle_->set_milliseconds(NNG_OPT_SENDTIMEO, duration(limit));
    Message message{text};
    if (nng_sendmsg(handle_->get(), message.get(), 0) != 0) return false;
    message.sent();
    return true;
}

std::optional<std::string> Socket::receive(milliseconds limit) {
    handle_->set_milliseconds(NNG_OPT_RECVTIMEO, duration(limit));
    nng_msg* received = nullptr;
    if (nng_recvmsg(handle_->get(), &received, 0) != 0) return std::nullopt;
    return Message{received}.text();
}

/// Each thread has a context of the socket, which receives a request and sends its reply.
class Replier::Threads {
  public:
    Threads(const std::string& path, std::size_t threads,
            std::function<std::string(const std::string&)> handle)
        : handle_(std::move(handle)) {
        socket_.set_milliseconds(NNG_OPT_SENDTIMEO, duration(kReplyLimit));
        for (std::size_t i = 0; i < threads; ++i) {
            workers_.push_back(std::make_unique<Worker>(socket_.get()));
        }
        socket_.listen(path);
        const platform::SignalsBlocked blocked;
        for (const auto& worker : workers_) {
            worker->thread = std::thread{[this, &worker = *worker] { answer(worker); }};
        }
    }
    ~Threads() {
        for (const auto& worker : workers_) nng_aio_stop(worker->receiving);
        for (const auto& worker : workers_) worker->thread.join();
    }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

  private:
    struct Worker {
        explicit Worker(nng_socket socket) {
            check(nng_aio_alloc(&receiving, nullptr, nullptr), "open a socket");
            const int code = nng_ctx_open(&context, socket);
            if (code != 0) nng_aio_free(receiving);
            check(code, "open a socket");
        }
        ~Worker() {
            (void)nng_ctx_close(context);
            nng_aio_free(receiving);
        }
        Worker(const Worker&) = delete;
        Worker& operator=(const Worker&) = delete;

        nng_ctx context{};
        nng_aio* receiving = nullptr;  ///< once stopped it receives nothing any more
        std::thread thread{};
    };

    void answer(Worker& worker) {
        for (;;) {
            nng_ctx_recv(worker.context, worker.receiving);
            nng_aio_wait(worker.receiving);
            if (nng_aio_result(worker.receiving) != 0) return;
            Message request{nng_aio_get_msg(worker.receiving)};
            nng_aio_set_msg(worker.receiving, nullptr);
            Message reply{handle_(request.text())};
            // A client that has gone is no failure.
            if (nng_ctx_sendmsg(worker.context, reply.get(), 0) == 0) reply.sent();
        }
    }

    const std::function<std::string(const std::string&)> handle_;
    SocketHandle socket_{{.open = nng_rep0_open, .queued = 1, .header_bytes = kRequestHeader}};
    std::vector<std::unique_ptr<Worker>> workers_;
};

Replier::Replier(const std::string& path, std::size_t threads,
                 std::function<std::string(const std::string&)> handle)
    : threads_(std::make_unique<Threads>(path, threads, std::move(handle))) {}

Replier::~Replier() = default;

}  // namespace dedloc::control
