#include "boinc_app/module/samples.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "boinc_app/pictures/crops.hpp"
#include "boinc_app/pictures/jpeg_decoder.hpp"
#include "peer/base/error.hpp"
#include "tests/boinc_app/module/fixtures.hpp"
#include "tests/boinc_app/pictures/made_jpeg.hpp"

namespace dedloc::training::module {
namespace {

formats::Shard text_shard(std::uint16_t first, std::uint64_t tokens, std::uint64_t weight) {
    formats::ShardBuilder builder{60'000};
    std::vector<std::uint16_t> sentence;
    for (std::uint64_t i = 0; i < tokens; ++i) {
        sentence.push_back(static_cast<std::uint16_t>(first + i));
    }
    builder.add_sentence(sentence);
    builder.end_document();
    formats::Shard shard = std::move(builder).finish();
    shard.weight = weight;
    return shard;
}

/// Pictures of 40 × 24, 41 × 24 …
formats::PictureShard picture_shard(std::uint32_t count) {
    formats::PictureShardBuilder builder;
    for (std::uint32_t i = 0; i < count; ++i) {
        builder.add(tests::made_jpeg(tests::smooth_picture(40 + i, 24)));
    }
    return std::move(builder).finish();
}

std::vector<std::int64_t> tokens_of(const InputTensor& input) {
    std::vector<std::int64_t> tokens(input.bytes.size() / sizeof(std::int64_t));
    std::memcpy(tokens.data(), input.bytes.data(), input.bytes.size());
    return tokens;
}

TEST_CASE("windows are consecutive tokens, in proportion to the shards' weights", "[module]") {
    // 20 windows of weight 1, 10 of weight 6: a quarter and three quarters.
    const TextWindows windows{{text_shard(0, 27, 1), text_shard(1'000, 17, 6)}, 8};
    const auto inputs = windows.draw(Random{7}, 0, 4'000);
    REQUIRE(inputs.size() == 1);
    CHECK(inputs[0].shape == std::vector<std::uint64_t>{4'000, 8});
    const auto tokens = tokens_of(inputs[0]);
    std::map<std::int64_t, int> starts;
    int second = 0;
    for (std::size_t row = 0; row < 4'000; ++row) {
        for (std::size_t i = 1; i < 8; ++i) {
            REQUIRE(tokens[row * 8 + i] == tokens[row * 8] + static_cast<std::int64_t>(i));
        }
        ++starts[tokens[row * 8]];
        second += tokens[row * 8] >= 1'000 ? 1 : 0;
    }
    CHECK(starts.size() == 30);
    CHECK(second > 2'850);
    CHECK(second < 3'150);
    CHECK_THROWS_WITH((TextWindows{{text_shard(0, 7, 1)}, 8}),
                      "no shard has as many tokens as a sample");
}

TEST_CASE("a sample is the same in a micro-batch of any size", "[module]") {
    const TextWindows windows{{text_shard(0, 500, 1)}, 8};
    const TensorRows rows{{test::shard_fixture("convnet.shard")}};
    const PictureSquares squares{{picture_shard(9)}, 8};
    for (const SampleSource* const samples :
         {static_cast<const SampleSource*>(&windows), static_cast<const SampleSource*>(&rows),
          static_cast<const SampleSource*>(&squares)}) {
        const auto all = samples->draw(Random{3}, 5, 6);
        for (std::uint64_t i = 0; i < 6; ++i) {
            const auto one = samples->draw(Random{3}, 5 + i, 1);
            REQUIRE(one.size() == all.size());
            for (std::size_t at = 0; at < one.size(); ++at) {
                const std::size_t row = one[at].bytes.size();
                CHECK(std::equal(one[at].bytes.begin(), one[at].bytes.end(),
                                 all[at].bytes.begin() + static_cast<std::ptrdiff_t>(i * row)));
            }
        }
    }
}

TEST_CASE("a sample is the square in the middle of a picture", "[module]") {
    const formats::PictureShard shard = picture_shard(1);
    const PictureSquares squares{{shard}, 8};
    const auto inputs = squares.draw(Random{3}, 0, 2);
    REQUIRE(inputs.size() == 1);
    CHECK(inputs[0].type == formats::ElementType::kUint8);
    CHECK(inputs[0].shape == std::vector<std::uint64_t>{2, 3, 8, 8});
    const auto decoded = pictures::decode_jpeg(shard.picture(0), {.min_side = 8});
    std::vector<std::uint8_t> wanted(3 * 8 * 8);
    pictures::Scratch scratch;
    pictures::make_middle_crop(decoded.value(), {.shorter_side = 8, .size = 8}, wanted, scratch);
    for (std::size_t i = 0; i < 2 * wanted.size(); ++i) {
        REQUIRE(std::to_integer<std::uint8_t>(inputs[0].bytes[i]) == wanted[i % wanted.size()]);
    }
}

TEST_CASE("no picture, or one that is none, is refused; drawing can be interrupted", "[module]") {
    CHECK_THROWS_WITH((PictureSquares{{}, 8}), "there is no picture");
    formats::PictureShardBuilder builder;
    builder.add(bytes_of("no JPEG"));
    const PictureSquares broken{{std::move(builder).finish()}, 8};
    CHECK_THROWS_WITH(broken.draw(Random{3}, 0, 1),
                      Catch::Matchers::Contains("picture 0 of shard 0 cannot be used: "));
    const PictureSquares squares{{picture_shard(3)}, 8};
    int calls = 0;
    CHECK_FALSE(squares.draw_unless([&calls] { return ++calls == 5; }, Random{3}, 0, 100));
    CHECK(calls == 5);
}

TEST_CASE("rows keep the tensors of a sample together", "[module]") {
    const formats::TensorShard shard = test::shard_fixture("convnet.shard");
    const TensorRows rows{{shard, shard}};
    const auto inputs = rows.draw(Random{3}, 0, 50);
    REQUIRE(inputs.size() == 2);
    CHECK(inputs[0].shape == std::vector<std::uint64_t>{50, 3, 8, 8});
    CHECK(inputs[1].shape == std::vector<std::uint64_t>{50});
    for (std::size_t i = 0; i < 50; ++i) {
        bool is_found = false;
        for (std::uint64_t sample = 0; sample < shard.samples; ++sample) {
            const auto picture = shard.row(0, sample), label = shard.row(1, sample);
            is_found |=
                std::equal(picture.begin(), picture.end(),
                           inputs[0].bytes.begin() + static_cast<std::ptrdiff_t>(i * 192)) &&
                std::equal(label.begin(), label.end(),
                           inputs[1].bytes.begin() + static_cast<std::ptrdiff_t>(i * 8));
        }
        CHECK(is_found);
    }
    CHECK_THROWS_WITH((TensorRows{{shard, test::shard_fixture("gpt.shard")}}),
                      "the shards have tensors of different types or shapes");
}

}  // namespace
}  // namespace dedloc::training::module
