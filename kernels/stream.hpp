// Writing large results past the caches. An ordinary store first fetches the line that it is going
// to overwrite; where a result is far longer than a cache and is only written, that fetch is a
// third of all traffic or more.
#pragma once

#include <cstddef>
#include <span>

namespace dedloc::kernels {

/// A result this long leaves the caches before anybody reads it, so it may as well bypass them.
/// Shorter ones, such as the chunks of a round, are wanted at once and stay.
inline constexpr std::size_t kStreamedBytes = std::size_t{16} << 20;

/// Copies a block that was just computed, in a cache, to its place in a large result. Visible to
/// other threads after stream_fence(). On the way it fetches `ahead`, of which the next block will
/// be computed, so that memory is read while it is written.
void stream_floats(float* to, const float* from, std::size_t count,
                   std::span<const std::byte> ahead = {});

/// After the last stream_floats of a task.
void stream_fence();

}  // namespace dedloc::kernels
