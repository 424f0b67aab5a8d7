// Shards of pictures and their labels: whole, and every way in which each is refused.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#include "peer/formats/picture_labels.hpp"
#include "peer/formats/picture_shard.hpp"

namespace dedloc::formats {
namespace {

Buffer three_pictures() {
    PictureShardBuilder builder;
    for (const char* picture : {"a", "second", "the third"}) builder.add(bytes_of(picture));
    const auto shard = std::move(builder).finish();
    return {shard.file.begin(), shard.file.end()};
}

template <class T>
void put_at(Buffer& file, std::size_t at, T value) {
    std::memcpy(file.data() + at, &value, sizeof value);
}

PictureShardError fault_of_shard(Buffer file) {
    const auto shard = decode_picture_shard(std::move(file));
    REQUIRE(!shard);
    CHECK(std::string{describe(shard.reason())} != "unknown");
    return shard.reason();
}

PictureLabels some_labels() {
    return {.shard = blake2b(bytes_of("shard")),
            .classes = {"cat", "dog", "hämster"},
            .labels = {2, 0, kNoClass, 1}};
}

PictureLabelsError fault_of_labels(const Buffer& file) {
    const auto labels = decode_picture_labels(file);
    REQUIRE(!labels);
    CHECK(std::string{describe(labels.reason())} != "unknown");
    return labels.reason();
}

TEST_CASE("a shard of pictures has them in order", "[formats]") {
    const auto shard = decode_picture_shard(three_pictures());
    REQUIRE(shard);
    REQUIRE(shard->picture_count() == 3);
    CHECK(std::ranges::equal(shard->picture(0), bytes_of("a")));
    CHECK(std::ranges::equal(shard->picture(1), bytes_of("second")));
    CHECK(std::ranges::equal(shard->picture(2), bytes_of("the third")));
    CHECK(shard->file.size() == 8 + 3 * 4 + 16);
}

TEST_CASE("every fault of a shard of pictures is found", "[formats]") {
    using Error = PictureShardError;
    const Buffer sound = three_pictures();
    for (std::size_t size = 0; size < sound.size(); ++size) {
        CAPTURE(size);
        CHECK(fault_of_shard({sound.begin(), sound.begin() + static_cast<long>(size)}) ==
              Error::kTooShort);
    }
    const auto altered = [&](std::size_t at, std::uint32_t value) {
        Buffer file = sound;
        put_at(file, at, value);
        return fault_of_shard(std::move(file));
    };
    CHECK(altered(0, 0x31534C44) == Error::kNotAShard);  // a shard of text
    CHECK(altered(4, 0) == Error::kNoPicture);
    CHECK(altered(4, 0xFFFFFFFF) == Error::kTooShort);
    CHECK(altered(8, 0) == Error::kBadEnds);
    CHECK(altered(12, 1) == Error::kBadEnds);
    CHECK(altered(16, 6) == Error::kBadEnds);
    CHECK(altered(16, 17) == Error::kTooShort);
    CHECK(altered(16, 15) == Error::kTrailingBytes);
    CHECK(altered(8, 0xFFFFFFFF) == Error::kPictureTooLarge);
    CHECK(altered(16, 7 + (16u << 20)) == Error::kTooShort);
    CHECK(altered(16, 8 + (16u << 20)) == Error::kPictureTooLarge);
    Buffer longer = sound;
    longer.push_back({});
    CHECK(fault_of_shard(std::move(longer)) == Error::kTrailingBytes);
}

TEST_CASE("labels are read as they were written", "[formats]") {
    const PictureLabels labels = some_labels();
    const Buffer file = encode_picture_labels(labels);
    const auto read = decode_picture_labels(file);
    REQUIRE(read);
    CHECK(*read == labels);
}

TEST_CASE("every fault of a file of labels is found", "[formats]") {
    using Error = PictureLabelsError;
    const Buffer sound = encode_picture_labels(some_labels());
    for (std::size_t size = 0; size < sound.size(); ++size) {
        CAPTURE(size);
        CHECK(fault_of_labels({sound.begin(), sound.begin() + static_cast<long>(size)}) ==
              Error::kTooShort);
    }
    const auto altered = [&](std::size_t at, auto value) {
        Buffer file = sound;
        put_at(file, at, value);
        return fault_of_labels(file);
    };
    constexpr std::size_t kEnds = 48;
    constexpr std::size_t kLabels = kEnds + 3 * 4;
    constexpr std::size_t kNames = kLabels + 4 * 2;
    CHECK(altered(0, std::uint32_t{1}) == Error::kNotLabels);
    CHECK(altered(4, std::uint32_t{0}) == Error::kBadCounts);
    CHECK(altered(4, std::uint32_t{65'536}) == Error::kBadCounts);
    CHECK(altered(4, std::uint32_t{65'535}) == Error::kTooShort);
    CHECK(altered(8, std::uint32_t{0}) == Error::kBadCounts);
    CHECK(altered(8, std::uint32_t{0xFFFFFFFF}) == Error::kTooShort);
    CHECK(altered(12, std::uint32_t{0xFFFFFFFF}) == Error::kTooShort);
    CHECK(altered(12, std::uint32_t{13}) == Error::kTrailingBytes);
    CHECK(altered(kEnds, std::uint32_t{0}) == Error::kBadNames);       // an empty name
    CHECK(altered(kEnds + 4, std::uint32_t{2}) == Error::kBadNames);   // an end before the last
    CHECK(altered(kEnds + 8, std::uint32_t{13}) == Error::kBadNames);  // a byte without a name
    CHECK(altered(kEnds + 8, std::uint32_t{99}) == Error::kBadNames);
    CHECK(altered(kNames, std::uint8_t{'x'}) == Error::kBadNames);   // xat > dog
    CHECK(altered(kNames, std::uint8_t{'\n'}) == Error::kBadNames);  // a control character
    CHECK(altered(kNames, std::uint8_t{0xFF}) == Error::kBadNames);  // not UTF-8
    CHECK(altered(kLabels, std::uint16_t{3}) == Error::kBadLabel);
    CHECK(altered(kLabels, std::uint16_t{0xFFFE}) == Error::kBadLabel);
    Buffer longer = sound;
    longer.push_back({});
    CHECK(fault_of_labels(longer) == Error::kTrailingBytes);
}

TEST_CASE("a class has a name that can be shown", "[formats]") {
    CHECK(is_class_name("n01440764"));
    CHECK(is_class_name("বিড়াল"));
    CHECK(is_class_name(std::string(255, 'a')));
    CHECK_FALSE(is_class_name(std::string(256, 'a')));
    for (const char* name : {"", "a\nb", "\x7f", "\xff", "\xc0\x80"})
        CHECK_FALSE(is_class_name(name));
}

}  // namespace
}  // namespace dedloc::formats
