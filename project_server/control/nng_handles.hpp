// nng's objects as the sources of this folder use them.
#pragma once

#include <nng/nng.h>

#include <cstddef>
#include <string>

namespace dedloc::control {

/// Throws IoError "cannot WHAT: WHY" if `code` is one of nng's errors.
void check(int code, const std::string& what);

/// A kind of nng's sockets.
struct SocketKind {
    int (*open)(nng_socket*);      ///< nng's function
    int queued = 0;                ///< messages in the buffer of each connection, if it has one
    std::size_t header_bytes = 0;  ///< a message begins with so many
};

/// A socket of nng, closed at the end. Messages that are on their way may be lost.
class SocketHandle {
  public:
    /// Opens it. Errors: IoError.
    explicit SocketHandle(const SocketKind& kind);
    ~SocketHandle() { (void)nng_close(socket_); }
    SocketHandle(const SocketHandle&) = delete;
    SocketHandle& operator=(const SocketHandle&) = delete;

    /// nng's number of it.
    nng_socket get() const { return socket_; }
    /// Sets a time. Errors: IoError.
    void set_milliseconds(const char* option, nng_duration value);
    /// As Socket::listen().
    void listen(const std::string& path);

  private:
    nng_socket socket_{};
};

/// A message of nng.
class Message {
  public:
    /// Takes over what nng has received.
    explicit Message(nng_msg* message) : message_(message) {}
    /// Errors: IoError (memory).
    explicit Message(const std::string& text);
    ~Message() { nng_msg_free(message_); }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    /// Its bytes.
    std::string text() const;
    /// The message, which is nng's once it is sent: call sent() then.
    nng_msg* get() const { return message_; }
    /// Gives it up.
    void sent() { message_ = nullptr; }

  private:
    nng_msg* message_ = nullptr;
};

}  // namespace dedloc::control
