// Time and processor time of a round of n processes on loopback, compared with gloo's all-reduce
// over TCP and with a plain copy of the same number of bytes through sockets, all on the same
// vector in one run. Our rounds end with a digest of the average at every member; gloo's have none,
// so gloo is also measured with one. Our links are authenticated with tickets, and run with
// encryption off, like gloo and the sockets, and on; numbers travel as fp32, like theirs, and in
// the other codecs. Prints a breakdown of a round's time. Asserts nothing.
//
//     net_bench [megabytes [rounds [processes [codec [threads]]]]]
//
// `threads`: of each of our processes, for digests and updates; usually 1.
#include <poll.h>

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/wire/types.hpp"
#include "tests/bench/rank_processes.hpp"
#include "tests/swarm/child.hpp"
#include "tests/temporary_directory.hpp"

namespace {

using namespace dedloc;
using namespace dedloc::bench;
using dedloc::test::Child;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{180};
constexpr std::size_t kWarmUp = 3;  ///< rounds in which links are opened and bandwidths measured

/// The number of a key in a line of JSON; 0 if the key is absent.
double number_in(const std::string& line, const char* field) {
    const std::string name = '"' + std::string{field} + "\":";
    const auto at = line.find(name);
    double value = 0;
    if (at != std::string::npos) {
        const char* begin = line.data() + at + name.size();
        std::from_chars(begin, line.data() + line.size(), value);
    }
    return value;
}

std::string address_in(const std::string& line) {
    const auto at = line.find("127.0.0.1:");
    return at == std::string::npos ? "" : line.substr(at, line.find('"', at) - at);
}

/// Phases of a round in seconds; each phase ends when the last process has finished it.
struct Phases {
    double joined = 0;     ///< frozen to planned
    double moved = 0;      ///< planned to averaged
    double decided = 0;    ///< averaged to committed
    double applied = 0;    ///< committed to the next state
    double round_cpu = 0;  ///< processor time per process, frozen to averaged
    double step_cpu = 0;   ///< processor time per process, one state to the next
};

/// `count` trainers and the backbone, which decides, reduces a part and receives the average.
class Trainers {
  public:
    Trainers(std::size_t count, std::size_t bytes, const std::string& encryption,
             const std::string& codec, std::size_t threads)
        : count_(count), threads_(threads), run_(file("run.json")) {
        finish("create", {run_, "--key", file("backbone.key"), "--bytes", std::to_string(bytes),
                          "--steps", "1000000", "--target-batch", std::to_string(10 * count),
                          "--encryption", encryption, "--codec", codec});
        seed_ = start("seed", {"seed", "127.0.0.1:0"});
        await("the seed", [&] {
            for (const std::string& line : seed_->take_lines()) address_ = address_in(line);
            return !address_.empty();
        });
        backbone_ = join("backbone", {"--backbone"});
        for (std::size_t i = 0; i < count; ++i) {
            members_.push_back(join("trainer" + std::to_string(i), {"--samples-per-second", "10"}));
        }
        await("everybody", [&] { return members_in_newest_ == count_ + 1; });
    }

    /// The median of that many rounds.
    Phases measure(std::size_t rounds) {
        const std::size_t first = newest_ + kWarmUp;
        await("rounds", [&] {
            return lines_.contains(first + rounds) && lines_[first + rounds].size() == count_;
        });
        std::map<std::string, std::vector<double>> all;
        for (std::size_t step = first; step < first + rounds; ++step) {
            const auto& lines = lines_[step];
            if (lines.size() != count_)
                continue;  // a member missed the round and fetched the average
            const double frozen = last(lines, "frozen_at");
            const double planned = last(lines, "planned_at");
            const double averaged = last(lines, "averaged_at");
            const double committed = last(lines, "committed_at");
            all["joined"].push_back(planned - frozen);
            all["moved"].push_back(averaged - planned);
            all["decided"].push_back(committed - averaged);
            all["applied"].push_back(last(lines, "at") - committed);
            for (const std::string& line : lines) {
                all["round_cpu"].push_back(number_in(line, "round_cpu_seconds"));
                all["step_cpu"].push_back(number_in(line, "cpu_seconds"));
            }
        }
        return {.joined = median_of(all["joined"]),
                .moved = median_of(all["moved"]),
                .decided = median_of(all["decided"]),
                .applied = median_of(all["applied"]),
                .round_cpu = median_of(all["round_cpu"]),
                .step_cpu = median_of(all["step_cpu"])};
    }

  private:
    using Words = std::vector<std::string>;

    static double last(const std::vector<std::string>& lines, const char* field) {
        double latest = 0;
        for (const std::string& line : lines) latest = std::max(latest, number_in(line, field));
        return latest;
    }
    std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
    std::unique_ptr<Child> start(const std::string& name, const Words& words) {
        Words all{DEDLOC_PEER_PROGRAM};
        all.insert(all.end(), words.begin(), words.end());
        return std::make_unique<Child>(all, file(name + ".log"));
    }
    /// Runs a command that exits by itself.
    void finish(const std::string& command, const Words& words) {
        Words all{command};
        all.insert(all.end(), words.begin(), words.end());
        const auto child = start(command, all);
        await(command, [&] { return child->status().has_value(); });
        DEDLOC_CHECK(child->status() == 0, "a command fails", command);
    }
    std::unique_ptr<Child> join(const std::string& name, const Words& words) {
        const std::string key = file(name + ".key");
        const std::string ticket = file(name + ".ticket");
        finish("ticket",
               {run_, "--project-key", file("backbone.key"), "--key", key, "--ticket", ticket});
        Words all{"join", run_,       "--seed", address_,    "--key",
                  key,    "--ticket", ticket,   "--threads", std::to_string(threads_)};
        all.insert(all.end(), words.begin(), words.end());
        return start(name, all);
    }
    void await(const std::string& what, const std::function<bool()>& condition) {
        const auto end = Clock::now() + kTimeout;
        while (!condition()) {
            DEDLOC_CHECK(Clock::now() < end, "waited in vain", what);
            poll(nullptr, 0, 20);
            for (const auto& member : members_) {
                for (const std::string& line : member->take_lines()) take(line);
            }
            if (backbone_) (void)backbone_->take_lines();
        }
    }
    void take(const std::string& line) {
        if (line.find("\"frozen_at\"") == std::string::npos) return;
        const auto step = static_cast<std::size_t>(number_in(line, "step"));
        lines_[step].push_back(line);
        if (step < newest_) return;
        newest_ = step;
        members_in_newest_ = static_cast<std::size_t>(number_in(line, "members"));
    }

    const TemporaryDirectory folder_;
    const std::size_t count_;
    const std::size_t threads_;
    const std::string run_;
    std::string address_;
    std::unique_ptr<Child> seed_;
    std::unique_ptr<Child> backbone_;
    std::vector<std::unique_ptr<Child>> members_;
    std::map<std::size_t, std::vector<std::string>> lines_;  ///< JSON of all members, by step
    std::size_t newest_ = 0;
    std::size_t members_in_newest_ = 0;
};

std::size_t number_or(const char* text, std::size_t usual) {
    std::size_t value = 0;
    if (text == nullptr) return usual;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
    return error == std::errc{} && *end == '\0' && value > 0 ? value : usual;
}

void print(std::size_t trainers, const char* what, const Timed& timed, const Timed& copy) {
    std::printf("%2zu  %-25s %8.3f %8.2f %10.3f", trainers, what, timed.seconds,
                timed.seconds / copy.seconds, timed.cpu_seconds);
}

/// gloo has a rank for the backbone too, which sends as much as any other. Our backbone contributes
/// nothing, so we send 1 / (2 × ranks) less.
void compare(std::size_t trainers, std::size_t bytes, std::size_t rounds,
             const std::vector<std::string>& codecs, std::size_t threads) {
    const std::size_t ranks = trainers + 1;
    const std::size_t elements = bytes / sizeof(float);
    const Timed copy = socket_rounds(ranks, elements, rounds);
    const Timed gloo = gloo_rounds(ranks, elements, rounds, false);
    const Timed digested = gloo_rounds(ranks, elements, rounds, true);
    print(trainers, "sockets", copy, copy);
    std::printf("\n");
    print(trainers, "gloo", gloo, copy);
    std::printf("\n");
    print(trainers, "gloo, and digests", digested, copy);
    std::printf("\n");
    for (const std::string& codec : codecs) {
        for (const std::string encryption : {"off", "on"}) {
            const Phases ours =
                Trainers(trainers, bytes, encryption, codec, threads).measure(rounds);
            const Timed round{.seconds = ours.joined + ours.moved, .cpu_seconds = ours.round_cpu};
            print(trainers, ("ours " + codec + ", encryption " + encryption).c_str(), round, copy);
            std::printf("   %.2f x gloo, %.2f with digests\n", round.seconds / gloo.seconds,
                        round.seconds / digested.seconds);
            std::printf(
                "      plan %.3f, move %.3f | decide %.3f, apply %.3f s; %.3f CPU s a step\n",
                ours.joined, ours.moved, ours.decided, ours.applied, ours.step_cpu);
            std::fflush(stdout);
        }
    }
}

}  // namespace

int main(int count, char** words) {
    const std::size_t megabytes = number_or(count > 1 ? words[1] : nullptr, 36);
    const std::size_t rounds = number_or(count > 2 ? words[2] : nullptr, 10);
    std::printf("%zu MB of fp32, medians of %zu rounds on loopback\n", megabytes, rounds);
    std::printf(" n  %-25s %8s %8s %10s\n", "", "seconds", "x copy", "CPU s each");
    const std::size_t only = number_or(count > 3 ? words[3] : nullptr, 0);
    const std::vector<std::string> codecs =
        count > 4 ? std::vector<std::string>{words[4]}
                  : std::vector<std::string>{kCodecNames.begin(), kCodecNames.end()};
    const std::size_t threads = number_or(count > 5 ? words[5] : nullptr, 1);
    for (const std::size_t trainers : {2U, 4U, 8U}) {
        if (only != 0 && only != trainers) continue;
        compare(trainers, megabytes * 1'000'000, rounds, codecs, threads);
    }
    return 0;
}
