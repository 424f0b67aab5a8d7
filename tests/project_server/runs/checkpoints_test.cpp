#include <catch2/catch.hpp>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/runs/checkpoints.hpp"
#include "project_server/runs/find_run.hpp"
#include "tests/project_server/runs/stored_run.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;

Verdict verdict_of(const StoredRun& stored, const fs::path& file) {
    const backbone::RunFiles files = find_run(stored.project(), "small");
    return verify_checkpoint(files, read_proof(files), file);
}

void flip(const fs::path& path, std::uint64_t offset) {
    std::fstream file{path, std::ios::binary | std::ios::in | std::ios::out};
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
}

TEST_CASE("a state is proven by the ledger once the next step is decided", "[server]") {
    StoredRun stored;
    stored.step();
    const fs::path file = stored.save();
    const Verdict before = verdict_of(stored, file);
    CHECK_FALSE(before.is_proven);
    CHECK(before.is_pending);
    CHECK_THAT(before.sentence, Catch::Contains("not proven yet"));
    stored.step();
    const Verdict after = verdict_of(stored, file);
    CHECK(after.is_proven);
    CHECK_THAT(after.sentence, Catch::Contains("the state of the run small at step 1"));
    // From a folder with run.json and ledger alone.
    const TemporaryDirectory elsewhere;
    for (const char* name : {"run.json", "ledger"}) {
        fs::copy_file(stored.folder() / name, elsewhere.path() / name);
    }
    const backbone::RunFiles files = backbone::read_run_files(elsewhere.path());
    CHECK(verify_checkpoint(files, read_proof(files), file).is_proven);
}

TEST_CASE("a file that is not the proven state is refused with its reason", "[server]") {
    start_log("test", LogLevel::kError);
    StoredRun stored;
    stored.step();
    const fs::path file = stored.save();
    stored.step();
    stored.step();
    const auto size = fs::file_size(file);
    const auto refuses = [&](const std::string& reason) {
        const Verdict verdict = verdict_of(stored, file);
        CHECK_FALSE(verdict.is_proven);
        CHECK_FALSE(verdict.is_pending);
        CHECK_THAT(verdict.sentence, Catch::Contains(reason));
    };
    SECTION("a byte of the parameters or of the moments") {
        for (const std::uint64_t offset : {std::uint64_t{200}, size / 2, size - 1}) {
            flip(file, offset);
            refuses("damaged");
            flip(file, offset);
        }
        CHECK(verdict_of(stored, file).is_proven);
    }
    SECTION("any byte of the head") {
        for (std::uint64_t offset = 0; offset < 104; ++offset) {
            flip(file, offset);
            CHECK_FALSE(verdict_of(stored, file).is_proven);
            flip(file, offset);
        }
    }
    SECTION("cut") {
        for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{103},
                                           std::uint64_t{104}, size - 1, size - 12}) {
            fs::resize_file(file, length);
            CHECK_FALSE(verdict_of(stored, file).is_proven);
        }
    }
    SECTION("another file") {
        std::ofstream{file} << "DEDLOCLG and more than a hundred and four bytes, so that it is not "
                               "merely too short to be looked at";
        refuses("not a checkpoint");
    }
    SECTION("another run's") {
        StoredRun other;
        other.step();
        fs::copy_file(other.save(), file, fs::copy_options::overwrite_existing);
        refuses("a checkpoint of the run");
    }
}

TEST_CASE("a file that agrees with itself but not with the ledger is refused", "[server]") {
    StoredRun stored;
    stored.step();
    const fs::path file = stored.save();
    stored.step();
    stored.step();
    const auto refuses = [&](std::uint64_t step, std::uint64_t elements,
                             const std::string& reason) {
        const Buffer bytes(12 * elements, std::byte{1});
        const formats::CheckpointHead head{.step = StepIndex{step},
                                           .digest = state::state_digest(StepIndex{step}, bytes),
                                           .elements = elements};
        Buffer all = formats::encode_checkpoint_head(formats::run_id(stored.run()), head);
        all.insert(all.end(), bytes.begin(), bytes.end());
        platform::replace_file(file, all);
        const Verdict verdict = verdict_of(stored, file);
        CHECK_FALSE(verdict.is_proven);
        CHECK_FALSE(verdict.is_pending);
        CHECK_THAT(verdict.sentence, Catch::Contains(reason));
    };
    const std::uint64_t elements = stored.state().element_count();
    refuses(1, elements, "the ledger has another state at step 1");
    refuses(9, elements, "it claims step 9, and the ledger ends at 3");
    refuses(1, elements + 1, "not a state of this run");
}

TEST_CASE("a ledger that another key has signed proves nothing", "[server]") {
    StoredRun stored;
    stored.step();
    stored.save();
    stored.step(KeyPair::generate());
    const backbone::RunFiles files = find_run(stored.project(), "small");
    CHECK_THROWS_WITH(read_proof(files),
                      Catch::Contains("at step 1") && Catch::Contains("not signed by a majority"));
}

TEST_CASE("the last state of a run is proven by the voters' certificate", "[server]") {
    StoredRun stored;
    stored.step();
    const fs::path file = stored.save();
    SECTION("signed by the voter") {
        stored.certify(stored.state().digest(), stored.voter());
        CHECK(verdict_of(stored, file).is_proven);
    }
    SECTION("of another state") {
        stored.certify(blake2b(bytes_of("another")), stored.voter());
        CHECK_THAT(verdict_of(stored, file).sentence,
                   Catch::Contains("the ledger has another state at step 1"));
    }
    SECTION("signed by another key") {
        stored.certify(stored.state().digest(), KeyPair::generate());
        CHECK_THROWS_WITH(verdict_of(stored, file),
                          Catch::Contains("the last state is not signed"));
    }
}

TEST_CASE("a run file that names the first state proves it before any step", "[server]") {
    const Digest start = StoredRun{}.state().digest();  // follows from the seed of all these runs
    StoredRun stored{16, 3, start};
    CHECK(verdict_of(stored, stored.save()).is_proven);
    stored.step();
    CHECK(read_proof(find_run(stored.project(), "small")).head().step == StepIndex{1});
    StoredRun other{16, 3, blake2b(bytes_of("another"))};
    CHECK_THAT(verdict_of(other, other.save()).sentence,
               Catch::Contains("another state at step 0"));
    other.step();
    CHECK_THROWS_WITH(read_proof(find_run(other.project(), "small")),
                      Catch::Contains("starts from another state"));
}

TEST_CASE("the list names every checkpoint with its standing", "[server]") {
    StoredRun stored;
    for (int step = 0; step < 3; ++step) {
        stored.step();
        stored.save();
    }
    const backbone::RunFiles files = find_run(stored.project(), "small");
    const auto lines = checkpoints_of(files, read_proof(files));
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].file.head.step == StepIndex{3});
    CHECK(lines[0].standing == backbone::Standing::kLast);
    CHECK(lines[1].standing == backbone::Standing::kProven);
    CHECK(lines[2].standing == backbone::Standing::kProven);
    CHECK_THROWS_WITH(find_run(stored.project(), "none"), Catch::Contains("no run none"));
    CHECK_THROWS_AS(find_run(stored.project(), "../runs/small"), InputError);
    fs::remove(stored.folder() / "ledger");
    CHECK_THROWS_WITH(read_proof(files), Catch::Contains("has no ledger yet"));
}

}  // namespace
}  // namespace dedloc::runs
