// SwAV as a task: crops follow from public numbers, and a swarm's trainers sum what the model
// computes from them.
#include "boinc_app/swav/swav_task.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/local_trainer.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/task.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/pictures/made_jpeg.hpp"
#include "tests/boinc_app/swav/tiny_swav.hpp"

namespace dedloc::swav {
namespace {

using training::SampleRange;

PeerKey volunteer(unsigned char name) {
    PeerKey key;
    key.bytes.fill(std::byte{name});
    return key;
}

/// Pictures of two kinds, stripes across and along, in random colours.
formats::PictureShard striped_shard(std::uint64_t seed, std::size_t count) {
    Random random{seed};
    formats::PictureShardBuilder builder;
    for (std::size_t k = 0; k < count; ++k) {
        constexpr std::uint32_t kSide = 32;
        pictures::Picture picture{.width = kSide, .height = kSide};
        const std::uint64_t wide = 2 + random.below(4);
        const bool is_across = k % 2 == 0;
        std::array<std::uint8_t, 6> colours{};
        for (auto& colour : colours) colour = static_cast<std::uint8_t>(random.below(256));
        for (std::uint32_t y = 0; y < kSide; ++y) {
            for (std::uint32_t x = 0; x < kSide; ++x) {
                const std::size_t side = (is_across ? y : x) / wide % 2;
                for (std::size_t c = 0; c < 3; ++c) picture.rgb.push_back(colours.at(3 * side + c));
            }
        }
        builder.add(tests::made_jpeg(picture));
    }
    return std::move(builder).finish();
}

struct TaskFixture {
    TaskFixture() { training::set_compute_threads(2); }

    const formats::RunFile run = test::swav_run(test::tiny_task());
    const std::uint64_t unit = formats::samples_together(run);
    const std::vector<formats::PictureShard> shards{striped_shard(1, 40)};
    const CropLoader loader{run, shards};

    LoadedCrops load(const PeerKey& peer, std::uint64_t step, std::uint64_t first,
                     std::uint64_t count) const {
        return loader.load({peer, StepIndex{step}, first, count}, {}).value();
    }
};

TEST_CASE("the crops of a sample follow from peer, step and index alone", "[swav]") {
    const TaskFixture tiny;
    const auto all = tiny.load(volunteer(1), 3, 0, 6);
    CHECK(tiny.load(volunteer(1), 3, 0, 6).sizes == all.sizes);
    CHECK(tiny.load(volunteer(2), 3, 0, 6).sizes != all.sizes);
    CHECK(tiny.load(volunteer(1), 4, 0, 6).sizes != all.sizes);
    // Picture 4 is the third of those from 2 on.
    const auto some = tiny.load(volunteer(1), 3, 2, 3);
    const auto& task = std::get<formats::SwavSpec>(tiny.run.model);
    for (std::size_t size = 0; size < task.crops.size(); ++size) {
        const auto elements =
            static_cast<std::size_t>(3 * task.crops[size].size * task.crops[size].size);
        for (std::size_t k = 0; k < task.crops[size].count; ++k) {
            const std::span<const float> a{all.sizes[size]}, b{some.sizes[size]};
            CHECK(std::ranges::equal(a.subspan((k * 6 + 4) * elements, elements),
                                     b.subspan((k * 3 + 2) * elements, elements)));
        }
    }
}

TEST_CASE("crops are the same for every number of threads", "[swav]") {
    const TaskFixture tiny;
    const auto two = tiny.load(volunteer(1), 0, 0, 20);
    training::set_compute_threads(1);
    CHECK(tiny.load(volunteer(1), 0, 0, 20).sizes == two.sizes);
}

TEST_CASE("a picture of a shard with weight 3 is drawn three times as often", "[swav]") {
    const TaskFixture tiny;
    // One black picture, and one white.
    const auto plain = [](std::uint8_t value, std::uint64_t weight) {
        pictures::Picture picture{.width = 16, .height = 16};
        picture.rgb.assign(std::size_t{3} * 16 * 16, value);
        formats::PictureShardBuilder builder;
        builder.add(tests::made_jpeg(picture));
        auto shard = std::move(builder).finish();
        shard.weight = weight;
        return shard;
    };
    const std::vector<formats::PictureShard> shards{plain(0, 1), plain(255, 3)};
    const CropLoader loader{tiny.run, shards};
    constexpr std::uint64_t kSamples = 400;
    const auto crops = loader.load({volunteer(1), StepIndex{0}, 0, kSamples}, {}).value();
    const std::size_t elements = crops.sizes[0].size() / (2 * kSamples);
    // No jitter changes black.
    std::size_t black = 0;
    for (std::size_t k = 0; k < kSamples; ++k)
        black += crops.sizes[0][k * elements] < -2.1f ? 1 : 0;
    CHECK(black > 65);
    CHECK(black < 135);
}

TEST_CASE("loading ends when it is interrupted, and a broken picture is an error", "[swav]") {
    const TaskFixture tiny;
    CHECK_FALSE(tiny.loader.load({volunteer(1), StepIndex{0}, 0, 4}, [] { return true; }));
    formats::PictureShardBuilder builder;
    builder.add(as_bytes(std::span{"this is no picture"}));
    const std::vector<formats::PictureShard> shards{std::move(builder).finish()};
    const CropLoader broken{tiny.run, shards};
    CHECK_THROWS_WITH((broken.load({volunteer(1), StepIndex{0}, 0, 4}, {})),
                      Catch::Contains("picture 0 of shard 0 cannot be used"));
    CHECK_THROWS_AS((CropLoader{tiny.run, {}}), InputError);
}

TEST_CASE("the task's model adds the gradients that the network has on the loaded crops",
          "[swav]") {
    const TaskFixture tiny;
    const SwavTask task{tiny.run, tiny.shards};
    const AlignedFloats parameters = test::swav_start(tiny.run);
    const auto model = task.make_model(parameters, {});
    FloatVector sum(parameters.size()), expected(parameters.size());
    const auto& spec = std::get<formats::SwavSpec>(tiny.run.model);
    Swav network{spec, tiny.run.tensors, parameters};
    double loss = 0, expected_loss = 0;
    for (const std::uint64_t first : {std::uint64_t{0}, tiny.unit}) {
        loss += *model->add_gradient({volunteer(1), StepIndex{2}, first, tiny.unit}, sum, {});
        const auto crops = tiny.load(volunteer(1), 2, first, tiny.unit);
        expected_loss += *network.add_gradient(crops.batch(tiny.unit, StepIndex{2}), expected);
    }
    CHECK(loss == expected_loss);
    CHECK(sum == expected);
    int questions = 0;
    CHECK_FALSE(model->add_gradient({volunteer(1), StepIndex{2}, 0, tiny.unit}, sum,
                                    [&] { return ++questions == 7; }));
    CHECK(sum == expected);
}

TEST_CASE("a run of SwAV trains in one process, with the same bits again", "[swav]") {
    TaskFixture tiny;
    formats::RunFile run = tiny.run;
    run.optimizer = formats::usual_settings(formats::Optimizer::kSgdLarc);
    run.optimizer.warmup_steps = 2;
    run.steps = 8;
    run.target_batch = 2 * tiny.unit;
    const SwavTask task{run, tiny.shards};
    const kernels::ThisThread workers;
    const auto digest_after = [&](std::uint64_t steps) {
        training::HostReplica replica{run, task, workers};
        training::LocalTrainer trainer{run, workers, replica, tiny.unit};
        const std::vector<training::Share> shares{{volunteer(1), Samples{tiny.unit}},
                                                  {volunteer(2), Samples{tiny.unit}}};
        for (std::uint64_t step = 0; step < steps; ++step) {
            const auto done = trainer.step(shares);
            REQUIRE(done);
            CHECK(done->update.was_applied);
        }
        return replica.digest();
    };
    const Digest once = digest_after(3);
    CHECK(digest_after(3) == once);
    CHECK(digest_after(4) != once);
}

}  // namespace
}  // namespace dedloc::swav
