#include "project_server/accounts/throttle.hpp"

#include <algorithm>

#include "peer/platform/networks.hpp"
#include "project_server/email_address.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxCounts = 100'000;

std::string account_key(const std::string& subject) {
    return "account " + subject;
}

std::string address_key(const std::string& address) {
    return "address " + platform::client_network(address);
}

/// What the keys of all pairs of an account begin with, and no other key does.
std::string pairs_of(const std::string& subject) {
    return "pair " + subject + '\n';
}

std::string pair_key(const std::string& subject, const std::string& address) {
    return pairs_of(subject) + platform::client_network(address);
}

}  // namespace

std::string account_subject(std::int64_t user) {
    return "user " + std::to_string(user);
}

std::string address_subject(std::string_view email) {
    return "e-mail " + clean_email(email).substr(0, kMaxEmail);
}

bool Throttle::allows(const std::string& subject, const std::string& address,
                      Clock::time_point now) {
    const std::lock_guard lock{mutex_};
    const std::string pair = pair_key(subject, address);
    return is_below(pair, limits_.pair, now) &&
           is_below(address_key(address), limits_.address, now) &&
           (known_.contains(pair) || is_below(account_key(subject), limits_.account, now));
}

void Throttle::count(const std::string& subject, const std::string& address,
                     Clock::time_point now) {
    const std::lock_guard lock{mutex_};
    const std::string pair = pair_key(subject, address);
    add(pair, now);
    add(address_key(address), now);
    if (!known_.contains(pair)) add(account_key(subject), now);
}

bool Throttle::has_signed_in(const std::string& subject, const std::string& address) {
    const std::lock_guard lock{mutex_};
    return known_.contains(pair_key(subject, address));
}

void Throttle::signed_in(const std::string& subject, const std::string& address,
                         Clock::time_point now) {
    const std::lock_guard lock{mutex_};
    const std::string pair = pair_key(subject, address);
    counts_.erase(pair);
    if (known_.size() >= kMaxCounts && !known_.contains(pair)) {
        known_.erase(
            std::ranges::min_element(known_, {}, [](const auto& item) { return item.second; }));
    }
    known_[pair] = now;
}

void Throttle::forgive(const std::string& subject) {
    const std::lock_guard lock{mutex_};
    counts_.erase(account_key(subject));
    const std::string pairs = pairs_of(subject);
    auto first = counts_.lower_bound(pairs);
    while (first != counts_.end() && first->first.starts_with(pairs)) first = counts_.erase(first);
}

bool Throttle::is_below(const std::string& key, int limit, Clock::time_point now) {
    const auto found = counts_.find(key);
    return found == counts_.end() || now - found->second.began >= limits_.window ||
           found->second.attempts < limit;
}

void Throttle::add(const std::string& key, Clock::time_point now) {
    if (counts_.size() >= kMaxCounts) {
        std::erase_if(counts_,
                      [&](const auto& item) { return now - item.second.began >= limits_.window; });
    }
    if (counts_.size() >= kMaxCounts) {
        counts_.erase(std::ranges::min_element(counts_, {},
                                               [](const auto& item) { return item.second.began; }));
    }
    Count& count = counts_[key];
    if (count.attempts == 0 || now - count.began >= limits_.window) {
        count = {.attempts = 0, .began = now};
    }
    ++count.attempts;
}

}  // namespace dedloc::server
