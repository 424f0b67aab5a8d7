// The choice of a trial, kept for the next jobs.
#include "boinc_app/device/kept_way.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <string>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/device/gpu.hpp"
#include "peer/platform/scratch_folder.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::device {
namespace {

namespace fs = std::filesystem;
using training::Precision;

const KeptWay kWay{
    .precision = Precision::kBf16, .threads = 4, .micro_batch = 8, .reason = "it was faster"};

WayFile file_in(const fs::path& folder, unsigned threads = 8, std::uint64_t seed = 1) {
    formats::RunFile run = test::tiny_run();
    run.seed = seed;
    return {folder, run, {.threads = threads, .cores = 4}};
}

TEST_CASE("the first choice is kept for all jobs of a run on a computer", "[boinc]") {
    const platform::ScratchFolder folder;
    const WayFile file = file_in(folder.path());
    CHECK_FALSE(file.read());
    CHECK(file.keep(kWay) == kWay);
    CHECK(file_in(folder.path()).read() == kWay);
    KeptWay other = kWay;
    other.precision = Precision::kFp32;
    other.micro_batch = 1;
    CHECK(file.keep(other) == kWay);
    // Nothing but the file stays in the folder; other runs and threads have others.
    CHECK(std::distance(fs::directory_iterator{folder.path()}, {}) == 1);
    CHECK_FALSE(file_in(folder.path(), 7).read());
    CHECK_FALSE(file_in(folder.path(), 8, 2).read());
    // After a week there is a new trial.
    fs::last_write_time(file.path(), fs::file_time_type::clock::now() - std::chrono::hours{169});
    CHECK_FALSE(file.read());
    CHECK(file.keep(other) == other);
    CHECK(file.read() == other);
}

TEST_CASE("a damaged choice is replaced", "[boinc]") {
    const platform::ScratchFolder folder;
    const WayFile file = file_in(folder.path());
    for (const std::string text : {"", "bf16", "bf16 4 8", "fp16 4 8\nx\n", "bf16 0 8\nx\n",
                                   "bf16 9 8\nx\n", "bf16 4 0\nx\n", "bf16 4 65\nx\n",
                                   "bf16 -1 8\nx\n", "fp32 4 99999999999999999999\nx\n"}) {
        CAPTURE(text);
        std::ofstream{file.path()} << text;
        CHECK_FALSE(file.read());
    }
    std::ofstream{file.path()} << std::string(100'000, ' ');
    CHECK_FALSE(file.read());
    CHECK(file.keep(kWay) == kWay);
    CHECK(file.read() == kWay);
    // If the folder cannot be written, each job uses its own choice.
    const WayFile nowhere = file_in(folder.path() / "missing");
    CHECK(nowhere.keep(kWay) == kWay);
    CHECK_FALSE(nowhere.read());
}

TEST_CASE("a job computes as an earlier one has chosen", "[boinc]") {
    const platform::ScratchFolder folder;
    const formats::RunFile run = test::tiny_run();
    const training::albert::AlbertTask task{run, {test::skewed_shard(run, 1)}};
    const kernels::ThisThread workers;
    Choice choice;
    REQUIRE(set_precision(choice, "auto"));
    const Share share{.threads = 1, .shared_folder = folder.path()};
    const Compute first = make_compute(choice, run, task, workers, share);
    const Compute second = make_compute(choice, run, task, workers, share);
    CHECK(first.name == second.name);
    CHECK(first.device.micro_batch == second.device.micro_batch);
    // Whatever that was.
    const WayFile file{folder.path(), run, {.threads = 1, .cores = 1}};
    REQUIRE(file.read());
    std::ofstream{file.path()} << "bf16 1 3\nas told\n";
    const Compute told = make_compute(choice, run, task, workers, share);
    CHECK(told.name == "the processor, 1 thread, bf16 (as told)");
    CHECK(told.device.computation.precision == Precision::kBf16);
    CHECK(training::micro_batch_for(run, told.device, 0) == 3);
    CHECK(training::micro_batch_for(run, told.device, 5) == 5);
    // A precision that is asked for is not looked up.
    REQUIRE(set_precision(choice, "fp32"));
    CHECK(make_compute(choice, run, task, workers, share).name == "the processor, 1 thread");
}

}  // namespace
}  // namespace dedloc::device
