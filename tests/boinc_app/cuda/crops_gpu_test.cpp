// The kernel of crops on a real GPU against the processor's crops, and SwAV with it.
#include <ATen/Context.h>

#include "boinc_app/device/gpu.hpp"
#include "boinc_app/swav/swav_task.hpp"
#include "boinc_app/training/device_replica.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "tests/boinc_app/cuda/crops_cases.hpp"
#include "tests/boinc_app/pictures/made_jpeg.hpp"
#include "tests/boinc_app/relative_error.hpp"
#include "tests/boinc_app/swav/tiny_swav.hpp"

using namespace dedloc;
using namespace dedloc::training;

TEST_CASE("crops of the GPU have the processor's bits, in every precision", "[gpu]") {
    const auto gpu = device::open_gpu(0);
    at::globalContext().lazyInitDevice(at::kCUDA);
    Computation computation = gpu->computation();
    computation.precision = GENERATE(Precision::kFp32, Precision::kBf16, Precision::kFp16);
    const std::vector<formats::CropSpec> crops{
        {}, {.size = 96, .count = 6, .min_area = 0.05, .max_area = 0.14}};
    test::check_device_crops(test::drawn_case(crops, 200, 700, 1), computation);
}

TEST_CASE("the gradient of SwAV on the GPU is the processor's within its precision", "[gpu]") {
    set_compute_threads(2);
    const formats::RunFile run = test::swav_run(test::tiny_task());
    const std::uint64_t unit = std::get<formats::SwavSpec>(run.model).micro_batch;
    formats::PictureShardBuilder builder;
    for (auto& picture : test::drawn_case({}, 30, 60, 5).loaded.decoded) {
        builder.add(tests::made_jpeg(picture));
    }
    std::vector<formats::PictureShard> shards;
    shards.push_back(std::move(builder).finish());
    const swav::SwavTask task{run, shards};
    const kernels::ThreadWorkers workers{2};
    auto opened = device::open_gpu(0);
    Computation computation = opened->computation();
    REQUIRE(computation.crops != nullptr);
    const auto [precision, bound] =
        GENERATE(std::pair{Precision::kFp32, 0.1}, std::pair{Precision::kBf16, 0.3});
    computation.precision = precision;
    DeviceReplica gpu{run, task, workers, std::move(opened), computation};
    HostReplica host{run, task, workers};
    const FloatVector start = state::initial_parameters(run);
    gpu.initialise(start);
    host.initialise(start);
    // The second one has pictures that were decoded ahead.
    for (const std::uint64_t first : {std::uint64_t{0}, unit}) {
        const SampleRange samples{.peer = {}, .step = StepIndex{0}, .first = first, .count = unit};
        CHECK(gpu.add_gradient(samples, {}).value() ==
              Approx(host.add_gradient(samples, {}).value()).epsilon(0.02));
    }
    const double error = test::relative_error(gpu.take_sum().values, host.take_sum().values);
    CAPTURE(static_cast<int>(precision), error);
    CHECK(error < bound);
}
