// The limit on open descriptors (files and sockets) of this process, and the part of it that
// sockets may use.
#pragma once

#include <cstddef>

namespace dedloc::platform {

/// Raises the soft limit (RLIMIT_NOFILE, often 1,024) to the hard limit, but to at most 65,536, and
/// never lowers it. Returns descriptor_limit(). Call it in `main` before links are opened, and only
/// in programs that do not use select(), which cannot handle descriptors of 1,024 or more.
std::size_t raise_descriptor_limit();

/// Most links of one peer, which have descriptors after raise_descriptor_limit().
inline constexpr std::size_t kMaxLinks = 32'000;

/// The present soft limit of this process.
std::size_t descriptor_limit();

/// The part of `limit` that links, handshakes and dials may use together. The rest is reserved for
/// files, logs, the DHT, the GPU driver and the database: 256, or a quarter of a small limit.
std::size_t socket_budget(std::size_t limit);

/// The lowest limit, from 1,024 on, with this socket_budget().
std::size_t limit_for_sockets(std::size_t sockets);

}  // namespace dedloc::platform
