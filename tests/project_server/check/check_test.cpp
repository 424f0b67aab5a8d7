#include "project_server/check/check.hpp"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "project_server/corpus/corpus.hpp"
#include "tests/project_server/check/defects.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

const std::string kTokenizer = "the rules of a tokenizer";

void alter(const fs::path& path, std::streamoff from_end = 1) {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekg(-from_end, std::ios::end);
    const char byte = static_cast<char>(file.peek() ^ 1);
    file.seekp(-from_end, std::ios::end);
    file.put(byte);
    REQUIRE(file.good());
}

void make_old(const fs::path& path, std::chrono::hours age) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

Defect altered(const char* sentence, const char* statement) {
    return {"schema", sentence, Level::kBad,
            [=](CheckedProject& project) { project.alter_table(statement); }};
}

Defect sql(const char* check, const char* sentence, const char* statement,
           Level level = Level::kBad) {
    return {check, sentence, level,
            [=](CheckedProject& project) { project.database().execute(statement); }};
}

/// What a run keeps of the corpus that it is made of, and the tokenizer.json that made it.
void record_tokenizer(const CheckedProject& project, bool has_rules = true) {
    const fs::path folder = project.run_folder();
    const auto run = formats::parse_run_file(platform::read_text(folder / "run.json"));
    corpus::Corpus corpus;
    corpus.vocabulary = formats::albert_of(run).vocabulary;
    corpus.special_tokens = run.special_tokens;
    corpus.shards = run.shards;
    if (has_rules) {
        corpus.rules = corpus::TextRules{.tokenizer = blake2b(bytes_of(kTokenizer))};
        platform::replace_file(folder / "tokenizer.json", kTokenizer);
    }
    corpus::write_corpus(folder, corpus);
}

TEST_CASE("a project in which nothing is wrong has no fault", "[server][integration]") {
    CheckedProject project;
    for (project.is_quick = false;; project.is_quick = true) {
        for (const Finding& fault : project.faults()) FAIL(fault.check + ": " + fault.sentence);
        if (project.is_quick) break;
    }
    const auto findings = check_project(project.subject());
    CHECK(findings.count(Level::kUnknown) == 1);  // daemons
    std::set<std::string> checks;
    for (const Finding& finding : findings.all()) checks.insert(finding.check);
    CHECK(checks.size() == 18);
}

TEST_CASE("secrets that others can read and keys that do not match are found",
          "[server][integration]") {
    find_each({
        {"secrets", "keys/project.key: its mode is 644", Level::kBad,
         [](CheckedProject& p) { chmod((p.root() / "keys/project.key").c_str(), 0644); }},
        {"secrets", "keys/ticket.key: its mode is 640", Level::kBad,
         [](CheckedProject& p) { chmod((p.root() / "keys/ticket.key").c_str(), 0640); }},
        {"secrets", "keys/ticket.key cannot be read", Level::kBad,
         [](CheckedProject& p) { fs::remove(p.root() / "keys/ticket.key"); }},
        {"secrets", "config.xml: its mode is 640", Level::kBad,
         [](CheckedProject& p) { chmod((p.root() / "config.xml").c_str(), 0640); }},
        {"secrets", "backbone.key: its mode is 602", Level::kBad,
         [](CheckedProject& p) { chmod((p.run_folder() / "backbone.key").c_str(), 0602); }},
        {"secrets", "upload_private cannot be read", Level::kBad,
         [](CheckedProject& p) { fs::remove(p.root() / "keys/upload_private"); }},
        {"secrets", "credentials: its mode is 644", Level::kBad,
         [](CheckedProject& p) {
             p.settings.mail_credentials = p.root() / "credentials";
             platform::replace_file(p.settings.mail_credentials, "name:password");
         }},
        {"keys", "code_sign_public is not the other half", Level::kBad,
         [](CheckedProject& p) {
             fs::create_directory(p.root() / "other");
             server::make_key_pair(p.root() / "other", "code_sign");
             fs::rename(p.root() / "other/code_sign_public", p.root() / "keys/code_sign_public");
         }},
        {"keys", "contains no BOINC key", Level::kBad,
         [](CheckedProject& p) {
             platform::replace_file(p.root() / "keys/upload_public", "nothing");
         }},
    });
}

TEST_CASE("a run without a ticket key, for which the gateway has the project's key, is found",
          "[server][integration]") {
    const auto warnings = [](CheckedProject& project) {
        return std::ranges::count_if(project.faults(), [](const Finding& fault) {
            return fault.check == "runs" && fault.level == Level::kWarning &&
                   fault.sentence.starts_with("the run file of demo names no ticket key");
        });
    };
    CheckedProject project{false};
    CHECK(project.faults().empty());  // the run is finished
    project.database().execute("update dedloc_run set state = 'paused'");
    CHECK(warnings(project) == 1);
    CheckedProject newer;
    newer.database().execute("update dedloc_run set state = 'paused'");
    CHECK(warnings(newer) == 0);
}

TEST_CASE("a code-signing key on another machine is no fault", "[server][integration]") {
    CheckedProject project;
    fs::remove(project.root() / "keys/code_sign_private");
    CHECK(project.faults().empty());
}

TEST_CASE("what writes that never ended have left is found", "[server][integration]") {
    find_each({
        {"leftovers", ".demo.unfinished-123 was left", Level::kWarning,
         [](CheckedProject& p) {
             fs::create_directory(p.root() / "runs/.demo.unfinished-123");
             make_old(p.root() / "runs/.demo.unfinished-123", std::chrono::hours{2});
         }},
        {"leftovers", "run.json.tmp was left", Level::kWarning,
         [](CheckedProject& p) {
             platform::replace_file(p.run_folder() / "run.json.tmp", "x");
             make_old(p.run_folder() / "run.json.tmp", std::chrono::hours{2});
         }},
        {"leftovers", "x.unfinished was left 30 hours ago", Level::kWarning,
         [](CheckedProject& p) {
             platform::replace_file(p.config().upload_directory / "x.unfinished", "x");
             make_old(p.config().upload_directory / "x.unfinished", std::chrono::hours{30});
         }},
    });
    CheckedProject project;
    platform::replace_file(project.config().upload_directory / "x.unfinished", "x");
    make_old(project.config().upload_directory / "x.unfinished", std::chrono::hours{20});
    CHECK(project.faults().empty());  // an upload that may go on
}

TEST_CASE("tables, columns and indices that differ from the schema are found",
          "[server][integration]") {
    find_each({
        altered("the table dedloc_news is absent", "drop table dedloc_news"),
        altered("the column dedloc_run.evaluate_samples is absent",
                "alter table dedloc_run drop column evaluate_samples"),
        altered("the column dedloc_run.name is (varchar(20)",
                "alter table dedloc_run modify name varchar(20) not null"),
        altered("the index result.dedloc_result_host (hostid, server_state) is absent",
                "drop index dedloc_result_host on result"),
        altered("the index token.dedloc_token_expiry is (type)",
                "create or replace index dedloc_token_expiry on token (type)"),
        altered("the table team compares its text by utf8mb4_general_ci, not by bytes "
                "(utf8mb4_nopad_bin): name",
                "alter table team modify name varchar(254) collate utf8mb4_general_ci not null "
                "default ''"),
        altered("the table dedloc_news compares its text by latin1_swedish_ci, not by bytes "
                "(utf8mb4_nopad_bin): the default of new columns",
                "alter table dedloc_news default character set latin1"),
        altered("is not at its place",
                "alter table host modify venue varchar(254) not null default '' first"),
    });
}

TEST_CASE("damaged tables are found", "[server][integration]") {
    find_each({{"tables", "damage in the table dedloc_news", Level::kBad, [](CheckedProject& p) {
                    auto& database = p.database();
                    p.alter_table("alter table dedloc_news engine = MyISAM");
                    for (int i = 0; i < 20; ++i) {
                        database.execute(
                            "insert into dedloc_news (created, title, body) values (1, 't', 'b')");
                    }
                    CheckedProject::administrator().execute("flush tables");
                    const auto data = server::test_mariadb().place().directory / "data";
                    fs::resize_file(data / "dedloc_test/dedloc_news.MYD", 100);
                }}});
}

TEST_CASE("rows that refer to nothing are found", "[server][integration]") {
    find_each({
        sql("rows", "1 results have no workunit",
            "insert into result (id, name, workunitid) values (9, 'r', 999)"),
        sql("rows", "1 workunits have no app",
            "insert into workunit (id, name, appid) values (9, 'w', 77)"),
        sql("rows", "1 jobs belong to a run that does not exist",
            "insert into workunit (id, name, appid, opaque, assimilate_state) select 9, 'w', id, "
            "7, 2 from app"),
        sql("rows", "1 computers have no account", "insert into host (userid) values (99)"),
        sql("rows", "1 accounts are members of a team", "update user set teamid = 7"),
        sql("rows", "1 sessions", "insert into token (token, userid) values ('x', 99)"),
        sql("rows", "1 seats have no run",
            "insert into dedloc_seat (runid, peer_key) values (9, 'k')"),
        sql("rows", "1 tickets have no run",
            "insert into dedloc_ticket (runid, peer_key, resultid, issued, expires) values (9, "
            "'k', 1, 1, 1)"),
        sql("rows", "1 contributions have no run",
            "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum) values "
            "(9, 1, 'k', 1, 1)"),
        sql("rows", "1 steps have no run",
            "insert into dedloc_step values (9, 1, 1, 1, 1, 1, 1, '', 1, 1)"),
        sql("rows", "1 figures have no evaluation",
            "insert into dedloc_figure values (1, 7, 'masked_accuracy', 1, null)"),
        sql("rows", "1 answers have no evaluation",
            "insert into dedloc_answer values (1, 7, 0, 1, 'a', 'b', '', 'c', 0.5)"),
    });
}

TEST_CASE("credit that is not the sum of the contributions is found", "[server][integration]") {
    find_each({
        sql("credit", "account 1 has 8.1 credits, and its contributions are worth 8",
            "update user set total_credit = 8.1"),
        sql("credit", "account 1 has 8 credits, and its contributions are worth 6",
            "update dedloc_contribution set credit = 0, credit_state = 0 where step = 3"),
        sql("credit", "another credit than their samples, reduced bytes",
            "update dedloc_contribution set reduced_bytes = 1000 where step = 3 and credit_state = "
            "1"),
        sql("credit", "another credit than their samples",
            "update dedloc_contribution set credit = 3 where step = 3 and credit_state = 1"),
        sql("credit", "the computers of account 1 have 9 credits, more than",
            "update host set total_credit = 9"),
        sql("credit", "the computers of 1 accounts", "update host set total_credit = 5",
            Level::kWarning),
        sql("credit", "teams have 8.5 credits", "update team set total_credit = 8.5"),
        sql("credit", "all accounts, with the deleted ones, have 9",
            "insert into dedloc_deleted_credit values (7, 1, 1)"),
    });
}

TEST_CASE("credit of days that were compacted counts", "[server][integration]") {
    CheckedProject project;
    auto& rows = project.database();
    rows.execute("delete from dedloc_contribution where step <= 2");
    rows.execute(
        "insert into dedloc_daily_credit values (1, 1, 1, 0, 2, 40, 0, 4, 0, 0), "
        "(1, 0, 0, 0, 1, 0, 10, 0, 0, 4000)");
    rows.execute("update dedloc_run set compacted = 2");
    CHECK(project.faults().empty());
    for (const char* const change : {"samples = 41", "samples = 40, reduced_bytes = 1"}) {
        rows.execute(fmt::format("update dedloc_daily_credit set {} where userid = 1", change));
        const auto faults = project.faults();
        REQUIRE(faults.size() == 1);
        CHECK(faults.front().sentence.find("compacted contributions") == 0);
    }
}

TEST_CASE("files of clients that are absent or altered are found", "[server][integration]") {
    const auto app = [](CheckedProject& p) {
        for (const auto& entry : fs::directory_iterator{p.config().download_directory}) {
            if (entry.is_regular_file()) return entry.path();
        }
        return fs::path{};
    };
    // Publishes a version that clients download compressed; returns the compressed file.
    const auto compressed = [](CheckedProject& p) {
        platform::replace_file(p.root() / "app", std::string(100'000, 'a'));
        server::add_app_version(
            p.database(), p.config(),
            {.app = "dedloc_train",
             .friendly_name = "Training",
             .version = 101,
             .files = {{.source = p.root() / "app", .open_name = "app", .is_main_program = true}},
             .is_gzipped = true});
        for (const auto& entry : fs::directory_iterator{p.config().download_directory}) {
            if (entry.path().extension() == ".gz") return entry.path();
        }
        return fs::path{};
    };
    find_each({
        {"downloads", ".gz is damaged", Level::kBad,
         [=](CheckedProject& p) { alter(compressed(p)); }},
        {"downloads", ".gz has 9 bytes, not ", Level::kBad,
         [=](CheckedProject& p) { fs::resize_file(compressed(p), 9); }},
        {"downloads", ".gz is absent", Level::kBad,
         [=](CheckedProject& p) { fs::remove(compressed(p)); }},
        {"downloads", "is absent", Level::kBad, [=](CheckedProject& p) { fs::remove(app(p)); }},
        {"downloads", "is not signed", Level::kBad, [=](CheckedProject& p) { alter(app(p)); }},
        {"downloads", "has 9 bytes, not 17", Level::kBad,
         [=](CheckedProject& p) { fs::resize_file(app(p), 9); }},
        {"downloads", "shard_a is altered", Level::kBad,
         [](CheckedProject& p) { alter(p.place(p.config().download_directory, "shard_a")); }},
        {"downloads", "shard_a is absent", Level::kBad,
         [](CheckedProject& p) { fs::remove(p.place(p.config().download_directory, "shard_a")); }},
        {"downloads", "no version of the app is published", Level::kWarning,
         [](CheckedProject& p) {
             p.database().execute("delete from app_version");
             p.database().execute("update dedloc_run set state = 'running'");
         }},
        {"uploads", "demo_1_0_r7_0, the output file", Level::kBad,
         [](CheckedProject& p) {
             fs::remove(p.place(p.config().upload_directory, "demo_1_0_r7_0"));
         }},
    });
}

TEST_CASE("runs whose files, keys and rows do not agree are found", "[server][integration]") {
    find_each({
        {"runs", "shard_a is absent", Level::kBad,
         [](CheckedProject& p) { fs::remove(p.run_folder() / "shards/shard_a"); }},
        {"runs", "shard_a is cut off or altered", Level::kBad,
         [](CheckedProject& p) { alter(p.run_folder() / "shards/shard_a"); }},
        {"runs", "shard_b is cut off or altered", Level::kBad,
         [](CheckedProject& p) {
             p.is_quick = true;
             fs::resize_file(p.run_folder() / "held_out/shard_b", 3);
         }},
        {"runs", "run.json", Level::kBad,
         [](CheckedProject& p) { platform::replace_file(p.run_folder() / "run.json", "{}"); }},
        {"runs", "was made with another project key", Level::kBad,
         [](CheckedProject& p) {
             platform::write_key(p.root() / "keys/project.key", KeyPair::generate());
         }},
        {"runs", "was made with another ticket key", Level::kBad,
         [](CheckedProject& p) {
             platform::write_key(p.root() / "keys/ticket.key", KeyPair::generate());
         }},
        {"runs", "is not the key that the run file names", Level::kBad,
         [](CheckedProject& p) {
             platform::write_key(p.run_folder() / "backbone.key", KeyPair::generate());
         }},
        {"runs", "tokenizer.model is absent", Level::kBad,
         [](CheckedProject& p) { fs::remove(p.run_folder() / "tokenizer.model"); }},
        {"runs", "tokenizer.json, which made the corpus, is absent", Level::kBad,
         [](CheckedProject& p) {
             record_tokenizer(p);
             fs::remove(p.run_folder() / "tokenizer.json");
         }},
        {"runs", "tokenizer.json is altered", Level::kBad,
         [](CheckedProject& p) {
             record_tokenizer(p);
             alter(p.run_folder() / "tokenizer.json");
         }},
        {"runs", "tokenizer.json does not belong to the corpus", Level::kBad,
         [](CheckedProject& p) {
             record_tokenizer(p, false);
             platform::replace_file(p.run_folder() / "tokenizer.json", kTokenizer);
         }},
        {"runs", "corpus.json is not JSON", Level::kBad,
         [](CheckedProject& p) { platform::replace_file(p.run_folder() / "corpus.json", "{"); }},
        {"runs", "the run demo of the database has no folder", Level::kBad,
         [](CheckedProject& p) { fs::remove_all(p.run_folder()); }},
        {"runs", "with another run file", Level::kBad,
         [](CheckedProject& p) { p.database().execute("update dedloc_run set run_id = 'x'"); }},
    });
    CheckedProject project;
    record_tokenizer(project);
    CHECK(project.faults().empty());
    fs::copy(project.run_folder(), project.root() / "runs/copy", fs::copy_options::recursive);
    const auto faults = project.faults();
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].sentence.find("is the file of the run demo") != std::string::npos);
    CHECK(faults[1].sentence.find("copy is no run of the database") != std::string::npos);
}

TEST_CASE("rows that are not those of the ledger are found", "[server][integration]") {
    find_each({
        sql("ledgers",
            "3 rows with 60 samples and 0 reduced bytes in the database, 4 with 80 and 0 in",
            "delete from dedloc_contribution where step = 3 and credit_state = 1"),
        sql("ledgers",
            "1 rows with 11 samples and 4000 reduced bytes in the database, 1 with 10 and 4000",
            "update dedloc_contribution set samples = 11 where credit_state = 3"),
        sql("ledgers",
            "1 rows with 5 samples and 0 reduced bytes in the database, 0 with 0 and 0 in",
            "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, "
            "credit_state) values (1, 2, 'ab', 5, 1, 3)"),
        sql("ledgers", "1 rows with 10 samples and 4001 reduced bytes in the database, 1 with 10",
            "update dedloc_contribution set reduced_bytes = 4001 where credit_state = 3"),
        sql("ledgers", "0 rows with 0 samples and 0 reduced bytes in the database, 1 with 10",
            "delete from dedloc_contribution where credit_state = 3"),
        sql("ledgers", "3 rows of steps in the database up to step 4",
            "delete from dedloc_step where step = 2"),
        sql("ledgers", "other samples in the database",
            "update dedloc_step set samples = 21 where step = 2"),
        sql("ledgers", "another last state", "update dedloc_run set final_digest = run_id"),
        sql("ledgers", "5 steps in the database, and 4 in the ledger",
            "insert into dedloc_step values (1, 5, 1, 1, 1, 1, 1, '', 1, 1)"),
        {"ledgers", "4 steps in the database and no ledger", Level::kBad,
         [](CheckedProject& p) { fs::remove(p.run_folder() / "ledger"); }},
    });
}

TEST_CASE("a ledger with an altered vote is found", "[server][integration]") {
    CheckedProject project;
    // The last record is damaged, so its checksum is wrong and the reader stops before it or says
    // so; an altered record in the middle is damage in either case.
    alter(project.run_folder() / "ledger", 400);
    const auto faults = project.faults();
    REQUIRE(faults.size() >= 1);
    CHECK(faults.front().check == "ledgers");
}

TEST_CASE("steps that the database does not have yet are no fault", "[server][integration]") {
    CheckedProject project;
    auto& rows = project.database();
    rows.execute("delete from dedloc_step where step = 4");
    rows.execute("delete from dedloc_contribution where step = 4");
    rows.execute("update dedloc_run set state = 'running', final_digest = ''");
    rows.execute("update user set total_credit = 6");
    rows.execute("update host set total_credit = 6");
    rows.execute("update team set total_credit = 6");
    CHECK(project.faults().empty());
    bool is_told = false;
    for (const Finding& finding : check_project(project.subject()).all()) {
        is_told = is_told || finding.sentence.find("but for the last 1,") != std::string::npos;
    }
    CHECK(is_told);
}

TEST_CASE("checkpoints that are damaged or not proven are found", "[server][integration]") {
    find_each({
        {"checkpoints", "is damaged", Level::kBad,
         [](CheckedProject& p) { alter(p.checkpoint()); }},
        {"checkpoints", "is a state that the ledger does not lead to", Level::kWarning,
         [](CheckedProject& p) { p.save_other_state(); }},
        {"checkpoints", "not a checkpoint", Level::kBad,
         [](CheckedProject& p) { platform::replace_file(p.checkpoint(), "x"); }},
        {"checkpoints", "has no checkpoint", Level::kWarning,
         [](CheckedProject& p) {
             fs::remove_all(p.run_folder() / "checkpoints");
             fs::create_directory(p.run_folder() / "checkpoints");
         }},
    });
}

TEST_CASE("a quick check reads no large files", "[server][integration]") {
    CheckedProject project;
    project.is_quick = true;
    alter(project.checkpoint());
    alter(project.run_folder() / "shards/shard_a");
    alter(project.place(project.config().download_directory, "shard_a"));
    CHECK(project.faults().empty());
}

TEST_CASE("a database server that refuses long statements is found", "[server][integration]") {
    CheckedProject project;
    auto administrator = CheckedProject::administrator();
    administrator.execute("set global max_allowed_packet = 1048576");
    const auto faults = project.faults();
    administrator.execute("set global max_allowed_packet = 33554432");
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].check == "schema");
    CHECK(faults[0].sentence.find("set max_allowed_packet=16M") != std::string::npos);
    CHECK(project.faults().empty());
}

TEST_CASE("without the database the files are checked all the same", "[server][integration]") {
    CheckedProject project;
    fs::remove(project.run_folder() / "tokenizer.model");
    Subject subject = project.subject();
    subject.database_failure = "the database does not start";
    const auto findings = check_project(subject);
    CHECK(findings.count(Level::kBad) == 2);
}

TEST_CASE("a daemon that does not run is found", "[server][integration]") {
    CheckedProject project;
    Subject subject = project.subject();
    subject.is_running = true;
    subject.daemons = {{.name = "nginx", .runs = true}, {.name = "dedloc-work", .runs = false}};
    const auto findings = check_project(subject).all();
    const auto said = [&](const std::string& part) {
        return std::ranges::any_of(findings, [&](const Finding& finding) {
            return finding.level == Level::kBad && finding.check == "daemons" &&
                   finding.sentence.find(part) != std::string::npos;
        });
    };
    CHECK(said("dedloc-work does not run"));
    CHECK_FALSE(said("nginx does not run"));
    CHECK(said("no daemon accepts connections at 127.0.0.1:1"));
}

TEST_CASE("of many findings of one check the first ones are kept", "[server]") {
    Findings findings;
    findings.begin("rows");
    for (int i = 0; i < 50; ++i) findings.bad(fmt::format("row {}", i), "look");
    findings.begin("next");
    findings.good("fine");
    CHECK(findings.is_clean());
    CHECK(findings.count(Level::kBad) == 50);
    const auto all = findings.all();
    REQUIRE(all.size() == Findings::kMaxPerCheck + 2);
    CHECK(all[Findings::kMaxPerCheck].sentence == "30 more findings of this kind");
}

}  // namespace
}  // namespace dedloc::check
