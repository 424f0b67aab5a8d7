#include "peer/net/session/buffer_pool.hpp"

#include <algorithm>
#include <utility>

namespace dedloc::net {
namespace {

/// Smaller buffers are not worth a lock.
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
        buffer->clear();  // or its bytes would be copied
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
