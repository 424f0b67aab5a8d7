// Writes large results past the caches. An ordinary store first fetches the cache line that it
// overwrites. For a result that is much longer than the caches and is only written, that fetch is a
// third of all traffic or more.
#pragma once

#include <cstddef>

namespace dedloc::kernels {

/// Results of this size or more bypass the caches: they would be evicted before they are read.
/// Shorter results, such as the chunks of a round, are read soon and go into the caches.
inline constexpr std::size_t kStreamedBytes = std::size_t{16} << 20;

/// Copies a block that was just computed, and is still in a cache, to its place in a large result.
/// Other threads see it after stream_fence().
void stream_floats(float* to, const float* from, std::size_t count);

/// Must follow the last stream_floats of a task.
void stream_fence();

}  // namespace dedloc::kernels
