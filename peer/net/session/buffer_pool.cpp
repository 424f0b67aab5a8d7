// The most recently used buffer is handed out first, since it is most likely in cache. A buffer
// keeps its size when it returns, and take() only shrinks it: bytes that were zeroed once are not
// zeroed again. The deleter of the shared pointer returns the buffer and keeps the pool alive.
#include "peer/net/session/buffer_pool.hpp"

#include <algorithm>
#include <utility>

namespace dedloc::net {
namespace {

/// Smaller buffers are allocated: they do not justify the lock.
constexpr std::size_t kMinBytes = std::size_t{16} << 10;

}  // namespace

std::shared_ptr<Buffer> BufferPool::take(std::size_t length) {
    if (length < kMinBytes) {
        auto small = std::make_shared<Buffer>();
        small->reserve(length);
        return small;
    }
    std::unique_ptr<Buffer> buffer;
    {
        const std::lock_guard lock(state_->mutex);
        if (!state_->spare.empty()) {
            buffer = std::move(state_->spare.back());
            state_->spare.pop_back();
            state_->spare_bytes -= buffer->capacity();
        }
    }
    if (!buffer) buffer = std::make_unique<Buffer>();
    if (buffer->capacity() < length) {
        buffer->clear();  // else reserve() would copy its bytes
        buffer->reserve(length);
    }
    buffer->resize(std::min(buffer->size(), length));
    return {buffer.release(),
            [state = state_](Buffer* over) { state->give_back(std::unique_ptr<Buffer>{over}); }};
}

void BufferPool::State::give_back(std::unique_ptr<Buffer> buffer) {
    const std::lock_guard lock(mutex);
    if (spare_bytes + buffer->capacity() > kept_bytes) return;
    spare_bytes += buffer->capacity();
    spare.push_back(std::move(buffer));
}

}  // namespace dedloc::net
