#include <catch2/catch.hpp>

#include "peer/platform/files.hpp"
#include "peer/platform/process.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger_proof.hpp"
#include "tests/project_server/backbone/backbone_processes.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

TEST_CASE("a backbone coordinates a run to its end and keeps ledger, state and rows",
          "[server][integration]") {
    constexpr std::uint64_t kSteps = 12;
    World world{kSteps};
    world.start();
    Digest digest;
    {
        Member member{world.run()};
        REQUIRE(member.host.await_end());
        digest = member.host.final_digest();
    }
    // A late member learns that the run is finished, and gets the same state.
    {
        Member late{world.run()};
        REQUIRE(late.host.await_end());
        CHECK(late.host.final_digest() == digest);
    }
    CHECK(world.stop(SIGTERM) == 0);
    INFO(world.log());
    CHECK(world.committed_steps() == count_to(kSteps));
    const CheckpointStore store{world.run_folder() / "checkpoints", formats::run_id(world.run()),
                                3};
    REQUIRE_FALSE(store.list().empty());
    CHECK(store.list().front().head.step == StepIndex{kSteps});
    CHECK(store.list().front().head.digest == digest);
    // The voters' certificate proves the last state to a reader that knows only the run file.
    const LedgerProof proof{world.run_folder() / "ledger", world.run()};
    CHECK(proof.judge(store.list().front().head) == Standing::kProven);
}

TEST_CASE("a run starts from the state that its run file names", "[server][integration]") {
    constexpr std::uint64_t kSteps = 4;
    FloatVector given(3 * kElements);
    for (std::size_t i = 0; i < kElements; ++i) given[i] = 0.25F * static_cast<float>(i % 7);
    const auto bytes = std::as_bytes(std::span{given});
    const formats::CheckpointHead head = head_of_state(StepIndex{0}, bytes);
    World world{kSteps, head.digest};
    const CheckpointStore store{world.run_folder() / "checkpoints", formats::run_id(world.run()),
                                9};
    SECTION("which is there") {
        store.save(head, bytes);
        world.start(1);
        Member member{world.run()};
        const bool ended = member.host.await_end();
        INFO(world.log());
        REQUIRE(ended);
        CHECK(world.stop(SIGTERM) == 0);
        const LedgerProof proof{world.run_folder() / "ledger", world.run()};
        for (const auto& entry : store.list()) CHECK(proof.judge(entry.head) == Standing::kProven);
        CHECK(store.list().size() >= 3);
    }
    SECTION("which is missing") {
        world.start();
        CHECK(world.wait() == 2);
        CHECK_THAT(world.log(), Catch::Contains("starts from the state"));
    }
    SECTION("in whose place is another") {
        FloatVector other(3 * kElements, 1.0F);
        const auto wrong = std::as_bytes(std::span{other});
        store.save(head_of_state(StepIndex{0}, wrong), wrong);
        world.start();
        CHECK(world.wait() == 2);
        CHECK_THAT(world.log(), Catch::Contains("starts from the state"));
    }
}

TEST_CASE("a backbone killed in mid-run continues at the swarm's step", "[server][integration]") {
    constexpr std::uint64_t kSteps = 60;
    World world{kSteps};
    // If the backbone is killed before it signs the state after its last commit, it needs a
    // checkpoint of the state before.
    world.start(1);
    Member member{world.run()};
    REQUIRE(member.host.await_updates(8));
    CHECK(world.stop(SIGKILL) == -SIGKILL);
    world.start(1);
    const bool ended = member.host.await_end();
    INFO(world.log());
    REQUIRE(ended);
    CHECK(world.stop(SIGTERM) == 0);
    // The steps that the members have were not repeated.
    CHECK(world.committed_steps() == count_to(kSteps));
}

TEST_CASE("a backbone that cannot write its ledger reports one sentence and exits",
          "[server][integration]") {
    World world{3};
    std::filesystem::create_symlink("/dev/full", world.run_folder() / "ledger.tmp");
    world.start();
    CHECK(world.wait() == 1);
    CHECK_THAT(world.log(), Catch::Contains("No space left on device"));
}

TEST_CASE("a backbone takes the number of its links from the project, unless an option says it",
          "[server][integration]") {
    World world{3};
    server::write_settings(world.root(), {.name = "Links",
                                          .url = "http://127.0.0.1:1/",
                                          .listen = {{"127.0.0.1", 1}},
                                          .peer_listen = "127.0.0.1",
                                          .max_links = 900,
                                          .server_port = 1,
                                          .gateway_port = 1,
                                          .database_port = 1});
    if (GENERATE(false, true)) {
        const auto file = world.root() / "dedloc.json";
        std::string text = platform::read_text(file);
        platform::replace_file(file, text.replace(text.find("900"), 3, "0"));
        world.start();
        CHECK(world.wait() == 2);
        CHECK_THAT(world.log(),
                   Catch::Contains("'max_links' must be a whole number from 1 to 32000"));
        return;
    }
    // 1,024 descriptors are enough for 384 links, and the log says how many were wanted.
    const bool has_option = GENERATE(false, true);
    const std::vector<std::string> option{"--max-links", "700"};
    world.start_with_descriptors(1'024, has_option ? option : std::vector<std::string>{});
    Member member{world.run()};
    REQUIRE(member.host.await_updates(1));
    CHECK(world.stop(SIGTERM) == 0);
    CHECK_THAT(world.log(), Catch::Contains(std::string{"at most 384 links instead of "} +
                                            (has_option ? "700," : "900,")));
}

TEST_CASE("a second backbone of a run finds the folder locked and exits", "[server][integration]") {
    World world{3};
    world.start();
    Member member{world.run()};
    REQUIRE(member.host.await_updates(1));
    const std::string project = world.run_folder().parent_path().parent_path().string();
    const auto second = platform::run_to_end(
        {DEDLOC_BACKBONE_PROGRAM, "--project", project, "--run", "demo", "--no-database"});
    CHECK(second.status == 1);
    CHECK_THAT(second.output, Catch::Contains("in use"));
}
