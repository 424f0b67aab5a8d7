// Reuses receive buffers of large frames: fresh memory is zeroed before it is read into, and that
// costs as much time as the reading.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "peer/base/bytes.hpp"

namespace dedloc::net {

/// A handle: copies share one pool. Buffers may outlive it. Thread: any.
class BufferPool final {
  public:
    /// Keeps at most `kept_bytes` bytes of unused buffers.
    explicit BufferPool(std::size_t kept_bytes) : state_(std::make_shared<State>(kept_bytes)) {}

    /// Returns a buffer with a capacity of at least `length` bytes. Its size is between 0 and
    /// `length`, and it may hold bytes of an earlier frame. It returns to the pool when its last
    /// owner releases it. Errors: std::bad_alloc.
    std::shared_ptr<Buffer> take(std::size_t length);

  private:
    struct State {
        explicit State(std::size_t bytes) : kept_bytes(bytes) {}
        void give_back(std::unique_ptr<Buffer> buffer);

        const std::size_t kept_bytes;
        std::mutex mutex;                            ///< guards the members below
        std::vector<std::unique_ptr<Buffer>> spare;  ///< most recently used last
        std::size_t spare_bytes = 0;
    };
    std::shared_ptr<State> state_;
};

}  // namespace dedloc::net
