// A run's backbones as processes, and members of its swarm within the test's process.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/reactor.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/database/mariadb.hpp"
#include "project_server/settings.hpp"
#include "tests/peer/net/paced_trainer.hpp"
#include "tests/project_server/backbone/proven_ledger.hpp"
#include "tests/small_run.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::backbone {

using namespace std::chrono_literals;

inline constexpr std::uint64_t kElements = 78 * formats::kTensorAlignment;
inline constexpr std::uint64_t kCheckpointEvery = 5;
inline constexpr auto kTimeout = 60s;

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline formats::RunFile run_file(const PeerKey& project, const PeerKey& backbone,
                                 std::uint64_t steps, std::optional<Digest> initial_state,
                                 const std::string& gateway) {
    formats::RunFile run = tests::small_run(kElements);
    run.gateway = gateway;
    run.initial_state = initial_state;
    run.steps = steps;
    run.project_key = project;
    run.backbone_key = backbone;
    run.dht_seeds = {{.host = "127.0.0.1", .port = platform::free_port("127.0.0.1")}};
    return run;
}

class NotingHost final : public net::Host {
  public:
    void perform(const HostAction& action) override {
        if (const auto* commit = std::get_if<action::Committed>(&action)) {
            set([&] { updates_ = commit->record.step.next().value(); });
        } else if (const auto* finished = std::get_if<action::Finished>(&action)) {
            set([&] { final_digest_ = finished->digest; });
        }
    }
    void failed(const std::string&) override {}

    bool await_updates(std::uint64_t count) {
        return await([&] { return updates_ >= count; });
    }
    bool await_end() {
        return await([&] { return final_digest_.has_value(); });
    }
    Digest final_digest() const { return *final_digest_; }

  private:
    void set(const std::function<void()>& change) {
        {
            const std::lock_guard lock{mutex_};
            change();
        }
        changed_.notify_all();
    }
    bool await(const std::function<bool()>& condition) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, kTimeout, condition);
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t updates_ = 0;
    std::optional<Digest> final_digest_;
};

inline PeerConfig member_config(const formats::RunFile& run) {
    PeerConfig config;
    config.run = formats::run_id(run);
    config.project = run.project_key;
    config.backbone = run.backbone_key;
    config.initial_state = run.initial_state;
    config.rules.elements = kElements;
    config.rules.target_batch = Samples{run.target_batch};
    config.rules.last_step = StepIndex{run.steps};
    config.random_seed = 5;
    config.scalars_of = [settings = state::optimizer_settings(run)](StepIndex step) {
        return state::update_scalars(settings, step);
    };
    return config;
}

/// The links of a member. Of a run with a gateway: with a ticket for this volunteer's computer.
inline net::TransportOptions member_transport(const formats::RunFile& run, const KeyPair& key,
                                              const KeyPair* project, std::uint64_t computer) {
    net::TransportOptions options;
    options.listen = Endpoint{"127.0.0.1", 0};
    if (project == nullptr) return options;
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const formats::Ticket ticket{.run = formats::run_id(run),
                                 .peer = key.public_key(),
                                 .job = {.user = computer, .host = computer, .result = computer},
                                 .issued = now,
                                 .expires = now + 24h};
    options.session = net::SessionOptions{.project = run.project_key,
                                          .run = ticket.run,
                                          .key = key,
                                          .ticket = formats::sign(ticket, *project),
                                          .encrypts = run.encrypts};
    return options;
}

struct Member {
    /// `project` signs its ticket; null: the run needs none.
    explicit Member(const formats::RunFile& run, const KeyPair* project = nullptr,
                    std::uint64_t computer = 1)
        : transport(member_transport(run, key, project, computer), queue.sink()),
          directory({formats::run_id(run), {run.dht_seeds[0].text()}, {}}, queue.sink()),
          trainer(kElements, 0.5F, Samples{4}, state::optimizer_settings(run), queue.sink()),
          reactor(member_config(run), key, {queue, transport, directory, trainer, host, workers}) {
        reactor.start();
    }
    const KeyPair key = KeyPair::generate();
    kernels::ThisThread workers;
    net::EventQueue queue;
    net::TcpTransport transport;
    net::DhtDirectory directory;
    PacedTrainer trainer;
    NotingHost host;
    net::Reactor reactor;
};

/// A dedloc-backbone process and its log.
class BackboneProcess {
  public:
    explicit BackboneProcess(std::filesystem::path log) : log_(std::move(log)) {}
    BackboneProcess(const BackboneProcess&) = delete;
    BackboneProcess& operator=(const BackboneProcess&) = delete;
    ~BackboneProcess() {
        if (process_ > 0) stop(SIGKILL);
    }
    /// `descriptors`: hard limit on its open files; 0: that of this process.
    void start(std::vector<std::string> arguments, std::size_t descriptors = 0) {
        arguments.insert(arguments.begin(), DEDLOC_BACKBONE_PROGRAM);
        if (descriptors != 0) {
            const std::string script =
                "ulimit -n " + std::to_string(descriptors) + " && exec \"$@\"";
            arguments.insert(arguments.begin(), {"/bin/sh", "-c", script, "sh"});
        }
        process_ = platform::spawn(arguments, {.output = log_});
    }
    /// The process's exit status, or minus the signal that killed it.
    int stop(int signal) {
        ::kill(process_, signal);
        return wait();
    }
    int wait() {
        const int status = platform::wait_for_child(std::exchange(process_, 0));
        return status < 128 ? status : 128 - status;
    }
    std::string log() const { return platform::read_text(log_); }

  private:
    const std::filesystem::path log_;
    pid_t process_ = 0;
};

/// A project with one run, and the run's own backbone, which a test starts as a process.
class World {
  public:
    /// `gateway`: not empty if members need tickets.
    explicit World(std::uint64_t steps, std::optional<Digest> initial_state = {},
                   const std::string& gateway = "")
        : run_(run_file(project_.public_key(), key_.public_key(), steps, initial_state, gateway)) {
        std::filesystem::create_directories(run_folder());
        std::filesystem::create_directories(root() / "keys");
        platform::write_key(root() / "keys/project.key", project_);
        platform::replace_file(run_folder() / "run.json", formats::write_run_file(run_));
        platform::write_key(run_folder() / "backbone.key", key_);
    }
    void start(std::uint64_t checkpoint_every = kCheckpointEvery) {
        process_.start({"--project", root().string(), "--run", "demo", "--no-database",
                        "--checkpoint-every", std::to_string(checkpoint_every)});
    }
    /// Starts it with at most so many open files, and more arguments.
    void start_with_descriptors(std::size_t descriptors, std::vector<std::string> more = {}) {
        std::vector<std::string> arguments{"--project", root().string(), "--run", "demo",
                                           "--no-database"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        process_.start(std::move(arguments), descriptors);
    }
    int stop(int signal) { return process_.stop(signal); }
    int wait() { return process_.wait(); }
    std::string log() const { return process_.log(); }

    const formats::RunFile& run() const { return run_; }
    const KeyPair& project() const { return project_; }
    const std::filesystem::path& root() const { return folder_.path(); }
    std::filesystem::path run_folder() const { return root() / "runs/demo"; }

    /// Steps of the commits in the ledger, all verified.
    std::vector<std::uint64_t> committed_steps() const { return steps_in(run_folder() / "ledger"); }
    std::vector<std::uint64_t> steps_in(const std::filesystem::path& file) const {
        const ledger::Ledger ledger =
            proven_ledger(file, {formats::run_id(run_), run_.project_key, run_.backbone_key});
        std::vector<std::uint64_t> steps;
        ledger.for_each([&](const CommitRecord& record) { steps.push_back(record.step.value()); });
        return steps;
    }

  private:
    const TemporaryDirectory folder_;
    const KeyPair project_ = KeyPair::generate();
    const KeyPair key_ = KeyPair::generate();
    const formats::RunFile run_;
    BackboneProcess process_{folder_.path() / "log"};
};

inline std::vector<std::uint64_t> count_to(std::uint64_t end) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < end; ++i) numbers.push_back(i);
    return numbers;
}

}  // namespace dedloc::backbone
