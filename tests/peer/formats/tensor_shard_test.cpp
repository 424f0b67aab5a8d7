#include "peer/formats/tensor_shard.hpp"

#include <catch2/catch.hpp>
#include <cstring>

namespace dedloc::formats {
namespace {

constexpr std::size_t kSpecsAt = 16;

/// Three samples of a picture of 5 bytes and a number.
Buffer small_file() {
    const Buffer pictures(15, std::byte{7});
    const std::vector<std::int64_t> labels{1, 2, 3};
    const std::vector<std::span<const std::byte>> arrays{pictures,
                                                         std::as_bytes(std::span{labels})};
    return encode_tensor_shard(
        {{.type = ElementType::kUint8, .shape = {5}}, {.type = ElementType::kInt64, .shape = {}}},
        3, arrays);
}

template <class Value>
void put(Buffer& file, std::size_t at, Value value) {
    std::memcpy(file.data() + at, &value, sizeof(value));
}

TensorShardError reason_of(Buffer file) {
    const auto shard = decode_tensor_shard(std::move(file));
    REQUIRE_FALSE(shard.has_value());
    CHECK(std::string{describe(shard.reason())}.size() > 10);
    return shard.reason();
}

TEST_CASE("a shard of tensors reads back as it was written", "[formats]") {
    const auto shard = decode_tensor_shard(small_file()).value();
    CHECK(shard.samples == 3);
    REQUIRE(shard.specs.size() == 2);
    CHECK(shard.specs[0] == SampleTensor{.type = ElementType::kUint8, .shape = {5}});
    CHECK(shard.specs[1].bytes() == 8);
    CHECK(shard.row(0, 2).size() == 5);
    CHECK(shard.row(1, 1)[0] == std::byte{2});
    // Arrays begin at multiples of 64 bytes: 160 bytes of head, then 192 and 256.
    CHECK(shard.arrays[0].data() - shard.file.data() == 192);
    CHECK(shard.arrays[1].data() - shard.file.data() == 256);
}

TEST_CASE("a damaged shard of tensors is refused", "[formats]") {
    const Buffer whole = small_file();
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CHECK(reason_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}) ==
              TensorShardError::kTooShort);
    }
    const auto altered = [&whole](std::size_t at, auto value) {
        Buffer file = whole;
        put(file, at, value);
        return reason_of(file);
    };
    Buffer longer = whole;
    longer.push_back(std::byte{0});
    CHECK(reason_of(longer) == TensorShardError::kTrailingBytes);
    CHECK(altered(0, std::uint32_t{1}) == TensorShardError::kNotAShard);
    CHECK(altered(4, std::uint32_t{0}) == TensorShardError::kBadCounts);
    CHECK(altered(4, std::uint32_t{17}) == TensorShardError::kBadCounts);
    CHECK(altered(8, std::uint64_t{0}) == TensorShardError::kBadCounts);
    CHECK(altered(8, ~std::uint64_t{0}) == TensorShardError::kBadCounts);
    CHECK(altered(8, std::uint64_t{1} << 32) == TensorShardError::kTooShort);
    CHECK(altered(kSpecsAt, std::uint32_t{4}) == TensorShardError::kBadTensor);
    CHECK(altered(kSpecsAt + 4, std::uint32_t{8}) == TensorShardError::kBadTensor);
    CHECK(altered(kSpecsAt + 8, std::uint64_t{0}) == TensorShardError::kBadTensor);
    CHECK(altered(kSpecsAt + 8, kMaxSampleBytes + 1) == TensorShardError::kBadTensor);
    CHECK(altered(kSpecsAt + 8, ~std::uint64_t{0}) == TensorShardError::kBadTensor);
    CHECK(altered(kSpecsAt + 16, std::uint64_t{1}) == TensorShardError::kBadPadding);
    CHECK(altered(170, std::uint8_t{1}) == TensorShardError::kBadPadding);
}

}  // namespace
}  // namespace dedloc::formats
