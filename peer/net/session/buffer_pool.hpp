// Room for large frames that arrive, used again and again: fresh memory is zeroed before anything
// is read into it, and that costs as much as reading.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "peer/base/bytes.hpp"

namespace dedloc::net {

/// A handle: copies share what is kept. Thread: any. Buffers may outlive it.
class BufferPool final {
  public:
    /// Keeps no more than so many bytes that nobody uses.
    explicit BufferPool(std::size_t kept_bytes) : state_(std::make_shared<State>(kept_bytes)) {}

    /// With room for `length` bytes; it has some size up to that, and whatever bytes its last user
    /// has left. It comes back when its last owner lets go of it. Errors: std::bad_alloc.
    std::shared_ptr<Buffer> take(std::size_t length);

  private:
    struct State {
        explicit State(std::size_t bytes) : kept_bytes(bytes) {}
        void give_back(std::unique_ptr<Buffer> buffer);

        const std::size_t kept_bytes;
        std::mutex mutex;                            ///< guards what follows
        std::vector<std::unique_ptr<Buffer>> spare;  ///< the last is the one used last
        std::size_t spare_bytes = 0;
    };
    std::shared_ptr<State> state_;
};

}  // namespace dedloc::net
