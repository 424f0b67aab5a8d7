// nng's sockets of the control plane, on paths of this machine (ipc). They carry one message at a
// time and no bulk. nng's own threads move bytes only; they call nothing of ours.
//
// The sockets lie in a folder, and are opened through its descriptor: the path of a Unix socket has
// at most 107 bytes, and folders of projects may have longer ones. Only the owner can connect. A
// socket's file stays when its process ends, and the next process replaces it: to delete it could
// delete that of a process which has just started.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "peer/platform/descriptor.hpp"

namespace dedloc::control {

inline constexpr const char* kEventsSocket = "events.socket";      ///< pub/sub, in a run's folder
inline constexpr const char* kCommandsSocket = "commands.socket";  ///< req/rep, in a run's folder

/// A folder that sockets lie in.
class SocketFolder {
  public:
    /// Errors: InputError (no such folder).
    explicit SocketFolder(const std::filesystem::path& folder);

    /// The path of a socket in it, short enough to connect to; valid while this object lives.
    std::string path(const std::string& name) const;

  private:
    const platform::Descriptor descriptor_;
};

class SocketHandle;

/// An open socket. Thread: one at a time.
class Socket {
  public:
    /// What the socket is for.
    enum class Kind : std::uint8_t { kPublish, kSubscribe, kRequest };
    /// What has become of dial().
    enum class Dialled : std::uint8_t {
        kConnected,  ///< the connection is there
        kAbsent,     ///< nothing listens at the path
        kLost,       ///< the connection was lost at once, or the listener's backlog is full
        kSilent      ///< what listens there has not said within the limit what it is
    };
    /// Opens it. Errors: IoError.
    explicit Socket(Kind kind);
    ~Socket();
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    /// Accepts connections of the owner's processes at the path. A socket that an ended process
    /// has left there is replaced. Errors: IoError (in use by a living process).
    void listen(const std::string& path);
    /// Connects within this time. Errors: IoError.
    Dialled dial(const std::string& path, std::chrono::milliseconds limit);
    /// Connects as soon as something listens there, and again whenever the connection is lost: at
    /// first every 50 ms, at last every `last_backoff`. Errors: IoError.
    void keep_dialling(const std::string& path, std::chrono::milliseconds last_backoff);

    /// Sends to every subscriber. Never waits: each has a buffer of its own, and loses the oldest
    /// messages in it when it is full. Only kPublish.
    void publish(const std::string& text);
    /// Sends within this time. False if that is not possible.
    bool send(const std::string& text, std::chrono::milliseconds limit);
    /// Receives within this time. Nothing if no message came.
    std::optional<std::string> receive(std::chrono::milliseconds limit);

  private:
    std::unique_ptr<SocketHandle> handle_;
};

/// Answers requests on threads of its own.
class Replier {
  public:
    /// Answers each request with handle(request), on one of `threads` threads. `handle` must not
    /// throw, and must outlive this object. While all threads are busy each connection has one
    /// request that waits, and no more of it is read. Errors: IoError (in use by a living process).
    Replier(const std::string& path, std::size_t threads,
            std::function<std::string(const std::string&)> handle);
    /// Waits for requests that are being answered.
    ~Replier();
    Replier(const Replier&) = delete;
    Replier& operator=(const Replier&) = delete;

  private:
    class Threads;
    std::unique_ptr<Threads> threads_;
};

}  // namespace dedloc::control
