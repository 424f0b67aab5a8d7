#include "project_server/transfer/upload_space.hpp"

#include <algorithm>
#include <utility>

#include "peer/platform/networks.hpp"

namespace dedloc::server {

UploadSpace::Promise::Promise(UploadSpace& space, std::string network, std::uint64_t bytes)
    : space_(space), network_(std::move(network)), bytes_(bytes) {}

void UploadSpace::Promise::fill(std::uint64_t bytes) {
    const std::uint64_t filled = std::min(bytes, bytes_);
    if (filled == 0) return;
    bytes_ -= filled;
    const std::lock_guard lock{space_.mutex_};
    space_.promised_ -= filled;
    const auto own = space_.of_network_.find(network_);
    own->second -= filled;
    if (own->second == 0) space_.of_network_.erase(own);
}

std::unique_ptr<UploadSpace::Promise> UploadSpace::promise(const std::string& address,
                                                           std::uint64_t bytes) {
    std::string network = platform::networks_of(address).front();
    const std::uint64_t free = free_();
    const std::lock_guard lock{mutex_};
    const std::uint64_t taken = kReservedBytes + promised_;
    if (free < taken || free - taken < bytes) return nullptr;
    const auto own = of_network_.find(network);
    const std::uint64_t earlier = own == of_network_.end() ? 0 : own->second;
    // The first upload of a network may take all, since an honest one may need that much.
    if (earlier > 0 && earlier + bytes > free - taken - bytes) return nullptr;
    if (bytes > 0) of_network_[network] += bytes;
    promised_ += bytes;
    return std::make_unique<Promise>(*this, std::move(network), bytes);
}

}  // namespace dedloc::server
