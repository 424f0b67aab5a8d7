// When and what a seat uploads: only if it is asked, only a job that declares the file, within the
// volunteer's limit, once, and exactly the checkpoint of the state that it has saved.
#include "boinc_app/seat/upload.hpp"

#include <catch2/catch.hpp>
#include <thread>

#include "peer/formats/training_memory.hpp"
#include "peer/platform/files.hpp"
#include "tests/boinc_app/runtime/played_runtime.hpp"
#include "tests/boinc_app/seat/decided_state.hpp"
#include "tests/file_size_limit.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::test {
namespace {

using std::chrono::seconds;

/// A seat's saver and upload, with a worker that answers at once.
class Uploading {
  public:
    explicit Uploading(const runtime::HostLimits& limits = {})
        : runtime_("job_0", {}, limits),
          saver_({.path = slot_.path() / "saved_state",
                  .run = formats::run_id(world.run),
                  .bytes = 0,
                  .ask_for_copy = [this] { saver_.take(world.to_save(world.state(StepIndex{5}))); },
                  .place_of = [this](StepIndex step) { return world.place(step); }}),
          upload_(saver_, runtime_, formats::checkpoint_bytes(world.run),
                  [this](const std::string& line) { told.push_back(line); }) {}

    PlayedRuntime& runtime() { return runtime_; }
    seat::Upload& upload() { return upload_; }
    void declare_output() { runtime_.take_uploads(project.path()); }
    void save() { saver_.save_at_end(seat::Saver::Clock::time_point{}, StepIndex{5}, seconds{30}); }
    /// Goes on until `count` sentences were told; false after ten seconds.
    bool tells(std::size_t count) {
        for (int look = 0; look < 1'000 && told.size() < count; ++look) {
            upload_.go_on(true);
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
        return told.size() >= count;
    }
    std::filesystem::path file() const { return project.path() / seat::kCheckpointFile; }

    DecidedRun world;
    TemporaryDirectory project;
    std::vector<std::string> told;

  private:
    TemporaryDirectory slot_;
    PlayedRuntime runtime_;
    seat::Saver saver_;
    seat::Upload upload_;
};

TEST_CASE("a seat that is asked uploads the checkpoint of its saved state, once", "[boinc]") {
    Uploading seat;
    seat.declare_output();
    seat.upload().go_on(true);  // before a state is saved
    CHECK(seat.told.empty());
    seat.save();
    REQUIRE(seat.tells(2));
    CHECK_THAT(seat.told[0], Catch::Contains("sending that of step 5"));
    CHECK_THAT(seat.told[1], Catch::Contains("has received"));
    const seat::CopiedState state = seat.world.state(StepIndex{5});
    Buffer expected = formats::encode_checkpoint_head(formats::run_id(seat.world.run), state.head);
    expected.insert(expected.end(), state.bytes->begin(), state.bytes->end());
    CHECK((platform::read_file(seat.file(), 1 << 24) == expected));
    for (int again = 0; again < 3; ++again) seat.upload().go_on(true);
    CHECK(seat.runtime().uploads() == 1);
}

TEST_CASE("a seat that is not asked, or whose job declares no such file, uploads nothing",
          "[boinc]") {
    Uploading unasked;
    unasked.declare_output();
    unasked.save();
    unasked.upload().go_on(false);
    Uploading undeclared;
    undeclared.save();
    undeclared.upload().go_on(true);
    for (Uploading* seat : {&unasked, &undeclared}) {
        CHECK(seat->told.empty());
        CHECK(seat->runtime().uploads() == 0);
    }
    CHECK_FALSE(std::filesystem::exists(unasked.file()));
}

TEST_CASE("a volunteer's low limit of bandwidth forbids an upload", "[boinc]") {
    Uploading seat{runtime::HostLimits{.upload = Bandwidth{1}}};
    seat.declare_output();
    seat.save();
    REQUIRE(seat.tells(1));
    CHECK_THAT(seat.told[0], Catch::Contains("limit of bandwidth does not allow"));
    CHECK_FALSE(std::filesystem::exists(seat.file()));
    CHECK(seat.runtime().uploads() == 0);
}

TEST_CASE("a full disk is one sentence, and nothing is uploaded", "[boinc]") {
    Uploading seat;
    seat.declare_output();
    seat.save();
    const FileSizeLimit full{10'000};
    REQUIRE(seat.tells(1));
    CHECK_THAT(seat.told[0], Catch::Contains("the state is not sent to the project"));
    CHECK_FALSE(std::filesystem::exists(seat.file()));
    CHECK(seat.runtime().uploads() == 0);
}

}  // namespace
}  // namespace dedloc::test
