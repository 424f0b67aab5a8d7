// The first socket starts nng's threads: their numbers are set before it, once, and signals are
// blocked meanwhile, so that these threads inherit the mask and signals reach the program's own.
// listen() first tries to connect, so a path at which a living process listens is refused, while a
// file that a dead one has left is replaced. It then listens under a name of its own with the mode
// set in advance, and renames the file to the path.
#include "project_server/control/nng_handles.hpp"

#include <fmt/format.h>
#include <nng/transport/ipc/ipc.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "peer/base/error.hpp"
#include "peer/platform/descriptor.hpp"
#include "peer/platform/signals_blocked.hpp"
#include "project_server/control/messages.hpp"

namespace dedloc::control {
namespace {

constexpr std::uint64_t kTaskThreads = 2;   ///< the fewest that nng has
constexpr std::uint64_t kOtherThreads = 1;  ///< each other kind has so many

/// nng would start several threads for each processor.
void choose_threads() {
    static const bool is_done = [] {
        nng_init_set_parameter(NNG_INIT_NUM_TASK_THREADS, kTaskThreads);
        for (const auto kind : {NNG_INIT_NUM_EXPIRE_THREADS, NNG_INIT_NUM_POLLER_THREADS,
                                NNG_INIT_NUM_RESOLVER_THREADS}) {
            nng_init_set_parameter(kind, kOtherThreads);
        }
        return true;
    }();
    (void)is_done;
}

[[noreturn]] void fail(const std::string& what, const char* why) {
    throw IoError(fmt::format("cannot {}: {}", what, why));
}

/// Throws IoError if a living process listens at the path. It takes the connection for a client's
/// that leaves at once.
void refuse_living(const std::string& path, const std::string& what) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) fail(what, "the path is too long");
    std::memcpy(address.sun_path, path.data(), path.size());
    const platform::Descriptor probe{
        ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!probe) fail(what, std::strerror(errno));
    // EAGAIN: another process listens, and its backlog is full.
    const bool is_living =
        ::connect(probe.id(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
        errno == EAGAIN;
    if (is_living) fail(what, std::strerror(EADDRINUSE));
}

}  // namespace

void check(int code, const std::string& what) {
    if (code != 0) fail(what, nng_strerror(code));
}

SocketHandle::SocketHandle(const SocketKind& kind) {
    choose_threads();
    {
        const platform::SignalsBlocked blocked;  // the first socket starts nng's threads
        check(kind.open(&socket_), "open a socket");
    }
    // Not every kind of socket has both buffers.
    for (const char* const option : {NNG_OPT_SENDBUF, NNG_OPT_RECVBUF}) {
        const int code = nng_socket_set_int(socket_, option, kind.queued);
        if (code != NNG_ENOTSUP) check(code, "prepare a socket");
    }
    check(nng_socket_set_size(socket_, NNG_OPT_RECVMAXSZ, kMaxMessageBytes + kind.header_bytes),
          "bound messages");
}

void SocketHandle::set_milliseconds(const char* option, nng_duration value) {
    check(nng_socket_set_ms(socket_, option, value), "prepare a socket");
}

// nng deletes the file that it listens at when it closes the socket, though it may be that of a
// process which has just started. So it listens at another name, and the file is renamed.
void SocketHandle::listen(const std::string& path) {
    const std::string what = fmt::format("listen at {}", path);
    refuse_living(path, what);
    static std::atomic<std::uint64_t> count = 0;
    const std::string first = fmt::format("{}.{}-{}", path, ::getpid(), ++count);
    nng_listener listener{};
    check(nng_listener_create(&listener, socket_, ("ipc://" + first).c_str()), what);
    // The mode is set before the socket listens.
    check(nng_listener_set_int(listener, NNG_OPT_IPC_PERMISSIONS, S_IRUSR | S_IWUSR), what);
    check(nng_listener_start(listener, 0), what);
    if (std::rename(first.c_str(), path.c_str()) != 0) fail(what, std::strerror(errno));
}

Message::Message(const std::string& text) {
    check(nng_msg_alloc(&message_, text.size()), "allocate a message");
    if (!text.empty()) std::memcpy(nng_msg_body(message_), text.data(), text.size());
}

std::string Message::text() const {
    return {static_cast<const char*>(nng_msg_body(message_)), nng_msg_len(message_)};
}

}  // namespace dedloc::control
