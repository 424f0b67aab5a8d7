// ZeroMQ's sockets as the sources of this folder use them.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/control/sockets.hpp"

namespace dedloc::control {

/// Throws IoError: "cannot WHAT: WHY".
[[noreturn]] void fail(const std::string& what, const char* why);
/// Throws IoError with ZeroMQ's last error unless it is done.
void check(bool is_done, const std::string& what);
/// Sets an option. Errors: IoError.
void set(void* socket, int option, int value);
/// The same with an option that has bytes.
void set(void* socket, int option, std::string_view bytes);

/// Opens a socket of ZeroMQ's type in the process's only context, with buffers of `queued` messages
/// in each direction. Errors: IoError.
SocketHandle open(int type, int queued);

/// Waits for a message. False if there is none within the limit.
bool can_receive(void* socket, std::chrono::milliseconds limit);

/// The frames of a message.
using Frames = std::vector<std::string>;
/// Frames that are kept: messages of the control plane have 3 at most, ZeroMQ's own ones 7.
inline constexpr std::size_t kMaxFrames = 7;
/// The message that waits. Nothing if there is none. Frames beyond kMaxFrames + 1 are dropped.
std::optional<Frames> receive_frames(void* socket);
/// Sends a message. One that cannot be sent is lost.
void send_frames(void* socket, std::initializer_list<std::string_view> frames, int flags);

}  // namespace dedloc::control
