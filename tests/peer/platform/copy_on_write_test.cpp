#include "peer/platform/copy_on_write.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "tests/copy_of.hpp"

using namespace dedloc;
using platform::CopyOnWrite;

namespace {

constexpr std::size_t kBytes = 5 * CopyOnWrite::kPieceBytes + 77;

Buffer filled(std::byte value) {
    return Buffer(kBytes, value);
}

bool holds(const StableBytes& bytes, std::byte value) {
    return *copy_of(bytes) == filled(value);
}

}  // namespace

TEST_CASE("a share keeps its content, and nothing is copied that is not held", "[platform]") {
    Buffer memory = filled(std::byte{1});
    CopyOnWrite owner{memory};
    CHECK(owner.before_write() == 0);
    auto first = owner.share();
    CHECK(first == owner.share());
    CHECK(first->size() == kBytes);
    CHECK(holds(*first, std::byte{1}));
    CHECK(owner.before_write() == kBytes);
    std::ranges::fill(memory, std::byte{2});
    CHECK(holds(*first, std::byte{1}));
    const auto second = owner.share();
    CHECK(holds(*second, std::byte{2}));
    // The first share has its own bytes by now; only the second is copied.
    CHECK(owner.before_write() == kBytes);
    std::ranges::fill(memory, std::byte{3});
    CHECK(holds(*first, std::byte{1}));
    CHECK(holds(*second, std::byte{2}));
    CHECK(owner.before_write() == 0);
    first = owner.share();
    first.reset();
    CHECK(owner.before_write() == 0);
}

TEST_CASE("pieces are read across borders, before and after a write", "[platform]") {
    Buffer memory(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) memory[i] = static_cast<std::byte>(i * 7 + i / 1000);
    const Buffer before = memory;
    CopyOnWrite owner{memory};
    const auto share = owner.share();
    const auto check = [&] {
        for (const std::size_t first :
             {std::size_t{0}, CopyOnWrite::kPieceBytes - 3, kBytes - 78, kBytes - 1, kBytes}) {
            for (const std::size_t count : {0u, 1u, 6u, 300'000u}) {
                Buffer piece(std::min<std::size_t>(count, kBytes - first));
                share->read(first, piece);
                CHECK(std::equal(piece.begin(), piece.end(),
                                 before.begin() + static_cast<std::ptrdiff_t>(first)));
            }
        }
    };
    check();
    owner.before_write();
    std::ranges::fill(memory, std::byte{0});
    check();
}

TEST_CASE("a share outlives the memory that it comes from", "[platform]") {
    SharedStableBytes share;
    {
        Buffer memory = filled(std::byte{9});
        CopyOnWrite owner{memory};
        share = owner.share();
    }
    CHECK(holds(*share, std::byte{9}));
}

TEST_CASE("readers on other threads see one content while the owner writes", "[platform]") {
    Buffer memory = filled(std::byte{0});
    std::optional<CopyOnWrite> owner{std::in_place, memory};
    std::atomic<int> wrong{0};
    for (int round = 1; round <= 20; ++round) {
        std::vector<std::thread> readers;
        for (int reader = 0; reader < 3; ++reader) {
            readers.emplace_back([&wrong, share = owner->share(), reader] {
                Buffer piece(CopyOnWrite::kPieceBytes);
                std::byte first{};
                share->read(0, std::span{&first, 1});
                // The last reader leaves early, so that writes meet shares that are dropped.
                for (std::size_t at = 0; at + piece.size() <= kBytes; at += 100'003) {
                    share->read(at, piece);
                    wrong += static_cast<int>(
                        std::ranges::count_if(piece, [&](std::byte b) { return b != first; }));
                    if (reader == 2) return;
                }
            });
        }
        owner->before_write();
        std::ranges::fill(memory, static_cast<std::byte>(round));
        for (std::thread& reader : readers) reader.join();
    }
    CHECK(wrong == 0);
}
