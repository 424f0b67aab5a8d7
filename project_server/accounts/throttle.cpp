#include "project_server/accounts/throttle.hpp"

#include <algorithm>

#include "peer/platform/networks.hpp"
#include "project_server/accounts/account_request.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxCounts = 100'000;

std::string account_key(const std::string& email) {
    return "account " + clean_email(email);
}

std::string address_key(const std::string& address) {
    return "address " + platform::client_network(address);
}

}  // namespace

bool Throttle::allows(const std::string& email, const std::string& address, Clock::time_point now) {
    const std::lock_guard lock{mutex_};
    return is_below(account_key(email), kPerAccount, now) &&
           is_below(address_key(address), kPerAddress, now);
}

void Throttle::count_failure(const std::string& email, const std::string& address,
                             Clock::time_point now) {
    const std::lock_guard lock{mutex_};
    add(account_key(email), now);
    add(address_key(address), now);
}

void Throttle::forgive(const std::string& email) {
    const std::lock_guard lock{mutex_};
    counts_.erase(account_key(email));
}

bool Throttle::is_below(const std::string& key, int limit, Clock::time_point now) {
    const auto found = counts_.find(key);
    return found == counts_.end() || now - found->second.began >= kWindow ||
           found->second.failures < limit;
}

void Throttle::add(const std::string& key, Clock::time_point now) {
    if (counts_.size() >= kMaxCounts) {
        std::erase_if(counts_,
                      [&](const auto& item) { return now - item.second.began >= kWindow; });
    }
    if (counts_.size() >= kMaxCounts) {
        counts_.erase(std::ranges::min_element(counts_, {},
                                               [](const auto& item) { return item.second.began; }));
    }
    Count& count = counts_[key];
    if (count.failures == 0 || now - count.began >= kWindow) count = {.failures = 0, .began = now};
    ++count.failures;
}

}  // namespace dedloc::server
