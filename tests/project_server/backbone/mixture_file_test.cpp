// The file of a run's mixture, and what the project refuses to sign.
#include "project_server/backbone/mixture_file.hpp"

#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "tests/peer/wire/samples.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::backbone {
namespace {

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
