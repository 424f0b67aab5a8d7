// When a seat saves its state: as often as the volunteer wants, at most so many bytes a day, only
// what has moved, and a full disk is told once.
#include "boinc_app/seat/saver.hpp"

#include <catch2/catch.hpp>
#include <memory>

#include "peer/platform/files.hpp"
#include "tests/boinc_app/seat/decided_state.hpp"
#include "tests/file_size_limit.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::test {
namespace {

using std::chrono::seconds;

TEST_CASE("states are saved as often as wanted, and at most 8 GB a day", "[boinc]") {
    CHECK(seat::save_interval(3'000'000, seconds{60}) == seconds{60});
    CHECK(seat::save_interval(216'000'000, seconds{60}) == seconds{2'332});
    CHECK(seat::save_interval(216'000'000, seconds{7'200}) == seconds{7'200});
}

/// A saver whose worker answers at once, or when told to.
class Saved {
  public:
    explicit Saved(std::uint64_t bytes = 0)
        : saver_({.path = path(),
                  .run = formats::run_id(world.run),
                  .bytes = bytes,
                  .ask_for_copy =
                      [this] {
                          ++asked;
                          if (answers) saver_.take(world.to_save(world.state(step)));
                      },
                  .place_of = [this](StepIndex of) -> std::optional<seat::StatePlace> {
                      if (!is_known) return std::nullopt;
                      return world.place(of);
                  }}) {}

    std::filesystem::path path() const { return folder.path() / "saved_state"; }
    std::optional<std::uint64_t> on_disk() const {
        if (!std::filesystem::exists(path())) return std::nullopt;
        return seat::read_state_file(path(), world.run).place.step().value();
    }
    seat::Saver& saver() { return saver_; }
    /// Time, in seconds after the start.
    static seat::Saver::Clock::time_point at(int second) {
        return seat::Saver::Clock::time_point{} + seconds{1'000'000 + second};
    }
    /// Waits for the end of the write that is under way, and starts no other.
    void wait() { saver_.save_at_end(at(0), StepIndex{0}, seconds{30}); }

    DecidedRun world;
    TemporaryDirectory folder;
    StepIndex step{5};
    int asked = 0;
    bool answers = true;
    bool is_known = true;

  private:
    seat::Saver saver_;
};

TEST_CASE("a state is saved after the interval, and again only if it has moved", "[boinc]") {
    Saved saved;
    saved.saver().save_when_due(Saved::at(0), StepIndex{5}, seconds{60});
    saved.saver().save_when_due(Saved::at(59), StepIndex{5}, seconds{60});
    CHECK(saved.asked == 0);
    saved.saver().save_when_due(Saved::at(60), StepIndex{5}, seconds{60});
    saved.wait();
    CHECK(saved.asked == 1);
    CHECK(saved.on_disk() == 5);
    CHECK(saved.saver().take_saved());
    CHECK_FALSE(saved.saver().take_saved());
    saved.saver().save_when_due(Saved::at(600), StepIndex{5}, seconds{60});
    CHECK(saved.asked == 1);
    saved.step = StepIndex{6};
    saved.saver().save_when_due(Saved::at(601), StepIndex{6}, seconds{60});
    saved.wait();
    CHECK(saved.on_disk() == 6);
}

TEST_CASE("no second copy is asked for before the first one is written", "[boinc]") {
    Saved saved;
    saved.answers = false;
    saved.saver().save_when_due(Saved::at(0), StepIndex{5}, seconds{1});
    for (int second = 1; second < 9; ++second) {
        saved.saver().save_when_due(Saved::at(second), StepIndex{5}, seconds{1});
    }
    CHECK(saved.asked == 1);
    saved.saver().take(std::nullopt);  // the worker holds no state
    saved.saver().save_when_due(Saved::at(10), StepIndex{5}, seconds{1});
    CHECK(saved.asked == 2);
    saved.saver().take(std::nullopt);
    CHECK_FALSE(saved.on_disk());
}

TEST_CASE("at the end of a process a state is saved after a quarter of the interval of its size",
          "[boinc]") {
    Saved saved{216'000'000};
    saved.saver().save_when_due(Saved::at(0), StepIndex{5}, seconds{60});
    saved.saver().save_at_end(Saved::at(580), StepIndex{5}, seconds{30});
    CHECK(saved.asked == 0);
    saved.saver().save_at_end(Saved::at(584), StepIndex{5}, seconds{30});
    CHECK(saved.on_disk() == 5);
}

TEST_CASE("a state whose decision is not known here is not saved", "[boinc]") {
    Saved saved;
    saved.is_known = false;
    saved.saver().save_at_end(Saved::at(0), StepIndex{5}, seconds{30});
    CHECK(saved.asked == 1);
    CHECK_FALSE(saved.on_disk());
}

TEST_CASE("after a full disk the next state is saved", "[boinc]") {
    Saved saved;
    {
        const FileSizeLimit full{10'000};
        saved.saver().save_at_end(Saved::at(0), StepIndex{5}, seconds{30});
        saved.saver().save_at_end(Saved::at(100), StepIndex{5}, seconds{30});
        CHECK(saved.asked == 2);
        CHECK_FALSE(saved.on_disk());
        CHECK_FALSE(saved.saver().take_saved());
    }
    saved.saver().save_at_end(Saved::at(200), StepIndex{5}, seconds{30});
    CHECK(saved.on_disk() == 5);
}

TEST_CASE("a saved state that a new generation has made void is deleted", "[boinc]") {
    Saved saved;
    saved.saver().save_at_end(Saved::at(0), StepIndex{5}, seconds{30});
    saved.saver().generation_begun(0, StepIndex{0});  // its own
    saved.saver().generation_begun(1, StepIndex{5});  // goes on from it
    CHECK(saved.on_disk() == 5);
    saved.saver().generation_begun(2, StepIndex{4});
    CHECK_FALSE(saved.on_disk());
}

}  // namespace
}  // namespace dedloc::test
