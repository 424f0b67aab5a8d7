// Tests of dedloc-plan: its input file, its report, its exit status.
#include <rapidjson/document.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "peer/base/error.hpp"
#include "peer/plan_tool/report.hpp"
#include "peer/platform/shell_word.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::plan;

namespace {

const std::string kPeer = R"({"name": "berlin", "upload_mbit": 20, "download_mbit": 100})";
const std::string kVector = R"("elements": 1000000, "codec": "fp16")";

std::string file_of(const std::string& peers, const std::string& rest = kVector) {
    return R"({"peers": [)" + peers + "], " + rest + "}";
}

std::string complaint_about(const std::string& text) {
    try {
        (void)parse_fleet("fleet.json", text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

std::string peers_of(const std::string& prefix, int count, const std::string& fields) {
    std::string text;
    for (int k = 0; k < count; ++k) {
        text += (k > 0 ? ", " : "") + (R"({"name": ")" + prefix) + std::to_string(k) + "\", " +
                fields + "}";
    }
    return text;
}

const std::string kAwsNotebook =
    peers_of("fast-", 4, R"("upload_mbit": 200, "download_mbit": 200, "samples_per_second": 10)") +
    ", " +
    peers_of("mid-", 8, R"("upload_mbit": 100, "download_mbit": 100, "samples_per_second": 10)") +
    ", " +
    peers_of("slow-", 4, R"("upload_mbit": 50, "download_mbit": 50, "samples_per_second": 1)");

struct Outcome {
    int status = -1;
    std::string output;
};

Outcome run_program(const std::string& arguments) {
    const std::string command =
        platform::shell_word(DEDLOC_PLAN_PROGRAM) + " " + arguments + " 2>&1";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe{popen(command.c_str(), "r"),
                                                     [](FILE*) { return 0; }};
    REQUIRE(pipe != nullptr);
    Outcome outcome;
    for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
        outcome.output += static_cast<char>(c);
    }
    const int status = pclose(pipe.get());
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

}  // namespace

TEST_CASE("a fleet's file is read with its defaults", "[server]") {
    const Fleet fleet =
        parse_fleet("fleet.json",
                    file_of(kPeer + R"(, {"name": "cellar", "upload_mbit": 0, "download_mbit": 1e3,
                             "contributes": false, "outbound_only": false},
                            {"name": "nat", "upload_mbit": 1, "download_mbit": 2,
                             "outbound_only": true, "samples_per_second": 2.5})",
                            R"("bytes": 2000000, "codec": "fp16", "average_codec": "int8",
                   "target_batch": 64, "latency_ms": 12.5)"));
    CHECK(fleet.names == std::vector<std::string>{"berlin", "cellar", "nat"});
    const planning::PlanRequest& round = fleet.training.round;
    CHECK(round.members[0] ==
          planning::Member{.upload = Bandwidth{2'500'000}, .download = Bandwidth{12'500'000}});
    CHECK(round.members[1] == planning::Member{.upload = std::nullopt,
                                               .download = Bandwidth{125'000'000},
                                               .contributes = false,
                                               .receives = false});
    CHECK(round.members[2] == planning::Member{.upload = Bandwidth{125'000},
                                               .download = Bandwidth{250'000},
                                               .is_reachable = false});
    CHECK(round.elements == 1'000'000);
    CHECK(round.contribution == planning::kHalf);
    CHECK(round.average == planning::kInt8);
    CHECK(round.latency == std::chrono::microseconds{12'500});
    CHECK(fleet.training.target_batch == 64);
    CHECK(fleet.training.samples_per_second == std::vector<double>{0, 0, 2.5});
}

TEST_CASE("errors in a fleet's file name the field and the peer", "[server]") {
    const auto peer = [](const std::string& fields) { return file_of("{" + fields + "}"); };
    const std::string links = R"("upload_mbit": 1, "download_mbit": 1)";
    const std::pair<std::string, std::string> cases[] = {
        {"[1]", "the whole must be an object"},
        {"{", "is not JSON"},
        {"{}", "'peers' is missing"},
        {file_of(""), "'peers' must be a list of 1 to 1024"},
        {file_of("3"), "'peers[0]' must be an object"},
        {peer(links), "'peers[0].name' is missing"},
        {peer(R"("name": "a", "download_mbit": 1)"), "'peers[0] (a).upload_mbit' is missing"},
        {peer(R"("name": "a", "upload_mbit": -1, "download_mbit": 1)"),
         "'peers[0] (a).upload_mbit' must be a number"},
        {peer(R"("name": "a", "upload_mbit": 1, "download_mbit": "fast")"),
         "'peers[0] (a).download_mbit' must be a number"},
        {peer(R"("name": "a", "contributes": 1, )" + links), "(a).contributes' must be true or"},
        {peer(R"("name": "a", "mood": 1, )" + links), "(a).mood' is not known"},
        {peer(R"("name": "a", "outbound_only": true, )" + links), "that is not outbound_only"},
        {file_of(kPeer + ", " + kPeer), "'peers[1].name' is 'berlin', as another"},
        {file_of(kPeer, R"("elements": 5)"), "'codec' is missing"},
        {file_of(kPeer, R"("elements": 5, "codec": "fp8")"), "'codec' must be fp32, fp16"},
        {file_of(kPeer, R"("codec": "fp16")"), "'elements' or field 'bytes' must be given"},
        {file_of(kPeer, R"("elements": 0, "codec": "fp16")"), "'elements' must be a whole number"},
        {file_of(kPeer, kVector + R"(, "target_batch": 5)"), "'target_batch' needs a contributing"},
        {file_of(kPeer, kVector + R"(, "latency_ms": -1)"), "'latency_ms' must be a number"},
        {file_of(kPeer, kVector + R"(, "colour": 1)"), "'colour' is not known"},
    };
    for (const auto& [text, expected] : cases) {
        const std::string complaint = complaint_about(text);
        INFO(text << " -> " << complaint);
        CHECK(complaint.find(expected) != std::string::npos);
        CHECK(complaint.find("fleet.json") == 0);
        CHECK(complaint.find('\n') == std::string::npos);
    }
}

TEST_CASE("the report has the times and the limiting links of a published fleet", "[server]") {
    const Fleet fleet = parse_fleet(
        "fleet.json",
        file_of(kAwsNotebook, R"("elements": 18000000, "codec": "fp16", "target_batch": 500)"));
    const std::string text = text_of(fleet, report_on(fleet));
    INFO(text);
    for (const char* const words :
         {"T* = 5.76 s", "slow-0 (upload), slow-1 (upload), slow-2 (upload) and slow-3 (upload)",
          "a parameter server on fast-0 21.6 s", "Another aggregator would not make it faster",
          "did not compute, it would take", "would be 90 %"}) {
        INFO(words);
        CHECK(text.find(words) != std::string::npos);
    }
}

TEST_CASE("the JSON report has the same results", "[server]") {
    const Fleet fleet = parse_fleet(
        "fleet.json",
        file_of(kAwsNotebook, R"("elements": 18000000, "codec": "fp16", "target_batch": 500)"));
    rapidjson::Document json;
    json.Parse(json_of(fleet, report_on(fleet)).c_str());
    REQUIRE_FALSE(json.HasParseError());
    CHECK(json["optimum_seconds"].GetDouble() == Approx(5.76));
    CHECK(json["peers"].Size() == 16);
    CHECK(json["peers"][12]["limit"] == "upload");
    CHECK(json["training"]["should_not_compute"].Size() >= 4);
    double share = 0;
    for (const auto& peer : json["peers"].GetArray()) share += peer["share"].GetDouble();
    CHECK(share == Approx(1));
    const auto& ranges = json["ranges"];
    CHECK(ranges[ranges.Size() - 1]["last_chunk"] == json["chunks"]);
}

TEST_CASE("the report says in words which peers the coordinator would call, and why", "[server]") {
    const std::string fast = peers_of(
        "fast", 8, R"("upload_mbit": 100, "download_mbit": 100, "samples_per_second": 10)");
    const auto report_with = [&](const std::string& last, const std::string& more = "") {
        const Fleet fleet = parse_fleet(
            "fleet.json",
            file_of(fast + R"(, {"name": "last", )" + last + "}",
                    R"("elements": 18000000, "codec": "fp16", "target_batch": 2400)" + more));
        const Report report = report_on(fleet);
        rapidjson::Document json;
        json.Parse(json_of(fleet, report).c_str());
        REQUIRE_FALSE(json.HasParseError());
        const auto& turns = json["training"]["turns"];
        const std::string turn = turns.Empty() ? "" : turns[0]["turn"].GetString();
        return std::pair{text_of(fleet, report), turn};
    };
    const auto check = [](const std::pair<std::string, std::string>& report,
                          const std::string& words, const std::string& turn) {
        INFO(report.first);
        CHECK(report.first.find(words) != std::string::npos);
        CHECK(report.second == turn);
    };
    check(report_with(R"("upload_mbit": 100, "download_mbit": 100, "samples_per_second": 10)"),
          "would leave out none", "");
    check(report_with(R"("upload_mbit": 5, "download_mbit": 5, "samples_per_second": 10)"),
          "let last rest", "rest");
    check(report_with(R"("upload_mbit": 100, "download_mbit": 100, "samples_per_second": 0.5,
                         "micro_batch_seconds": 40)"),
          "call last when a micro-batch is done", "when-done");
    check(report_with(R"("upload_mbit": 2500, "download_mbit": 2500, "samples_per_second": 0.5,
                         "micro_batch_seconds": 4000)"),
          "have last only reduce", "reduce-only");
    check(report_with(R"("upload_mbit": 30, "download_mbit": 30, "samples_per_second": 10)",
                      R"(, "overlap": true)"),
          "would leave out none", "");
}

TEST_CASE("a round of a small fleet is simulated", "[server]") {
    const Fleet fleet = parse_fleet(
        "fleet.json", file_of(peers_of("p", 3, R"("upload_mbit": 20, "download_mbit": 50)"),
                              R"("elements": 200000, "codec": "fp32", "latency_ms": 10)"));
    Report report = report_on(fleet);
    report.simulated = simulated_on(fleet);
    const SimulatedRounds& played = report.simulated->played;
    REQUIRE(played.rounds.size() == 1);
    CHECK(played.request.members.size() == 4);
    // Not faster than T*, and not much slower than the plan's forecast with its messages.
    const SimulatedRound& round = played.rounds.front();
    CHECK(round.moved >= played.plan.optimum * 95 / 100);
    CHECK(round.moved <= round.committed);
    CHECK(round.committed <= played.plan.forecast.round * 3 / 2 + std::chrono::milliseconds{300});
    CHECK(text_of(fleet, report).find("until all have taken the step") != std::string::npos);
    CHECK(json_of(fleet, report).find("\"committed_seconds\"") != std::string::npos);
}

TEST_CASE("the exit status distinguishes bad files from wrong arguments", "[server]") {
    const TemporaryDirectory temporary;
    const std::filesystem::path& folder = temporary.path();
    const std::string good = platform::shell_word(folder / "fleet.json");
    std::ofstream{folder / "fleet.json"} << file_of(kPeer);
    std::ofstream{folder / "bad.json"} << file_of(kPeer, R"("elements": 1)");
    CHECK(run_program(good).status == 0);
    CHECK(run_program(good + " --json").output.front() == '{');
    CHECK(run_program("--help").status == 0);
    const Outcome bad = run_program(platform::shell_word(folder / "bad.json"));
    CHECK(bad.status == 1);
    CHECK(bad.output == "dedloc-plan: bad.json: field 'codec' is missing\n");
    CHECK(run_program(platform::shell_word(folder / "none.json")).status == 1);
    CHECK(run_program(platform::shell_word(folder)).status == 1);
    CHECK(run_program("").status == 2);
    CHECK(run_program(good + " --bogus").status == 2);
}
