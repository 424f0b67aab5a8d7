// The verdict on each kind of uploaded checkpoint: good ones, late ones, cut ones, and all that a
// liar may send. One line of the printed table for each.
#include "project_server/backbone/uploaded_checkpoint.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/training_memory.hpp"
#include "project_server/runs/checkpoints.hpp"
#include "project_server/runs/find_run.hpp"
#include "tests/project_server/runs/stored_run.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;
using backbone::JudgedUpload;
using backbone::UploadVerdict;

/// A run whose ledger ends at step 6, and the states of its steps.
class Uploads {
  public:
    Uploads() {
        states_[0] = copy();
        for (std::uint64_t step = 1; step <= 6; ++step) {
            stored.step();
            states_[step] = copy();
        }
    }

    /// The file that an honest job uploads.
    Buffer honest(std::uint64_t step) const { return file(head_of(step), states_.at(step)); }
    formats::CheckpointHead head_of(std::uint64_t step) const {
        const Buffer& bytes = states_.at(step);
        return {.step = StepIndex{step},
                .digest = state::state_digest(StepIndex{step}, bytes),
                .elements = stored.state().element_count()};
    }
    Buffer file(const formats::CheckpointHead& head, const Buffer& bytes) const {
        return file_of(formats::run_id(stored.run()), head, bytes);
    }
    static Buffer file_of(const RunId& run, const formats::CheckpointHead& head,
                          const Buffer& bytes) {
        Buffer all = formats::encode_checkpoint_head(run, head);
        all.insert(all.end(), bytes.begin(), bytes.end());
        return all;
    }
    const Buffer& state(std::uint64_t step) const { return states_.at(step); }

    JudgedUpload judge(const Buffer& upload, bool was_asked = true) const {
        platform::replace_file(path(), upload);
        const auto proof = read_proof(find_run(stored.project(), "small"));
        return backbone::judge_upload(
            path(), stored.run(), proof,
            {.was_asked = was_asked,
             .newest = backbone::newest_proven(stored.folder() / "checkpoints",
                                               formats::run_id(stored.run()), proof)});
    }
    /// Checks the verdict and prints its line of the table.
    void expect(const char* upload, const Buffer& bytes, UploadVerdict verdict,
                const std::string& reason, bool was_asked = true) const {
        const JudgedUpload judged = judge(bytes, was_asked);
        std::printf("| %-52s | %-8s | %s |\n", upload, name_of(judged.verdict),
                    judged.reason.c_str());
        INFO(upload << ": " << name_of(judged.verdict) << ", " << judged.reason);
        CHECK(judged.verdict == verdict);
        CHECK_THAT(judged.reason, Catch::Contains(reason));
    }
    fs::path path() const { return folder_.path() / "upload"; }

    StoredRun stored;

  private:
    Buffer copy() const {
        const auto bytes = stored.state().bytes();
        return {bytes.begin(), bytes.end()};
    }

    std::map<std::uint64_t, Buffer> states_;
    const TemporaryDirectory folder_;
};

Buffer cut(Buffer file, std::size_t size) {
    file.resize(size);
    return file;
}

Buffer flipped(Buffer file, std::size_t place) {
    file.at(place) ^= std::byte{1};
    return file;
}

TEST_CASE("each kind of uploaded checkpoint has its verdict", "[server]") {
    start_log("test", LogLevel::kError);
    Uploads run;
    const std::size_t whole = run.honest(3).size();
    REQUIRE(formats::checkpoint_bytes(run.stored.run()) == whole);
    using enum UploadVerdict;
    run.expect("a proven state, and the project holds none", run.honest(3), kAccepted, "step 3");
    run.expect("the state of the last decision", run.honest(6), kPending, "ends at its step 6");
    run.expect("a good state of a job that was not asked", run.honest(3), kUnasked, "not asked",
               false);

    run.expect("cut in the vectors", cut(run.honest(3), whole - 1), kPartial, "bytes");
    run.expect("cut in the head", cut(run.honest(3), 50), kPartial, "it has 50 of");
    run.expect("an empty file", {}, kPartial, "it has 0 of");

    run.expect("a bit of the vectors differs", flipped(run.honest(3), whole - 7), kForged,
               "do not have the digest that its head names");
    run.expect("the right digest in the head, other bytes",
               run.file(run.head_of(3), Buffer(run.state(3).size())), kForged,
               "do not have the digest that its head names");
    run.expect("a state of another step under this step's digest",
               run.file(run.head_of(3), run.state(4)), kForged,
               "do not have the digest that its head names");
    formats::CheckpointHead own = run.head_of(3);
    own.digest = state::state_digest(StepIndex{3}, Buffer(run.state(3).size(), std::byte{7}));
    run.expect("consistent in itself, not in the ledger",
               run.file(own, Buffer(run.state(3).size(), std::byte{7})), kForged,
               "the ledger has another state at step 3");
    formats::CheckpointHead future = run.head_of(6);
    future.step = StepIndex{9};
    run.expect("a step of the future", run.file(future, run.state(6)), kPending,
               "its step is 9, and the ledger ends at 6");
    future.step = StepIndex{~std::uint64_t{0}};
    run.expect("step 2^64 - 1", run.file(future, run.state(6)), kForged, "it claims step");
    run.expect("a bit of the head differs", flipped(run.honest(3), 60), kForged, "damaged head");
    run.expect("longer than a state", cut(run.honest(3), whole + 1), kForged, "bytes, and a state");
    formats::CheckpointHead huge = run.head_of(3);
    huge.elements = std::uint64_t{1} << 63;
    run.expect("2^63 elements in the head", run.file(huge, run.state(3)), kForged, "elements");
    huge.elements = run.head_of(3).elements + (std::uint64_t{1} << 62);
    run.expect("a length that overflows to the right one", run.file(huge, run.state(3)), kForged,
               "elements");
    formats::CheckpointHead other_vectors = run.head_of(3);
    other_vectors.vectors = 1;
    other_vectors.elements *= 3;
    run.expect("one vector of 3 N elements", run.file(other_vectors, run.state(3)), kForged,
               "another model");
    RunId other = formats::run_id(run.stored.run());
    other.bytes[0] ^= std::byte{1};
    run.expect("the head of another run", Uploads::file_of(other, run.head_of(3), run.state(3)),
               kForged, "a checkpoint of the run");
    run.expect("bytes that are no checkpoint", Buffer(whole, std::byte{'x'}), kForged,
               "not a checkpoint");

    // The project writes a checkpoint of its own.
    run.stored.save();  // step 6, not proven yet
    run.expect("newer than the newest proven one", run.honest(3), kAccepted, "step 3");
    run.stored.step();
    run.expect("older than what the project holds", run.honest(3), kStale,
               "holds the state of step 6");
    run.expect("what the project holds", run.honest(6), kStale, "holds the state of step 6");
    run.expect("older, and forged", run.file(own, Buffer(run.state(3).size(), std::byte{7})),
               kForged, "the ledger has another state at step 3");
}

TEST_CASE("an upload of a history that is void is stale, and others of its steps wait",
          "[server]") {
    start_log("test", LogLevel::kError);
    Uploads run;
    run.stored.go_back(StepIndex{3}, run.head_of(3).digest);
    using enum UploadVerdict;
    run.expect("a state that a generation has made void", run.honest(5), kStale,
               "made its step 5 void");
    run.expect("the state that the generation begins with", run.honest(3), kAccepted, "step 3");
    formats::CheckpointHead future = run.head_of(5);
    future.digest.bytes[3] ^= std::byte{1};
    run.expect("a void step, another digest, not repeated yet", run.file(future, run.state(5)),
               kPending, "its step is 5, and the ledger ends at 3");
}

TEST_CASE("an accepted upload is a checkpoint of the run whose source is named", "[server]") {
    start_log("test", LogLevel::kError);
    Uploads run;
    const JudgedUpload judged = run.judge(run.honest(4));
    REQUIRE(judged.verdict == UploadVerdict::kAccepted);
    const fs::path folder = run.stored.folder() / "checkpoints";
    const fs::path taken = backbone::take_upload(run.path(), folder, *judged.head,
                                                 "user 7, host 12, result small_1_0");
    CHECK_FALSE(fs::exists(run.path()));
    const backbone::RunFiles files = find_run(run.stored.project(), "small");
    const auto proof = read_proof(files);
    auto lines = checkpoints_of(files, proof);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].file.source == "user 7, host 12, result small_1_0");
    CHECK(lines[0].standing == backbone::Standing::kProven);
    CHECK(verify_checkpoint(files, proof, taken).is_proven);
    CHECK(run.judge(run.honest(4)).verdict == UploadVerdict::kStale);

    // A note that is too long or not text is not printed.
    platform::replace_file(backbone::source_note_of(taken), std::string(1'000, 'a'));
    CHECK(checkpoints_of(files, proof)[0].file.source == "unknown");
    platform::replace_file(backbone::source_note_of(taken), std::string_view{"\x1b[2J"});
    CHECK(checkpoints_of(files, proof)[0].file.source == "unknown");

    // The backbone's own ones displace it, and its note goes with it.
    for (int saved = 0; saved < 4; ++saved) {
        run.stored.step();
        run.stored.save();
    }
    CHECK_FALSE(fs::exists(taken));
    CHECK_FALSE(fs::exists(backbone::source_note_of(taken)));
    lines = checkpoints_of(files, read_proof(files));
    CHECK(lines[0].file.source.empty());
}

}  // namespace
}  // namespace dedloc::runs
