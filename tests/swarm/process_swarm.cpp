#include "tests/swarm/process_swarm.hpp"

#include <fcntl.h>
#include <poll.h>
#include <rapidjson/document.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "peer/platform/key_file.hpp"
#include "peer/platform/ports.hpp"
#include "peer/tool/files.hpp"

namespace dedloc::test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kShownOfALog = 2'500;

std::string tail_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    const std::string all = text.str();
    return all.substr(all.size() - std::min(all.size(), kShownOfALog));
}

std::string text_in(const rapidjson::Document& line, const char* field) {
    const auto found = line.FindMember(field);
    return found != line.MemberEnd() && found->value.IsString() ? found->value.GetString() : "";
}

std::uint64_t number_in(const rapidjson::Document& line, const char* field) {
    const auto found = line.FindMember(field);
    return found != line.MemberEnd() && found->value.IsUint64() ? found->value.GetUint64() : 0;
}

/// An address that a process can leave and listen on again.
std::string lasting_address() {
    return "127.0.0.1:" + std::to_string(platform::free_port("127.0.0.1"));
}

}  // namespace

ProcessSwarm::ProcessSwarm(ProcessSwarmOptions options)
    : options_(std::move(options)), seed_address_(lasting_address()) {
    Child create({options_.program, "create", run_file(), "--key", key_file("backbone"), "--bytes",
                  std::to_string(options_.bytes), "--steps", std::to_string(options_.steps),
                  "--target-batch", std::to_string(options_.target_batch), "--codec",
                  name_of(options_.codec)},
                 folder_.path() / "create.log");
    await("the run file", 20s, [&] { return create.status().has_value(); });
    INFO(tail_of(folder_.path() / "create.log"));
    REQUIRE(*create.status() == 0);
}

ProcessSwarm::~ProcessSwarm() = default;

void ProcessSwarm::start_seed() {
    seed_ = std::make_unique<Child>(
        std::vector<std::string>{options_.program, "seed", seed_address_, "--nodes",
                                 (folder_.path() / "nodes").string(), "--save-every", "5"},
        folder_.path() / "seed.log");
    await("the seed", 20s, [&] {
        for (const std::string& line : seed_->take_lines()) {
            rapidjson::Document json;
            json.Parse(line.c_str());
            seed_address_ = text_in(json, "address");
            return true;
        }
        return false;
    });
}

void ProcessSwarm::start(const std::string& name, const std::vector<std::string>& words) {
    const bool misbehaves = std::ranges::find(words, "--misbehave") != words.end();
    const std::string& program = misbehaves ? options_.hostile_program : options_.program;
    std::vector<std::string> all{program,       "join",  run_file(),    "--seed",
                                 seed_address_, "--key", key_file(name)};
    if (options_.has_tickets) {
        make_ticket(name);
        all.insert(all.end(), {"--ticket", ticket_file(name)});
    }
    all.insert(all.end(), words.begin(), words.end());
    if (std::ranges::find(words, "--backbone") != words.end()) {
        const auto [address, is_new] = addresses_.try_emplace(name);
        if (is_new) address->second = lasting_address();
        all.insert(all.end(), {"--listen", address->second});
    }
    words_[name] = words;
    Sighting& sighting = sightings_[name];
    Sighting next;
    next.peer = sighting.peer;
    next.lives = sighting.lives + 1;
    sighting = next;
    members_[name] = std::make_unique<Child>(all, folder_.path() / (name + ".log"));
}

void ProcessSwarm::restart(const std::string& name) {
    start(name, std::vector<std::string>{words_.at(name)});
}

void ProcessSwarm::make_ticket(const std::string& name) {
    if (std::filesystem::exists(ticket_file(name))) return;
    const formats::RunFile run = tool::read_run(run_file());
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const formats::Ticket ticket{.run = formats::run_id(run),
                                 .peer = platform::read_or_create_key(key_file(name)).public_key(),
                                 .job = {},
                                 .issued = now,
                                 .expires = now + std::chrono::hours{1}};
    tool::write_ticket(ticket_file(name),
                       formats::sign(ticket, platform::read_or_create_key(key_file("backbone"))));
}

net::SessionOptions ProcessSwarm::session(const std::string& name) {
    make_ticket(name);
    const formats::RunFile run = tool::read_run(run_file());
    return {.project = run.project_key,
            .run = formats::run_id(run),
            .key = platform::read_or_create_key(key_file(name)),
            .ticket = tool::read_ticket(ticket_file(name)),
            .encrypts = run.encrypts};
}

std::size_t ProcessSwarm::log_lines(const std::string& name, const std::string& words) const {
    std::ifstream log(folder_.path() / (name + ".log"));
    std::size_t count = 0;
    for (std::string line; std::getline(log, line);)
        count += line.find(words) != std::string::npos ? 1U : 0U;
    return count;
}

void ProcessSwarm::kill(const std::string& name) {
    read_all(0s);
    const auto member = members_.find(name);
    REQUIRE(member != members_.end());
    member->second->signal(SIGKILL);
    members_.erase(member);
}

std::vector<std::string> ProcessSwarm::running() const {
    std::vector<std::string> names;
    for (const auto& [name, child] : members_) names.push_back(name);
    return names;
}

std::string ProcessSwarm::coordinator() const {
    for (const auto& [name, child] : members_) {
        if (sightings_.at(name).peer == coordinator_) return name;
    }
    return {};
}

void ProcessSwarm::await(const std::string& what, Seconds deadline,
                         const std::function<bool()>& condition) {
    const auto end = Clock::now() + deadline;
    while (true) {
        read_all(20ms);
        if (condition()) return;
        if (Clock::now() >= end) fail("the deadline has passed for " + what);
    }
}

void ProcessSwarm::watch(Seconds time) {
    const auto end = Clock::now() + time;
    for (Seconds left = time; left > 0s; left = end - Clock::now()) {
        read_all(std::min<Seconds>(left, 20ms));
    }
}

/// Waits at most `limit` for output of any member, and parses it.
void ProcessSwarm::read_all(Seconds limit) {
    std::vector<pollfd> outputs;
    for (const auto& [name, child] : members_) {
        if (child->output() >= 0) outputs.push_back({child->output(), POLLIN, 0});
    }
    poll(outputs.data(), outputs.size(), static_cast<int>(limit.count() * 1'000));
    for (const auto& [name, child] : members_) {
        const auto status = child->status();
        for (const std::string& line : child->take_lines()) take_line(name, line);
        if (!status) continue;
        sightings_[name].status = status;
        // A member that was not in the last round may learn that the run is over before it has
        // fetched the last state.
        const bool is_finished = status == 0 && sightings_[name].reason == "finished";
        if (!is_finished) fail(name + " has ended, status " + std::to_string(*status));
    }
}

void ProcessSwarm::take_line(const std::string& name, const std::string& line) {
    rapidjson::Document json;
    json.Parse(line.c_str());
    if (json.HasParseError() || !json.IsObject()) fail(name + " prints no JSON: " + line);
    std::ofstream(folder_.path() / (name + ".lines"), std::ios::app) << line << '\n';
    Sighting& sighting = sightings_[name];
    const std::string event = text_in(json, "event");
    if (event == "start") {
        sighting.peer = text_in(json, "peer");
        sighting.port = static_cast<std::uint16_t>(number_in(json, "port"));
    } else if (event == "step") {
        if (number_in(json, "generation") != 0) fail(name + " is in another generation: " + line);
        const std::string coordinator = text_in(json, "coordinator");
        const std::uint64_t step = number_in(json, "step");
        if (step >= this->step() && !coordinator.empty()) coordinator_ = coordinator;
        if (json.HasMember("frozen_at")) ++sighting.rounds;
        take_step(name, step, text_in(json, "digest"));
    } else if (event == "end") {
        sighting.reason = text_in(json, "reason");
    }
}

void ProcessSwarm::take_step(const std::string& name, std::uint64_t step,
                             const std::string& digest) {
    const bool is_newest = step > this->step();
    const auto [known, is_new] = digests_.emplace(step, digest);
    if (known->second != digest) {
        fail(name + " has another state of step " + std::to_string(step));
    }
    Sighting& sighting = sightings_[name];
    sighting.step = step;
    if (!is_newest) return;
    const auto now = Clock::now();
    last_step_time_ = now - newest_at_;
    newest_at_ = now;
}

void ProcessSwarm::fail(const std::string& sentence) {
    std::printf("%s\n", sentence.c_str());
    for (const auto& [name, sighting] : sightings_) {
        std::printf("--- %s (%.8s): %s, life %llu, step %llu, rounds %llu\n%s\n%s\n", name.c_str(),
                    sighting.peer.c_str(), members_.contains(name) ? "runs" : "is dead",
                    static_cast<unsigned long long>(sighting.lives),
                    static_cast<unsigned long long>(sighting.step),
                    static_cast<unsigned long long>(sighting.rounds),
                    tail_of(folder_.path() / (name + ".lines")).c_str(),
                    tail_of(folder_.path() / (name + ".log")).c_str());
    }
    std::fflush(stdout);
    FAIL(sentence);
    std::abort();
}

}  // namespace dedloc::test
