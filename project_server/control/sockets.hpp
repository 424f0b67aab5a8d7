// ZeroMQ sockets of the control plane: on paths of this machine (ipc) and, at voters that the
// project reaches on other machines, on TCP ports as well (curve.hpp). They carry one message at a
// time and no bulk. ZeroMQ's own threads move bytes only; they call nothing of ours.
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

#include "project_server/control/place.hpp"

namespace dedloc::control {

inline constexpr const char* kEventsSocket = "events.socket";      ///< pub/sub, in a run's folder
inline constexpr const char* kCommandsSocket = "commands.socket";  ///< req/rep, in a run's folder

/// The two sockets of a backbone.
enum class Channel : std::uint8_t {
    kCommands,  ///< req/rep
    kEvents     ///< pub/sub
};

/// A folder that sockets lie in.
class SocketFolder {
  public:
    /// Errors: InputError (no such folder).
    explicit SocketFolder(const std::filesystem::path& folder);
    ~SocketFolder();
    SocketFolder(const SocketFolder&) = delete;
    SocketFolder& operator=(const SocketFolder&) = delete;

    /// The path of a socket in it, short enough to connect to; valid while this object lives.
    std::string path(const std::string& name) const;

  private:
    int descriptor_ = -1;
};

/// Closes a ZeroMQ socket. Messages that are on their way may be lost.
struct CloseSocket {
    void operator()(void* socket) const;
    bool is_listening = false;  ///< then the path is free at once
};
/// A ZeroMQ socket.
using SocketHandle = std::unique_ptr<void, CloseSocket>;

/// An open socket. Thread: one at a time.
class Socket {
  public:
    /// What the socket is for.
    enum class Kind : std::uint8_t { kPublish, kSubscribe, kRequest };
    /// Opens it. Errors: IoError.
    explicit Socket(Kind kind);

    /// Accepts connections of the owner's processes at the path. A socket that an ended process
    /// has left there is replaced. Errors: IoError (in use by a living process).
    void listen(const std::string& path);
    /// Accepts the client of another machine, too. After listen(path), whose clients show no key.
    /// Errors: IoError (port in use), InputError (a key that is none).
    void listen(const RemoteAccess& access, Channel channel);
    /// Connects; waits for it within this time. False if nothing listens there.
    bool dial(const std::string& path, std::chrono::milliseconds limit);
    /// The same for another machine, whose voter must show its key.
    bool dial(const RemoteEnd& end, Channel channel, std::chrono::milliseconds limit);
    /// Connects as soon as something listens there, and again whenever the connection is lost.
    void keep_dialling(const std::string& path);
    void keep_dialling(const RemoteEnd& end, Channel channel);

    /// Sends to every subscriber. Never waits: each has a buffer of its own, and loses what does
    /// not fit. Only kPublish.
    void publish(const std::string& text);
    /// Sends within this time. False if that is not possible.
    bool send(const std::string& text, std::chrono::milliseconds limit);
    /// Receives within this time. Nothing if no message came, or a signal did.
    std::optional<std::string> receive(std::chrono::milliseconds limit);

  private:
    SocketHandle handle_;
};

/// Answers requests on threads of its own.
class Replier {
  public:
    /// Answers each request with handle(request), on one of `threads` threads. `handle` must not
    /// throw, and must outlive this object. Requests wait while all threads are busy; beyond 64
    /// that wait, the newest are dropped. With `access` also those of another machine.
    /// Errors: IoError (in use by a living process).
    Replier(const std::string& path, std::size_t threads,
            std::function<std::string(const std::string&)> handle,
            const std::optional<RemoteAccess>& access = {});
    /// Waits for requests that are being answered.
    ~Replier();
    Replier(const Replier&) = delete;
    Replier& operator=(const Replier&) = delete;

  private:
    class Threads;
    std::unique_ptr<Threads> threads_;
};

}  // namespace dedloc::control
