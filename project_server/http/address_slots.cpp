#include "project_server/http/address_slots.hpp"

#include <utility>

namespace dedloc::server {
namespace {

std::size_t count_of(const std::map<std::string, std::size_t>& counts, const std::string& network) {
    const auto own = counts.find(network);
    return own == counts.end() ? 0 : own->second;
}

}  // namespace

AddressSlots::Slot::Slot(AddressSlots& slots, platform::NetworkKeys networks)
    : slots_(&slots), networks_(std::move(networks)) {}

void AddressSlots::Slot::leave() {
    AddressSlots* const slots = std::exchange(slots_, nullptr);
    if (slots == nullptr) return;
    const std::lock_guard lock{slots->mutex_};
    --slots->taken_;
    for (std::size_t width = 0; width < networks_.size(); ++width) {
        Counts& counts = slots->counts_[width];
        const auto own = counts.find(networks_[width]);
        if (--own->second == 0) counts.erase(own);
    }
}

/// The client itself has a fixed number; the networks around it share what is free.
bool AddressSlots::may_take(const platform::NetworkKeys& networks) const {
    if (taken_ >= max_) return false;
    if (count_of(counts_.back(), networks.back()) >= max_of_client_) return false;
    std::size_t free = max_ - taken_;
    for (std::size_t width = 0; width + 1 < networks.size(); ++width) {
        const std::size_t own = count_of(counts_[width], networks[width]);
        if (own >= free) return false;
        free -= own;
    }
    return true;
}

std::shared_ptr<AddressSlots::Slot> AddressSlots::take(const std::string& address) {
    const platform::NetworkKeys networks = platform::networks_of(address);
    const std::lock_guard lock{mutex_};
    if (!may_take(networks)) return nullptr;
    auto slot = std::make_shared<Slot>(*this, networks);
    ++taken_;
    for (std::size_t width = 0; width < networks.size(); ++width) {
        ++counts_[width][networks[width]];
    }
    return slot;
}

}  // namespace dedloc::server
