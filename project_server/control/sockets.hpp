// nng sockets of the control plane, on paths of this machine (ipc). They carry one message at a
// time and no bulk. nng's own threads move bytes only; they call nothing of ours.
//
// The sockets lie in a folder, and are opened through its descriptor: the path of a Unix socket has
// at most 107 bytes, and folders of projects may have longer ones. Only the owner can connect.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace dedloc::control {

inline constexpr const char* kEventsSocket = "events.socket";      ///< pub/sub, in a run's folder
inline constexpr const char* kCommandsSocket = "commands.socket";  ///< req/rep, in a run's folder

/// A folder that sockets lie in.
class SocketFolder {
  public:
    /// Errors: InputError (no such folder).
    explicit SocketFolder(const std::filesystem::path& folder);
    ~SocketFolder();
    SocketFolder(const SocketFolder&) = delete;
    SocketFolder& operator=(const SocketFolder&) = delete;

    /// The address of a socket in it, for nng; valid while this object lives.
    std::string address(const std::string& name) const;

  private:
    int descriptor_ = -1;
};

/// An open nng socket.
class Socket {
  public:
    /// What the socket is for.
    enum class Kind : std::uint8_t { kPublish, kSubscribe, kRequest, kReply };
    /// Opens it. Errors: IoError.
    explicit Socket(Kind kind);
    ~Socket();
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    /// Accepts connections of the owner's processes at the address. A socket that a killed process
    /// has left there is replaced. Errors: IoError (in use by a living process).
    void listen(const std::string& address);
    /// Connects now. False if nothing listens there. Errors: IoError.
    bool dial(const std::string& address);
    /// Connects as soon as something listens there, and again whenever the connection is lost.
    void keep_dialling(const std::string& address);

    /// Sends, or throws away if the socket's buffer is full. Only kPublish: each subscriber has a
    /// buffer of its own, and loses what does not fit.
    void publish(const std::string& text);
    /// Sends within this time. False if that is not possible.
    bool send(const std::string& text, std::chrono::milliseconds limit);
    /// Receives within this time. Nothing if no message came.
    std::optional<std::string> receive(std::chrono::milliseconds limit);
    /// Ends every call that waits, and all later ones, with failure. Thread: any.
    void close();

    /// nng's number of the socket.
    std::uint32_t id() const { return id_; }

  private:
    std::uint32_t id_ = 0;
};

/// Answers requests on threads of its own.
class Replier {
  public:
    /// Answers each request with handle(request), on one of `threads` threads. `handle` must not
    /// throw, and must outlive this object. Errors: IoError.
    Replier(const std::string& address, std::size_t threads,
            std::function<std::string(const std::string&)> handle);
    /// Waits for requests that are being answered; takes up to 0.2 s.
    ~Replier();
    Replier(const Replier&) = delete;
    Replier& operator=(const Replier&) = delete;

  private:
    void serve();

    const std::function<std::string(const std::string&)> handle_;
    Socket socket_;
    std::atomic<bool> is_stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace dedloc::control
