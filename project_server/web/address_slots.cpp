#include "project_server/web/address_slots.hpp"

#include <utility>

#include "peer/platform/networks.hpp"

namespace dedloc::server {

AddressSlots::Slot::Slot(AddressSlots& slots, std::string client)
    : slots_(&slots), client_(std::move(client)) {}

void AddressSlots::Slot::leave() {
    AddressSlots* const slots = std::exchange(slots_, nullptr);
    if (slots == nullptr) return;
    const std::lock_guard lock{slots->mutex_};
    --slots->taken_;
    const auto own = slots->counts_.find(client_);
    if (--own->second == 0) slots->counts_.erase(own);
}

std::shared_ptr<AddressSlots::Slot> AddressSlots::take(const std::string& address) {
    const std::string client = platform::client_network(address);
    const std::lock_guard lock{mutex_};
    if (taken_ >= max_) return nullptr;
    const auto own = counts_.find(client);
    if (own != counts_.end() && own->second >= max_of_client_) return nullptr;
    auto slot = std::make_shared<Slot>(*this, client);
    ++taken_;
    ++counts_[client];
    return slot;
}

}  // namespace dedloc::server
