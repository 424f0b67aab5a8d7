// Fields of a run file that SwAV's optimizer needs: the ends of a schedule, frozen tensors and rows
// of unit length.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/run_file.hpp"
#include "tests/small_run.hpp"

namespace dedloc::formats {
namespace {

/// A run of LAMB, whose first tensor decays and has 1,000 rows.
RunFile plain_run() {
    RunFile run = tests::small_run(1);
    run.optimizer.learning_rate = 0.00176;
    run.optimizer.warmup_steps = 10;
    run.tensors = {{.name = "rows", .shape = {1'000, 128}, .decays = true},
                   {.name = "bias", .shape = {7}}};
    return run;
}

std::string replaced(std::string json, const std::string& from, const std::string& to) {
    const std::size_t at = json.find(from);
    REQUIRE(at != std::string::npos);
    return json.replace(at, from.size(), to);
}

std::string parse_fault(const std::string& json) {
    try {
        parse_run_file(json);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST_CASE("a schedule starts and ends at 0 unless the run file says other rates", "[wire]") {
    const std::string json = write_run_file(plain_run());
    for (const char* absent : {"start_learning_rate", "final_learning_rate"}) {
        CHECK(json.find(absent) == std::string::npos);
    }
    const auto with_fields = [&](const std::string& fields) {
        return replaced(json, "\"warmup_steps\":10", "\"warmup_steps\":10," + fields);
    };
    CHECK(run_id(parse_run_file(with_fields(
              "\"start_learning_rate\":0,\"final_learning_rate\":0.0"))) == run_id(plain_run()));
    RunFile run = plain_run();
    run.optimizer.start_learning_rate = 0.0003;
    run.optimizer.final_learning_rate = 0.00176;  // the peak
    CHECK(parse_run_file(with_fields("\"start_learning_rate\":0.0003,"
                                     "\"final_learning_rate\":0.00176")) == run);
    CHECK(parse_run_file(write_run_file(run)) == run);
    CHECK(run_id(run) != run_id(plain_run()));
    CHECK(parse_fault(with_fields("\"start_learning_rate\":0.0018")) ==
          "run file: field 'optimizer.start_learning_rate' must be a number from 0 to 0.00176");
    CHECK(parse_fault(with_fields("\"final_learning_rate\":-1e-9")) ==
          "run file: field 'optimizer.final_learning_rate' must be a number from 0 to 0.00176");
    CHECK(parse_fault(replaced(json, "\"warmup_steps\":10",
                               "\"warmup_steps\":0,\"start_learning_rate\":0.0003")) ==
          "run file: field 'optimizer.start_learning_rate' needs 'optimizer.warmup_steps' of at "
          "least 1");
    for (const char* schedule : {"constant", "inverse_sqrt"}) {
        CHECK(parse_fault(
                  replaced(with_fields("\"final_learning_rate\":0.0001"), "\"learning_rate\"",
                           "\"schedule\":\"" + std::string(schedule) + "\",\"learning_rate\"")) ==
              "run file: field 'optimizer.final_learning_rate' needs the schedule 'linear' or "
              "'cosine'");
    }
}

TEST_CASE("a tensor may have rows of unit length and be frozen at first", "[wire]") {
    const std::string json = write_run_file(plain_run());
    CHECK(json.find("unit_rows") == std::string::npos);
    CHECK(json.find("frozen_steps") == std::string::npos);
    const auto with_fields = [&](const std::string& fields) {
        return replaced(json, "\"decay\":true", "\"decay\":true," + fields);
    };
    CHECK(run_id(parse_run_file(with_fields("\"unit_rows\":false,\"frozen_steps\":0"))) ==
          run_id(plain_run()));
    RunFile run = plain_run();
    run.tensors[0].has_unit_rows = true;
    run.tensors[0].frozen_steps = 5'005;
    CHECK(parse_run_file(with_fields("\"frozen_steps\":5005,\"unit_rows\":true")) == run);
    CHECK(parse_run_file(write_run_file(run)) == run);
    std::set<RunId> ids{run_id(plain_run()), run_id(run)};
    run.tensors[0].has_unit_rows = false;
    ids.insert(run_id(run));
    run.tensors[0].frozen_steps = 0;
    CHECK(run_id(run) == run_id(plain_run()));
    CHECK(ids.size() == 3);
    const std::string field = "run file: field 'tensors[0].";
    CHECK(parse_fault(with_fields("\"unit_rows\":1")) ==
          field + "unit_rows' must be true or false");
    CHECK(parse_fault(with_fields("\"frozen_steps\":-1")) ==
          field + "frozen_steps' must be a whole number from 0 to 4294967296");
    CHECK(parse_fault(with_fields("\"frozen_steps\":4294967297")) ==
          field + "frozen_steps' must be a whole number from 0 to 4294967296");
    CHECK(parse_fault(with_fields("\"unit_row\":true")).find("'tensors[0].unit_row'") !=
          std::string::npos);
    run.tensors = {{.name = "bias", .shape = {7}, .has_unit_rows = true}};
    CHECK_THROWS_WITH(write_run_file(run), field +
                                               "unit_rows' needs a shape of at least two "
                                               "extents");
    run.tensors = {{.name = "a", .shape = {65'535, 2}, .has_unit_rows = true},
                   {.name = "b", .shape = {1, 2, 3}, .has_unit_rows = true},
                   {.name = "c", .shape = {70'000, 2}}};
    CHECK(parse_run_file(write_run_file(run)) == run);
    run.tensors[1].shape = {2, 3};
    CHECK_THROWS_WITH(
        write_run_file(run),
        "run file: field 'tensors' have more than 65536 rows of unit length together");
}

}  // namespace
}  // namespace dedloc::formats
