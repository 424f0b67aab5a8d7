// The estimates of a picture's activations and of the weights that are cast, compared with what
// libtorch allocates while it computes a gradient.
#include <catch2/catch.hpp>

#include "boinc_app/training/footprint.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/training_memory.hpp"
#include "tests/boinc_app/counting_allocator.hpp"
#include "tests/boinc_app/swav/tiny_swav.hpp"

namespace dedloc::swav {
namespace {

/// The most bytes of tensors while the gradient of so many pictures is computed.
std::size_t largest_bytes(const formats::SwavSpec& task, std::uint64_t pictures,
                          training::Precision precision = training::Precision::kFp32) {
    const formats::RunFile run = test::swav_run(task);
    const AlignedFloats parameters = test::swav_start(run);
    Swav model{task, run.tensors, parameters, {.precision = precision}};
    FloatVector sum(parameters.size());
    const test::PlayedCrops crops{task, pictures, 1};
    REQUIRE(model.add_gradient(crops.batch(), sum));  // libraries allocate once
    test::CountingAllocator::take_largest();
    REQUIRE(model.add_gradient(crops.batch(), sum));
    return test::CountingAllocator::take_largest();
}

TEST_CASE("a picture's activations take about as many bytes as estimated", "[swav]") {
    const test::CountingAllocator allocator;
    training::set_compute_threads(1);
    formats::SwavSpec small = test::tiny_task();
    small.trunk.width = 16;
    formats::SwavSpec bottlenecks = small;
    bottlenecks.trunk = {.has_bottlenecks = true, .blocks = {1, 2}, .width = 8};
    bottlenecks.crops = {{.size = 64, .count = 2}, {.size = 32, .count = 4}};
    formats::SwavSpec many_prototypes = small;
    many_prototypes.prototypes = 3'000;
    for (const formats::SwavSpec& task : {small, bottlenecks, many_prototypes}) {
        constexpr std::uint64_t kFew = 8;
        const auto measured =
            static_cast<double>(largest_bytes(task, 2 * kFew) - largest_bytes(task, kFew)) /
            static_cast<double>(kFew);
        const auto estimated = static_cast<double>(formats::swav_activation_bytes(task, false));
        CAPTURE(task.trunk.has_bottlenecks, task.prototypes, measured, estimated);
        CHECK(estimated == Approx(measured).epsilon(0.06));
    }
}

TEST_CASE("each size of crops casts the trunk's weights anew, as estimated", "[swav]") {
    const test::CountingAllocator allocator;
    training::set_compute_threads(1);
    const training::Computation reduced{.precision = training::Precision::kBf16};
    formats::SwavSpec task = test::tiny_task();
    // Weights take more than activations. Without AVX-512 a convolution in bf16 holds the columns
    // of all crops of a size while it is computed, so each size has as many crops.
    task.trunk = {.has_bottlenecks = false, .blocks = {1, 1}, .width = 64, .has_small_stem = true};
    constexpr formats::CropSpec kSize{.size = 8, .count = 2};
    constexpr std::uint64_t kPictures = 4;
    const auto measured = [&](std::size_t sizes) {
        task.crops.assign(sizes, kSize);
        return static_cast<double>(largest_bytes(task, kPictures, reduced.precision));
    };
    const auto estimated = [&](std::size_t sizes) {
        task.crops.assign(sizes, kSize);
        const formats::RunFile run = test::swav_run(task);
        const formats::ProductFormat bf16{.is_reduced = true};
        return static_cast<double>(training::micro_batch_bytes(run, reduced) +
                                   kPictures * formats::activation_bytes(run, bf16));
    };
    CAPTURE(measured(1), measured(3), estimated(1), estimated(3));
    CHECK(estimated(3) - estimated(1) == Approx(measured(3) - measured(1)).epsilon(0.06));
    CHECK(estimated(3) == Approx(measured(3)).epsilon(0.06));
}

}  // namespace
}  // namespace dedloc::swav
