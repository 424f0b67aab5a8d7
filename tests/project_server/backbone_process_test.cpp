#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <thread>

#include "peer/net/dht_directory.hpp"
#include "peer/net/reactor.hpp"
#include "peer/net/tcp_transport.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/database/mariadb.hpp"
#include "project_server/settings.hpp"
#include "tests/peer/paced_trainer.hpp"
#include "tests/project_server/proven_ledger.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kElements = 5'000;
constexpr std::uint64_t kCheckpointEvery = 5;
constexpr auto kPatience = 60s;

wire::RunFile run_file(const KeyPair& key, std::uint64_t steps) {
    wire::RunFile run;
    run.name = "demo";
    run.model = {.architecture = "albert",
                 .vocabulary = 100,
                 .embedding = 8,
                 .hidden = 8,
                 .layers = 1,
                 .heads = 2,
                 .ffn = 8,
                 .positions = 16};
    run.sequence_length = 16;
    run.micro_batch = 4;
    run.target_batch = 40;
    run.steps = steps;
    run.optimizer.learning_rate = 0.01;
    run.flops_per_sample = 1e6;
    run.project_key = KeyPair::generate().public_key();
    run.backbone_key = key.public_key();
    run.dht_seeds = {{.host = "127.0.0.1", .port = server::free_loopback_port()}};
    run.shards = {{.name = "shard_a", .digest = {}, .bytes = 5}};
    run.tensors = {{.name = "w",
                    .shape = {kElements},
                    .initial = wire::Initial::kOne,
                    .deviation = 0,
                    .decays = false}};
    return run;
}

class NotingHost final : public net::Host {
  public:
    void voted(const action::Voted&) override {}
    void committed(const action::Committed& commit) override {
        set([&] { updates_ = commit.record.step.next().value(); });
    }
    void generation_begun(const action::GenerationBegun&) override {}
    void generation_wanted(const action::GenerationWanted&) override {}
    void settled(const action::Settled&) override {}
    void swarm_seen(const action::SwarmSeen&) override {}
    void finished(const action::Finished& finished) override {
        set([&] { final_digest_ = finished.digest; });
    }
    void refused(const action::Refused&) override {}
    void left(const action::Left&) override {}
    void note(const action::Note&) override {}
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
        return changed_.wait_for(lock, kPatience, condition);
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t updates_ = 0;
    std::optional<Digest> final_digest_;
};

PeerConfig member_config(const wire::RunFile& run) {
    PeerConfig config;
    config.run = wire::run_id(run);
    config.project = run.project_key;
    config.backbone = run.backbone_key;
    config.rules.elements = kElements;
    config.rules.target_batch = Samples{run.target_batch};
    config.rules.last_step = StepIndex{run.steps};
    config.random_seed = 5;
    config.scalars_of = [settings = state::lamb_settings(run)](StepIndex step) {
        return state::lamb_scalars(settings, step);
    };
    return config;
}

struct Member {
    explicit Member(const wire::RunFile& run)
        : transport({Endpoint{"127.0.0.1", 0}, {}}, queue.sink()),
          directory({wire::run_id(run), {run.dht_seeds[0].text()}, {}}, queue.sink()),
          trainer(kElements, 0.5F, Samples{4}, state::lamb_settings(run), queue.sink()),
          reactor(member_config(run), KeyPair::generate(),
                  {queue, transport, directory, trainer, host, workers}) {
        reactor.start();
    }
    kernels::ThisThread workers;
    net::EventQueue queue;
    net::TcpTransport transport;
    net::DhtDirectory directory;
    PacedTrainer trainer;
    NotingHost host;
    net::Reactor reactor;
};

/// A project with one run, and its backbone as a process once started.
class World {
  public:
    explicit World(std::uint64_t steps) : key_(KeyPair::generate()), run_(run_file(key_, steps)) {
        std::filesystem::create_directories(run_folder());
        server::write_text(run_folder() / "run.json", wire::write_run_file(run_));
        server::write_text(run_folder() / "backbone.key", to_hex(key_.seed()) + "\n");
    }
    ~World() {
        if (process_ > 0) stop(SIGKILL);
    }
    void start() {
        const std::string folder = folder_.path().string();
        const std::string log = folder + "/log";
        const std::string every = std::to_string(kCheckpointEvery);
        process_ = ::fork();
        REQUIRE(process_ >= 0);
        if (process_ > 0) return;
        const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        ::dup2(out, STDERR_FILENO);
        ::execl(DEDLOC_BACKBONE_PROGRAM, "dedloc-backbone", "--project", folder.c_str(), "--run",
                "demo", "--no-database", "--checkpoint-every", every.c_str(), nullptr);
        ::_exit(126);
    }
    /// Its exit status, or minus the signal that ended it.
    int stop(int signal) {
        ::kill(process_, signal);
        return wait();
    }
    int wait() {
        int status = 0;
        ::waitpid(process_, &status, 0);
        process_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    const wire::RunFile& run() const { return run_; }
    std::filesystem::path run_folder() const { return folder_.path() / "runs/demo"; }
    std::string log() const { return server::read_text(folder_.path() / "log"); }

    /// Steps of the commits in the ledger, all proven.
    std::vector<std::uint64_t> committed_steps() const {
        const ledger::Ledger ledger = proven_ledger(
            run_folder() / "ledger", {wire::run_id(run_), run_.project_key, run_.backbone_key});
        std::vector<std::uint64_t> steps;
        ledger.for_each([&](const CommitRecord& record) { steps.push_back(record.step.value()); });
        return steps;
    }

  private:
    const TemporaryDirectory folder_;
    const KeyPair key_;
    const wire::RunFile run_;
    pid_t process_ = 0;
};

std::vector<std::uint64_t> count_to(std::uint64_t end) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < end; ++i) numbers.push_back(i);
    return numbers;
}

}  // namespace

TEST_CASE("a backbone coordinates a run to its end and keeps what it must",
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
    // Who comes late is told that it is over, and gets the same state.
    {
        Member late{world.run()};
        REQUIRE(late.host.await_end());
        CHECK(late.host.final_digest() == digest);
    }
    const auto asked = std::chrono::steady_clock::now();
    CHECK(world.stop(SIGTERM) == 0);
    CHECK(std::chrono::steady_clock::now() - asked < 5s);
    INFO(world.log());
    CHECK(world.committed_steps() == count_to(kSteps));
    const CheckpointStore store{world.run_folder() / "checkpoints", wire::run_id(world.run()), 3};
    REQUIRE_FALSE(store.list().empty());
    CHECK(store.list().front().head.step == StepIndex{kSteps});
    CHECK(store.list().front().head.digest == digest);
}

TEST_CASE("a backbone killed in the middle goes on where the swarm stands",
          "[server][integration]") {
    constexpr std::uint64_t kSteps = 60;
    World world{kSteps};
    world.start();
    Member member{world.run()};
    REQUIRE(member.host.await_updates(8));
    CHECK(world.stop(SIGKILL) == -SIGKILL);
    world.start();
    const bool ended = member.host.await_end();
    INFO(world.log());
    REQUIRE(ended);
    CHECK(world.stop(SIGTERM) == 0);
    // What the members have was not done again, although the newest checkpoint is older.
    CHECK(world.committed_steps() == count_to(kSteps));
}

TEST_CASE("a backbone that cannot write its ledger says so in a sentence and ends",
          "[server][integration]") {
    World world{3};
    std::filesystem::create_symlink("/dev/full", world.run_folder() / "ledger");
    world.start();
    CHECK(world.wait() == 1);
    CHECK_THAT(world.log(), Catch::Contains("No space left on device"));
}

TEST_CASE("a second backbone of a run finds its port in use and ends", "[server][integration]") {
    World world{3};
    world.start();
    Member member{world.run()};
    REQUIRE(member.host.await_updates(1));
    const std::string project = world.run_folder().parent_path().parent_path().string();
    const std::string command = std::string{DEDLOC_BACKBONE_PROGRAM} + " --project " + project +
                                " --run demo --no-database 2>" + project + "/second";
    const int status = std::system(command.c_str());
    CHECK(WEXITSTATUS(status) == 1);
    CHECK_THAT(server::read_text(project + "/second"), Catch::Contains("in use"));
}
