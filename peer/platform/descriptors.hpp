// How many descriptors (files and sockets) this process may have open, and how many of them its
// sockets may take.
#pragma once

#include <cstddef>

namespace dedloc::platform {

/// Raises the soft limit (RLIMIT_NOFILE, often 1,024) to the hard one, but to no more than 65,536,
/// and never lowers it. Returns descriptor_limit(). To be called by `main` before it opens links:
/// only a program knows that nothing in it waits with select(), which cannot handle a descriptor
/// from 1,024 on.
std::size_t raise_descriptor_limit();

/// The soft limit of this process now.
std::size_t descriptor_limit();

/// The part of `limit` that links, handshakes and dials may take together. The rest is for files,
/// logs, the DHT, the GPU's driver and the database: 256, or a quarter of a small limit.
std::size_t socket_budget(std::size_t limit);

}  // namespace dedloc::platform
