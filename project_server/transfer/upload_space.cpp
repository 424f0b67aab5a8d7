// What an account has on the disk is remembered from its uploads. Other programs delete the files.
// So they are looked for again, but only when that decides about an upload, and when there are
// twice as many as after the last look.
#include "project_server/transfer/upload_space.hpp"

#include <algorithm>
#include <utility>

#include "peer/platform/networks.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kFullDisk = "the disk has no space for this file now; try again in an hour";
constexpr const char* kFullAccount =
    "the files that this account has uploaded take as much of the disk as the project has left; "
    "try "
    "again in an hour";

bool is_counted(const UploadWish& wish) {
    return wish.account != 0 && wish.total >= kCountedBytes;
}

}  // namespace

UploadSpace::Promise::Promise(UploadSpace& space, std::string network, UploadWish wish)
    : space_(space),
      network_(std::move(network)),
      wish_(std::move(wish)),
      bytes_(wish_.total - wish_.present) {}

UploadSpace::Promise::~Promise() {
    fill(bytes_);
    if (!is_counted(wish_)) return;
    const std::lock_guard lock{space_.mutex_};
    space_.end(wish_);
}

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

/// Bytes of the account's other files.
std::uint64_t UploadSpace::others_of(const UploadWish& wish) const {
    const auto own = of_account_.find(wish.account);
    if (own == of_account_.end()) return 0;
    std::uint64_t sum = 0;
    for (const auto& [name, file] : own->second) {
        if (name != wish.name) sum += file.bytes;
    }
    return sum;
}

void UploadSpace::count_again(Files& files) const {
    for (auto& [name, file] : files) {
        if (!file.arrives) file.bytes = size_of_(name);
    }
    std::erase_if(files, [](const auto& entry) { return entry.second.bytes == 0; });
}

void UploadSpace::forget_deleted() {
    files_ = 0;
    for (auto& [account, files] : of_account_) {
        count_again(files);
        files_ += files.size();
    }
    std::erase_if(of_account_, [](const auto& entry) { return entry.second.empty(); });
    next_look_ = std::max(next_look_, 2 * files_);
}

/// Whether the account may have this file too. `available`: bytes of the disk that nothing has been
/// promised.
bool UploadSpace::may_have(const UploadWish& wish, std::uint64_t available) {
    const std::uint64_t left = available - (wish.total - wish.present);
    const auto fits = [&] {
        const std::uint64_t others = others_of(wish);
        // The first file of an account may take all, since an honest one may need that much.
        return others == 0 || (others <= left && wish.total <= left - others);
    };
    if (!is_counted(wish) || fits()) return true;
    forget_deleted();
    return fits();
}

void UploadSpace::begin(const UploadWish& wish) {
    if (files_ >= next_look_) forget_deleted();
    const auto [file, is_new] =
        of_account_[wish.account].insert_or_assign(wish.name, File{wish.total, true});
    if (is_new) ++files_;
}

void UploadSpace::end(const UploadWish& wish) {
    const auto own = of_account_.find(wish.account);
    if (own == of_account_.end()) return;
    const std::uint64_t bytes = size_of_(wish.name);
    if (bytes > 0) {
        own->second.insert_or_assign(wish.name, File{bytes, false});
        return;
    }
    files_ -= own->second.erase(wish.name);
    if (own->second.empty()) of_account_.erase(own);
}

UploadSpace::Answer UploadSpace::promise(UploadWish wish) {
    std::string network = platform::networks_of(wish.address).front();
    wish.present = std::min(wish.present, wish.total);
    const std::uint64_t bytes = wish.total - wish.present;
    const std::uint64_t free = free_();
    const std::lock_guard lock{mutex_};
    const std::uint64_t taken = kReservedBytes + promised_;
    if (free < taken || free - taken < bytes) return {.refusal = kFullDisk};
    const auto own = of_network_.find(network);
    const std::uint64_t earlier = own == of_network_.end() ? 0 : own->second;
    // The first upload of a network may take all, since an honest one may need that much.
    if (earlier > 0 && earlier + bytes > free - taken - bytes) return {.refusal = kFullDisk};
    if (!may_have(wish, free - taken)) return {.refusal = kFullAccount};
    if (bytes > 0) of_network_[network] += bytes;
    promised_ += bytes;
    if (is_counted(wish)) begin(wish);
    return {.promise = std::make_unique<Promise>(*this, std::move(network), std::move(wish))};
}

}  // namespace dedloc::server
