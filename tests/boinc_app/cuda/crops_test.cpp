// The kernel of crops, run by the host with its blocks and threads in random order, against the
// processor's crops; and SwAV with crops of the kernel against SwAV without it.
#include <catch2/catch.hpp>

#include "boinc_app/cuda/crops.hpp"
#include "boinc_app/swav/swav_task.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/cuda/host_launch.hpp"
#include "tests/boinc_app/cuda/crops_cases.hpp"
#include "tests/boinc_app/pictures/made_jpeg.hpp"
#include "tests/boinc_app/swav/tiny_swav.hpp"

namespace dedloc::training {
namespace {

const std::filesystem::path kCropFixtures = std::filesystem::path{DEDLOC_FIXTURES} / "augmentation";

/// Crops that the host makes, as a device of `multiprocessors` would.
class HostCrops {
  public:
    explicit HostCrops(unsigned multiprocessors = 2)
        : crops_(kernels::cuda::StreamView{&stream_}, multiprocessors) {}
    Computation computation(Precision precision = Precision::kFp32) {
        return {.precision = precision, .crops = &crops_};
    }

  private:
    CUstream_st stream_{1};
    Crops crops_;
};

TEST_CASE("the kernel's crops have Pillow's pixels, normalised", "[pictures]") {
    // One block makes all crops one after the other, or each has one of its own.
    HostCrops host{GENERATE(1u, 200u)};
    const auto cases = test::pillow_cases(kCropFixtures);
    REQUIRE(cases.size() >= 3);
    for (const auto& of : cases) test::check_device_crops(of, host.computation());
}

TEST_CASE("the kernel's crops of random pictures are the processor's, in every precision",
          "[pictures]") {
    HostCrops host;
    const auto precision = GENERATE(Precision::kFp32, Precision::kBf16, Precision::kFp16);
    const std::uint64_t seed = GENERATE(1u, 2u, 3u);
    CAPTURE(static_cast<int>(precision), seed);
    // One pixel a side, as many as a block has threads, and more; regions smaller and larger.
    const std::vector<formats::CropSpec> crops{
        {.size = 33, .count = 2, .min_area = 0.14},
        {.size = 16, .count = 1, .min_area = 0.01, .max_area = 0.1},
        {.size = 8, .count = 3, .min_area = 0.05, .max_area = 0.14},
        {.size = 1, .count = 1}};
    test::check_device_crops(test::drawn_case(crops, 9, 90, seed), host.computation(precision));
}

TEST_CASE("wide, high and single pixels become the processor's crops", "[pictures]") {
    HostCrops host;
    auto of = test::drawn_case({{.size = 12, .count = 1}}, 0, 1, 1);
    Random random{4};
    using pictures::Extent;
    for (const Extent extent :
         {Extent{1, 1}, Extent{1, 700}, Extent{700, 1}, Extent{12, 12}, Extent{13, 40}}) {
        pictures::Picture picture{.width = extent.width, .height = extent.height};
        picture.rgb.resize(std::size_t{3} * extent.width * extent.height);
        for (auto& byte : picture.rgb) byte = static_cast<std::uint8_t>(random.below(256));
        of.loaded.decoded.push_back(std::move(picture));
        of.loaded.crops.push_back({.size = 12,
                                   .region = {.left = 0, .top = 0, .extent = extent},
                                   .is_flipped = true,
                                   .jitter = {.contrast = 1.7, .hue = 0.001},
                                   .blur_radius = 30});
    }
    test::check_device_crops(of, host.computation());
}

formats::PictureShard noisy_shard(std::uint64_t seed, std::size_t count) {
    Random random{seed};
    formats::PictureShardBuilder builder;
    for (std::size_t k = 0; k < count; ++k) {
        pictures::Picture picture{.width = 40, .height = 30};
        const std::uint64_t wide = 2 + random.below(5);
        for (std::uint64_t i = 0; i < std::uint64_t{3} * 40 * 30; ++i) {
            picture.rgb.push_back(static_cast<std::uint8_t>(i / wide % 7 * 30 + random.below(40)));
        }
        builder.add(tests::made_jpeg(picture));
    }
    return std::move(builder).finish();
}

TEST_CASE("SwAV on the kernel's crops has the bits that it has on the processor's", "[swav]") {
    set_compute_threads(2);
    HostCrops host;
    formats::SwavSpec spec = test::tiny_task();
    spec.micro_batch = 6;
    const formats::RunFile run = test::swav_run(spec);
    const swav::SwavTask task{run, {noisy_shard(1, 20)}};
    const AlignedFloats parameters = test::swav_start(run);
    const auto precision = GENERATE(Precision::kFp32, Precision::kBf16);
    const auto gradient_by = [&](const Computation& computation) {
        FloatVector sum(parameters.size());
        const auto loss =
            task.make_model(parameters, computation)
                ->add_gradient({.peer = {}, .step = StepIndex{2}, .count = 6}, sum, {});
        sum.push_back(static_cast<float>(loss.value()));
        return sum;
    };
    CHECK(gradient_by(host.computation(precision)) == gradient_by({.precision = precision}));
}

TEST_CASE("pictures with too many bytes are not kept", "[swav]") {
    const formats::RunFile run = test::swav_run(test::tiny_task());
    const std::vector<formats::PictureShard> shards{noisy_shard(2, 8)};
    const swav::CropLoader loader{run, shards};
    const SampleRange samples{.peer = {}, .step = StepIndex{0}, .count = 6};
    const auto whole = loader.load_pictures(samples, std::size_t{1} << 20, {}).value();
    CHECK(whole.fits);
    CHECK(whole.decoded.size() == 6);
    CHECK(whole.crops.size() == 6 * 4);
    std::size_t bytes = 0;
    for (const auto& picture : whole.decoded) bytes += picture.rgb.size();
    CHECK(loader.load_pictures(samples, bytes, {})->fits);
    const auto less = loader.load_pictures(samples, bytes - 1, {}).value();
    CHECK_FALSE(less.fits);
    CHECK(less.decoded.empty());
    CHECK_FALSE(loader.load_pictures(samples, bytes, [] { return true; }));
}

}  // namespace
}  // namespace dedloc::training
