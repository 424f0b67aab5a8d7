// The file of a run's mixture, its added sources, and what the project refuses to sign.
#include "project_server/backbone/next_mixture.hpp"

#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "peer/formats/added_source.hpp"
#include "peer/platform/files.hpp"
#include "project_server/run_sources.hpp"
#include "tests/peer/wire/samples.hpp"
#include "tests/small_run.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::backbone {
namespace {

using server::read_mixture;
using server::write_mixture;

formats::RunFile mixed_run() {
    formats::RunFile run;
    run.name = "mixed";
    run.steps = 1'000;
    run.project_key = tests::test_key().public_key();
    run.sources = {{"wiki", 230'000, ""}, {"web", 770'000, ""}};
    return run;
}

SharedMixture signed_after(const SharedMixture& last, const MixtureOrder& order, std::uint64_t step,
                           const formats::RunFile& run = mixed_run()) {
    return std::make_shared<const SignedMixture>(
        next_mixture(last, last, order, StepIndex{step}, run, tests::test_key()));
}

TEST_CASE("a change begins some steps ahead, and replaces those of later steps", "[server]") {
    const auto first = signed_after(nullptr, {.weights = {1, 1}, .from = {}}, 10);
    CHECK(first->version == 1);
    REQUIRE(first->changes.size() == 1);
    CHECK(first->changes[0].from == StepIndex{10 + kMixtureLead});
    const auto second = signed_after(first, {.weights = {3, 1}, .from = 500}, 20);
    const auto third = signed_after(second, {.weights = {0, 1}, .from = 100}, 20);
    CHECK(third->version == 3);
    REQUIRE(third->changes.size() == 2);
    CHECK(third->changes[0] == first->changes[0]);
    CHECK(third->changes[1].from == StepIndex{100});
    CHECK(is_signed(formats::run_id(mixed_run()), mixed_run().project_key, *third));
}

TEST_CASE("a change that cannot be is refused in one sentence", "[server]") {
    const auto refusal_of = [](const MixtureOrder& order, const formats::RunFile& run) {
        try {
            signed_after(nullptr, order, 10, run);
        } catch (const InputError& error) {
            return std::string{error.what()};
        }
        return std::string{"signed"};
    };
    const formats::RunFile run = mixed_run();
    CHECK(refusal_of({.weights = {1, 1}, .from = 13}, run) == "signed");
    CHECK(refusal_of({.weights = {1, 1}, .from = 12}, run) ==
          "the run mixed has done 10 steps: a change can begin with step 13, not with 12");
    CHECK(refusal_of({.weights = {1, 1}, .from = 1'000}, run) ==
          "the run mixed ends with step 1000, before a change at step 1000");
    for (const std::vector<std::uint64_t>& weights :
         {std::vector<std::uint64_t>{}, {1}, {1, 1, 1}, {0, 0}, {1, 1'000'001}}) {
        CHECK_THAT(refusal_of({.weights = weights, .from = {}}, run),
                   Catch::Contains("a weight for each source"));
    }
    formats::RunFile plain = run;
    plain.sources.clear();
    CHECK(refusal_of({.weights = {1}, .from = {}}, plain) == "the run mixed has no sources to mix");
    SharedMixture last;
    for (std::uint64_t i = 0; i < wire::kMaxMixtureChanges; ++i) {
        last = signed_after(last, {.weights = {1, 1}, .from = 20 + i}, 10);
    }
    CHECK_THROWS_WITH(signed_after(last, {.weights = {1, 1}, .from = 900}, 10),
                      "the mixture of a run can change 64 times");
}

/// The folder of a run, in which a source with one shard has been put.
struct AddedFolder {
    TemporaryDirectory folder;
    formats::AddedSource source{
        .name = "hindi", .licence = "CC0", .shards = {{.name = "h", .digest = {}, .bytes = 5}}};
    Digest digest = formats::digest_of(source);

    AddedFolder() {
        std::filesystem::create_directories(folder.path() / "shards");
        platform::replace_file(folder.path() / "shards" / "h", std::string_view{"12345"});
        server::write_source(folder.path(), source);
    }
    std::optional<SignedMixture> next(const SharedMixture& last, const Digest& another) const {
        return next_addition(last, last, another, folder.path(), mixed_run(), tests::test_key());
    }
    SharedMixture after(const SharedMixture& last) const {
        return std::make_shared<const SignedMixture>(next(last, digest).value());
    }
};

TEST_CASE("an added source is signed once, and the changes stay", "[server]") {
    const AddedFolder added;
    const auto first = signed_after(nullptr, {.weights = {1, 1}, .from = {}}, 10);
    const auto second = added.after(first);
    CHECK(second->version == 2);
    CHECK(second->changes == first->changes);
    CHECK(second->added == std::vector<Digest>{added.digest});
    CHECK(is_signed(formats::run_id(mixed_run()), mixed_run().project_key, *second));
    CHECK_FALSE(added.next(second, added.digest));
    // From now on a mixture has three weights, and the list keeps the source.
    const auto third = signed_after(second, {.weights = {1, 1, 2}, .from = {}}, 30);
    CHECK(third->added == second->added);
    CHECK(third->changes.size() == 2);
    CHECK_THROWS_WITH(signed_after(second, {.weights = {1, 1}, .from = {}}, 30),
                      Catch::Contains("a weight for each source"));
    CHECK_THROWS_WITH(signed_after(first, {.weights = {1, 1, 2}, .from = {}}, 30),
                      Catch::Contains("a weight for each source"));
}

TEST_CASE("a source whose files are absent, others, or do not fit is not signed", "[server]") {
    AddedFolder added;
    const auto shard = added.folder.path() / "shards" / "h";
    CHECK_THROWS_WITH(added.next(nullptr, blake2b(bytes_of("x"))), Catch::Contains("added"));
    platform::replace_file(shard, std::string_view{"1234"});
    CHECK_THROWS_WITH(added.next(nullptr, added.digest),
                      Catch::Contains("is absent or has another size"));
    std::filesystem::remove(shard);
    CHECK_THROWS_WITH(added.next(nullptr, added.digest), Catch::Contains("is absent"));
    platform::replace_file(shard, std::string_view{"12345"});
    // Bytes of another source under its name.
    const auto file = server::source_file(added.folder.path(), added.digest);
    formats::AddedSource other = added.source;
    other.licence = "all rights reserved";
    platform::replace_file(file, formats::write_added_source(other));
    CHECK_THROWS_WITH(added.next(nullptr, added.digest),
                      Catch::Contains("is not the file of the source"));
    server::write_source(added.folder.path(), added.source);
    // A second one of the same name.
    server::write_source(added.folder.path(), other);
    CHECK_THROWS_WITH(added.next(added.after(nullptr), formats::digest_of(other)),
                      Catch::Contains("it has a source of this name"));
}

TEST_CASE("a run is read with the sources that its list names", "[server]") {
    const AddedFolder added;
    const auto path = added.folder.path();
    formats::RunFile run = tests::small_run();
    run.project_key = tests::test_key().public_key();
    run.sources = mixed_run().sources;
    run.shards = {{.name = "s0", .digest = blake2b(bytes_of("s0")), .bytes = 1, .source = 0},
                  {.name = "s1", .digest = blake2b(bytes_of("s1")), .bytes = 1, .source = 1}};
    platform::replace_file(path / "run.json", formats::write_run_file(run));
    CHECK(server::read_run(path) == run);
    const auto list = sign_mixture(formats::run_id(run), 1, {}, tests::test_key(), {added.digest});
    write_mixture(server::mixture_file(path), list);
    const formats::RunFile whole = server::read_run(path);
    CHECK(whole.sources.back().name == "hindi");
    CHECK(formats::run_id(whole) == formats::run_id(run));
    CHECK(*read_mixture(server::mixture_file(path), whole) == list);
    // A voter's folder has the list, but not the files.
    std::filesystem::remove_all(path / "added");
    CHECK_THROWS_AS(server::read_run(path), InputError);
    const formats::RunFile elsewhere = server::read_run(path, server::Reader::kElsewhere);
    CHECK(elsewhere.added_sources == 1);
    CHECK_THAT(elsewhere.sources.back().name, Catch::StartsWith("added_"));
}

TEST_CASE("a file of another project, run or of damaged bytes is refused", "[server]") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "mixture";
    const formats::RunFile run = mixed_run();
    CHECK(read_mixture(file, run) == nullptr);
    const auto mixture = signed_after(nullptr, {.weights = {1, 1}, .from = {}}, 10);
    write_mixture(file, *mixture);
    CHECK(*read_mixture(file, run) == *mixture);
    formats::RunFile other = run;
    other.name = "other";
    CHECK_THROWS_WITH(read_mixture(file, other), Catch::Contains("is not signed by the project"));
    other = run;
    other.sources.push_back({"more", 1, ""});
    CHECK_THROWS_WITH(read_mixture(file, other), Catch::Contains("has other sources than the run"));
    Buffer bytes = encode_mixture(*mixture);
    bytes.pop_back();
    platform::replace_file(file, bytes);
    CHECK_THROWS_WITH(read_mixture(file, run), Catch::Contains("damaged"));
}

}  // namespace
}  // namespace dedloc::backbone
