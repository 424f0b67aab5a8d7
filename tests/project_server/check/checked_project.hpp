// A project with one run of four steps in which nothing is wrong: keys, an app version, a job with
// its files, a proven ledger with checkpoints, and rows that agree with all of it.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/check/check.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/work/staging.hpp"
#include "tests/project_server/project_fixture.hpp"
#include "tests/small_run.hpp"

namespace dedloc::check {

class CheckedProject {
  public:
    static constexpr std::uint64_t kSteps = 4;
    static constexpr std::uint64_t kElements = 64;

    /// A run file of an earlier version names no ticket key.
    explicit CheckedProject(bool has_ticket_key = true) {
        if (!has_ticket_key) run_ticket_key_.reset();
        empty();
        make_files();
        make_run();
        train();
        make_rows();
    }

    const std::filesystem::path& root() const { return project_.root(); }
    std::filesystem::path run_folder() const { return root() / "runs/demo"; }
    server::Database& database() { return project_.database(); }
    const server::ProjectConfig& config() const { return project_.config(); }
    /// Alters a table; the next project has new ones.
    void alter_table(const std::string& sql) {
        is_altered_ = true;
        database().execute(sql);
    }
    static server::Database administrator() {
        return server::Database{server::mariadb_administrator(server::test_mariadb().place())};
    }
    // These may be changed before faults().
    server::Settings settings{.name = "Test",
                              .url = "http://127.0.0.1:1/",
                              .listen = {{"127.0.0.1", 1}},
                              .peer_listen = "127.0.0.1",
                              .server_port = 2,
                              .gateway_port = 3,
                              .database_port = 4};
    bool is_quick = false;
    double seconds_later = 0;  ///< the check is done so long from now

    Subject subject() const {
        return {.project = root(),
                .settings = settings,
                .config = project_.config(),
                .is_quick = is_quick,
                .now = server::unix_now() + seconds_later};
    }
    /// Everything that is not good, but that daemons were not checked.
    std::vector<Finding> faults() const {
        std::vector<Finding> faults;
        for (const Finding& finding : check_project(subject()).all()) {
            if (finding.level == Level::kGood || finding.check == "daemons") continue;
            faults.push_back(finding);
        }
        return faults;
    }

    /// The place of a file in a tree of BOINC.
    std::filesystem::path place(const std::filesystem::path& tree, const std::string& name) const {
        for (const auto& entry : std::filesystem::recursive_directory_iterator{tree}) {
            if (entry.path().filename() == name) return entry.path();
        }
        return {};
    }
    std::filesystem::path checkpoint() const {
        return run_folder() / "checkpoints/step_000000003.state";
    }
    /// Adds a source with one shard to the run. Returns the source's file.
    std::filesystem::path add_source() const {
        const std::string shard = "tokens of a later text";
        const formats::AddedSource source{
            .name = "later",
            .licence = "free",
            .shards = {
                {.name = "shard_c", .digest = blake2b(bytes_of(shard)), .bytes = shard.size()}}};
        const Digest digest = formats::digest_of(source);
        platform::replace_file(run_folder() / "shards/shard_c", shard);
        server::write_source(run_folder(), source);
        server::write_mixture(server::mixture_file(run_folder()),
                              sign_mixture(id_, 1, {}, project_key_, {digest}));
        return server::source_file(run_folder(), digest);
    }
    /// Writes the state of step 3 as another one, which the ledger does not lead to.
    void save_other_state() const {
        auto state = state_at(7);
        auto head = backbone::head_of_state(StepIndex{3}, std::as_bytes(std::span{state}));
        std::filesystem::remove(checkpoint());
        backbone::CheckpointStore{run_folder() / "checkpoints", id_, 9}.save(
            head, std::as_bytes(std::span{state}));
    }

  private:
    /// A project for all tests of the program. Its tables are made again only if a test has altered
    /// them, because that takes most of a test's time.
    static server::TestProject& shared(bool is_new = false) {
        static server::MariadbProcess& mariadb = server::test_mariadb();
        static std::unique_ptr<server::TestProject> project;
        if (is_new) project.reset();
        if (!project) project = std::make_unique<server::TestProject>();
        CHECK(project->config().database.port == mariadb.place().port);
        return *project;
    }

    /// Removes all rows and files of the test before.
    void empty() {
        for (const std::string& table : server::all_tables()) {
            if (table == "platform" || table == "dedloc_badge_rule") continue;  // reference rows
            database().execute("delete from " + table);
        }
        for (const auto& entry : std::filesystem::directory_iterator{root()}) {
            if (entry.path().filename() != "config.xml") std::filesystem::remove_all(entry);
        }
        for (const char* const folder : {"download", "upload", "keys"}) {
            std::filesystem::create_directory(root() / folder);
        }
    }

    static std::vector<float> state_at(std::uint64_t step) {
        return std::vector<float>(3 * kElements, static_cast<float>(step));
    }

    void make_files() {
        const auto keys = root() / "keys";
        static const TemporaryDirectory made;  // keys take a while
        if (std::filesystem::is_empty(made.path())) {
            server::make_key_pair(made.path(), "code_sign");
            server::make_key_pair(made.path(), "upload");
        }
        std::filesystem::copy(made.path(), keys);
        platform::write_key(keys / "project.key", project_key_);
        platform::write_key(keys / "ticket.key", ticket_key_);
        server::write_settings(root(), settings);
        std::filesystem::permissions(
            root() / "config.xml",
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
        platform::replace_file(root() / "app", "the app's program");
        server::add_app_version(
            database(), config(),
            {.app = "dedloc_train",
             .friendly_name = "Training",
             .files = {{.source = root() / "app", .open_name = "app", .is_main_program = true}}});
    }

    void make_run() {
        const std::string shard = "tokens of a shard";
        const std::string held_out = "tokens held out";
        run_ = tests::small_run(kElements);
        run_.steps = kSteps;
        run_.sources = {{.name = "town", .weight = 1, .licence = ""}};
        run_.project_key = project_key_.public_key();
        run_.ticket_key = run_ticket_key_;
        run_.backbone_key = backbone_.public_key();
        run_.shards = {{.name = "shard_a",
                        .digest = blake2b(std::as_bytes(std::span{shard})),
                        .bytes = shard.size()},
                       {.name = "shard_b",
                        .digest = blake2b(std::as_bytes(std::span{held_out})),
                        .bytes = held_out.size(),
                        .is_held_out = true}};
        id_ = formats::run_id(run_);
        for (const char* const name : {"shards", "held_out", "checkpoints"}) {
            std::filesystem::create_directories(run_folder() / name);
        }
        platform::replace_file(run_folder() / "run.json", formats::write_run_file(run_));
        platform::write_key(run_folder() / "backbone.key", backbone_);
        platform::replace_file(run_folder() / "tokenizer.model", "a tokenizer");
        platform::replace_file(run_folder() / "shards/shard_a", shard);
        platform::replace_file(run_folder() / "held_out/shard_b", held_out);
    }

    /// A member's 20 samples in each step, and 10 of another one in the second.
    void train() {
        backbone::LedgerWriter ledger{run_folder() / "ledger", {id_, backbone_.public_key()}};
        const backbone::CheckpointStore store{run_folder() / "checkpoints", id_, 9};
        Head head = genesis(id_, backbone_.public_key());
        for (std::uint64_t step = 0;; ++step) {
            const auto state = state_at(step);
            const auto bytes = std::as_bytes(std::span{state});
            const auto checkpoint = backbone::head_of_state(head.step, bytes);
            if (step >= 3) store.save(checkpoint, bytes);
            if (step == kSteps) return certify(ledger, head, checkpoint.digest);
            CommitRecord record;
            record.step = head.step;
            record.previous_record = head.record;
            record.previous_state = checkpoint.digest;
            record.members = {{.peer = member_, .samples = Samples{20}, .loss_sum = 90}};
            if (step == 1) {
                record.members.push_back({.peer = other_, .samples = Samples{10}, .loss_sum = 40});
            }
            record.members.back().reduced = 1'000;
            std::ranges::sort(record.members, {}, &CommitLine::peer);
            Certificate certificate{.term = {1, backbone_.public_key()}, .votes = {}};
            certificate.votes.push_back(
                {backbone_.public_key(),
                 backbone_.sign(vote_bytes(id_, certificate.term, digest_of(record)))});
            ledger.append(backbone::LedgerCommit{
                .committed_at = {}, .took = {}, .decision = {record, certificate}});
            head = membership::head_after(head, record);
        }
    }

    void certify(backbone::LedgerWriter& ledger, const Head& head, const Digest& state) {
        StateCertificate certificate{.generation = head.generation,
                                     .step = head.step,
                                     .record = head.record,
                                     .state = state,
                                     .votes = {}};
        certificate.votes.push_back(
            {backbone_.public_key(), backbone_.sign(state_vote_bytes(id_, certificate))});
        ledger.append(certificate);
        final_ = state;
    }

    void make_rows() {
        auto& rows = database();
        rows.execute(
            "insert into dedloc_run (id, name, run_id, state, spec, target_batch, steps, "
            "flops_per_sample, credit_per_sample, final_digest, created) values (1, 'demo', ?, "
            "'finished', '{}', 20, 4, 1e6, 0.1, ?, 0)",
            {id_.hex(), final_.hex()});
        for (std::uint64_t step = 1; step <= kSteps; ++step) {
            rows.execute("insert into dedloc_step values (1, ?, ?, 4.5, 0.01, 1, 1, '', 1, 1000)",
                         {step, step == 2 ? 30 : 20});
            rows.execute(
                "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, "
                "resultid, credit, credit_state) values (1, ?, ?, 20, 90, 1, 20 * 0.1e0, 1)",
                {step, member_.hex()});
        }
        rows.execute(
            "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, "
            "credit_state, reduced_bytes) values (1, 2, ?, 10, 40, 3, 4000)",
            {other_.hex()});
        rows.execute("insert into dedloc_ticket values (1, ?, 1, 1, 1, 900, 900, 90000, '')",
                     {member_.hex()});
        for (const char* const sql :
             {"insert into team (id, userid, name, total_credit) values (1, 1, 'Team', 8)",
              "insert into user (id, name, email_addr, authenticator, teamid, total_credit) values "
              "(1, 'Ann', 'a@x', 'a', 1, 8)",
              "insert into host (id, userid, total_credit) values (1, 1, 8)"}) {
            rows.execute(sql);
        }
        make_job();
    }

    void make_job() {
        work::stage_file(config(), run_folder() / "shards/shard_a", "shard_a");
        auto uploads = config();
        uploads.download_directory = uploads.upload_directory;
        work::stage_file(uploads, root() / "app", "demo_1_0_r7_0");
        database().execute(
            "insert into workunit (id, appid, name, opaque, xml_doc) select 1, id, 'demo_1', 1, ? "
            "from app",
            {"<file_info>\n<name>shard_a</name>\n<md5_cksum>" +
             server::md5_of_file(run_folder() / "shards/shard_a") +
             "</md5_cksum>\n<nbytes>17</nbytes>\n</file_info>\n"});
        // The second output file, a checkpoint, is optional and was not uploaded.
        database().execute(
            "insert into result (id, workunitid, appid, name, server_state, outcome, "
            "validate_state, hostid, userid, xml_doc_in) select 1, 1, id, 'demo_1_0', 5, 1, 1, 1, "
            "1, '<file_info>\n<name>demo_1_0_r7_0</name>\n</file_info>\n<file_info>\n"
            "<name>demo_1_0_r7_1</name>\n</file_info>\n<result>\n<file_ref>\n"
            "<file_name>demo_1_0_r7_0</file_name>\n<open_name>receipt</open_name>\n</file_ref>\n"
            "<file_ref>\n<file_name>demo_1_0_r7_1</file_name>\n<open_name>checkpoint</open_name>\n"
            "<optional/>\n</file_ref>\n</result>' from app");
    }

    server::TestProject& project_ = shared(std::exchange(is_altered_, false));
    inline static bool is_altered_ = false;  ///< whether a test has altered tables
    const KeyPair project_key_ = KeyPair::generate();
    const KeyPair ticket_key_ = KeyPair::generate();
    std::optional<PeerKey> run_ticket_key_ = ticket_key_.public_key();
    const KeyPair backbone_ = KeyPair::generate();
    const PeerKey member_ = KeyPair::generate().public_key();
    const PeerKey other_ = KeyPair::generate().public_key();
    formats::RunFile run_;
    RunId id_;
    Digest final_;
};

}  // namespace dedloc::check
