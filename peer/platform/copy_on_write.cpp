// A share knows for each piece whether it has been copied. Its lock is held while one piece is read
// or replaced, never for the whole array, so a reader on the network's thread does not wait for the
// copy of a state.
#include "peer/platform/copy_on_write.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"

namespace dedloc::platform {

class CopyOnWrite::Share final : public StableBytes {
  public:
    explicit Share(std::span<const std::byte> memory)
        : memory_(memory), copies_((memory.size() + kPieceBytes - 1) / kPieceBytes) {}

    std::uint64_t size() const override { return memory_.size(); }

    void read(std::uint64_t first, std::span<std::byte> into) const override {
        DEDLOC_CHECK(first <= memory_.size() && into.size() <= memory_.size() - first,
                     "a piece lies within the bytes", first, into.size());
        for (std::size_t done = 0; done < into.size();) {
            const auto at = static_cast<std::size_t>(first) + done;
            const std::size_t offset = at % kPieceBytes;
            const std::size_t count = std::min(into.size() - done, kPieceBytes - offset);
            const std::lock_guard lock{mutex_};
            const Buffer& copy = copies_[at / kPieceBytes];
            const std::byte* const from = copy.empty() ? memory_.data() + at : copy.data() + offset;
            std::memcpy(into.data() + done, from, count);
            done += count;
        }
    }

    std::size_t pieces() const { return copies_.size(); }

    /// Copies this piece; returns its length.
    std::size_t keep(std::size_t piece) {
        const auto rest = memory_.subspan(piece * kPieceBytes);
        const auto bytes = rest.first(std::min(kPieceBytes, rest.size()));
        Buffer copy(bytes.begin(), bytes.end());
        const std::lock_guard lock{mutex_};
        copies_[piece] = std::move(copy);
        return bytes.size();
    }

  private:
    const std::span<const std::byte> memory_;
    mutable std::mutex mutex_;
    std::vector<Buffer> copies_;  ///< guarded by mutex_; empty: the piece is still in memory_
};

SharedStableBytes CopyOnWrite::share() {
    auto share = share_.lock();
    if (!share) {
        share = std::make_shared<Share>(memory_);
        share_ = share;
    }
    return share;
}

std::size_t CopyOnWrite::before_write() {
    const auto share = share_.lock();
    share_.reset();
    if (!share) return 0;
    std::size_t copied = 0;
    // The last owner besides this function may go at any time; then the rest is of no use.
    for (std::size_t piece = 0; piece < share->pieces() && share.use_count() > 1; ++piece) {
        copied += share->keep(piece);
    }
    return copied;
}

}  // namespace dedloc::platform
