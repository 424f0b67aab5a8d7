// Micro-batches that shrink until they fit into the device's memory.
#include "boinc_app/training/micro_batches.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/training/device_error.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/relative_error.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training {
namespace {

/// A replica on the processor whose memory cannot hold more than `capacity` samples.
class SmallReplica final : public Replica {
  public:
    SmallReplica(const formats::RunFile& run, const Task& task, std::size_t capacity)
        : host_(run, task, workers_), capacity_(capacity) {
        host_.initialise(state::initial_parameters(run));
    }
    void attach() override {}
    StepIndex step() const override { return host_.step(); }
    std::size_t element_count() const override { return host_.element_count(); }
    void initialise(std::span<const float> parameters) override { host_.initialise(parameters); }
    bool load(StepIndex step, std::span<const std::byte> bytes, const Digest& expected) override {
        return host_.load(step, bytes, expected);
    }
    std::optional<double> add_gradient(const SampleRange& samples,
                                       const IsInterrupted& is_interrupted) override {
        asked.push_back(samples.count);
        if (samples.count > capacity_) {
            throw DeviceError{DeviceFailure::kOutOfMemory, "the device is small"};
        }
        return host_.add_gradient(samples, is_interrupted);
    }
    GradientSum take_sum() override { return host_.take_sum(); }
    void drop_sum() override { host_.drop_sum(); }
    state::UpdateReport apply(std::span<const float> average,
                              const UpdateScalars& scalars) override {
        return host_.apply(average, scalars);
    }
    Digest digest() override { return host_.digest(); }
    StateCopy copy() override { return host_.copy(); }
    SharedState share() override { return host_.share(); }
    void release() override { host_.release(); }

    std::vector<std::uint64_t> asked;  ///< sizes of the micro-batches

  private:
    const kernels::ThisThread workers_;
    HostReplica host_;
    const std::size_t capacity_;
};

struct World {
    const formats::RunFile run = test::tiny_run();
    const std::vector<formats::Shard> shards{test::skewed_shard(run, 1)};
    const albert::AlbertTask task{run, shards};
    const PeerKey peer{};

    /// The sum of `count` samples on a device of this capacity.
    FloatVector sum(SmallReplica& replica, std::uint64_t size, std::uint64_t count,
                    std::uint64_t unit = 1) const {
        MicroBatches batches{replica, size, unit};
        for (std::uint64_t first = 0; first < count;) {
            first += batches.add(peer, StepIndex{0}, first, count - first, {})->count;
        }
        return replica.take_sum().values;
    }
};

TEST_CASE("a micro-batch is halved until it fits, and no sample is lost or counted twice",
          "[training]") {
    set_compute_threads(1);
    const World world;
    SmallReplica large{world.run, world.task, 1'000};
    const FloatVector expected = world.sum(large, 16, 21);
    CHECK(large.asked == std::vector<std::uint64_t>{16, 5});
    SmallReplica small{world.run, world.task, 3};
    const FloatVector sum = world.sum(small, 16, 21);
    // 16, 8 and 4 do not fit; afterwards twos, and the last sample alone.
    CHECK(small.asked == std::vector<std::uint64_t>{16, 8, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1});
    CHECK(test::relative_error(sum, expected) < 2e-6);
}

TEST_CASE("a micro-batch is halved to whole units", "[training]") {
    set_compute_threads(1);
    const World world;
    SmallReplica small{world.run, world.task, 5};
    (void)world.sum(small, 20, 28, 4);
    CHECK(small.asked == std::vector<std::uint64_t>{20, 8, 4, 4, 4, 4, 4, 4, 4});
    SmallReplica tiny{world.run, world.task, 3};
    MicroBatches batches{tiny, 8, 4};
    CHECK_THROWS_AS(batches.add(world.peer, StepIndex{0}, 0, 8, {}), DeviceError);
    CHECK(tiny.asked == std::vector<std::uint64_t>{8, 4});
}

TEST_CASE("the last, smaller micro-batch of a contribution does not shrink the later ones",
          "[training]") {
    set_compute_threads(1);
    const World world;
    SmallReplica replica{world.run, world.task, 1'000};
    MicroBatches batches{replica, 8, 1};
    CHECK(batches.add(world.peer, StepIndex{0}, 0, 3, {})->count == 3);
    CHECK(batches.size() == 8);
    CHECK(batches.add(world.peer, StepIndex{0}, 3, 100, {})->count == 8);
}

TEST_CASE("a device without memory for one sample, or one that is lost, is an error",
          "[training]") {
    const World world;
    SmallReplica replica{world.run, world.task, 0};
    MicroBatches batches{replica, 4, 1};
    CHECK_THROWS_AS(batches.add(world.peer, StepIndex{0}, 0, 4, {}), DeviceError);
    CHECK(replica.asked == std::vector<std::uint64_t>{4, 2, 1});
    const auto lost = [&] {
        throw DeviceError{DeviceFailure::kLost, "the GPU has failed"};
        return true;
    };
    SmallReplica other{world.run, world.task, 100};
    MicroBatches others{other, 4, 1};
    CHECK_THROWS_WITH(others.add(world.peer, StepIndex{0}, 0, 4, lost), "the GPU has failed");
    CHECK(other.asked == std::vector<std::uint64_t>{4});
    CHECK(others.size() == 4);
}

TEST_CASE("an interrupted micro-batch adds nothing", "[training]") {
    const World world;
    SmallReplica replica{world.run, world.task, 100};
    MicroBatches batches{replica, 4, 1};
    CHECK_FALSE(batches.add(world.peer, StepIndex{0}, 0, 4, [] { return true; }));
    CHECK(replica.take_sum().values == FloatVector(replica.element_count()));
}

}  // namespace
}  // namespace dedloc::training
