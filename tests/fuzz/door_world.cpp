#include "tests/fuzz/door_world.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/platform/ports.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/database/schema.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/signed_revocations.hpp"
#include "project_server/ticket_key.hpp"
#include "tests/small_run.hpp"

namespace dedloc::fuzz {
namespace {

namespace fs = std::filesystem;
using server::Database;

constexpr const char* kLinux = "x86_64-pc-linux-gnu";
constexpr int kTries = 4;
constexpr std::size_t kMaxRequests = 3;
constexpr std::int64_t kMuchLater = 2'000'000'000;

/// What an answer says when the database is away.
bool says_outage(const Answer& answer) {
    return answer.status >= 500 || answer.body.find("<project_is_down") != std::string::npos ||
           answer.body.find("not available now") != std::string::npos ||
           answer.body.find("<error_num>-183") != std::string::npos;
}

/// Repeats a system call that a signal has interrupted: libFuzzer's timer sends one every few
/// seconds.
template <class Call>
ssize_t uninterrupted(const Call& call) {
    ssize_t result = -1;
    do {
        result = call();
    } while (result < 0 && errno == EINTR);
    return result;
}

/// Sends bytes to a port of this machine and returns all that comes back; nothing if the server has
/// closed the connection.
std::string sent_and_received(std::uint16_t port, std::string_view request) {
    const int id = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* const server = reinterpret_cast<const sockaddr*>(&address);
    // An interrupted connect() goes on in the kernel.
    DEDLOC_CHECK(
        id >= 0 && (uninterrupted([&] { return connect(id, server, sizeof address); }) == 0 ||
                    errno == EISCONN),
        "the server accepts connections", errno);
    const timeval limit{.tv_sec = 60, .tv_usec = 0};
    setsockopt(id, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    while (!request.empty()) {
        const ssize_t sent =
            uninterrupted([&] { return ::send(id, request.data(), request.size(), MSG_NOSIGNAL); });
        if (sent <= 0) break;  // refused by its head
        request.remove_prefix(static_cast<std::size_t>(sent));
    }
    std::string answer;
    std::array<char, 16'384> piece{};
    ssize_t got = 0;
    while ((got = uninterrupted([&] { return ::recv(id, piece.data(), piece.size(), 0); })) > 0) {
        answer.append(piece.data(), static_cast<std::size_t>(got));
    }
    // A request that is still being served must not be sent again.
    DEDLOC_CHECK(got == 0 || errno == ECONNRESET, "a request is served within a minute", errno);
    close(id);
    return answer;
}

Answer ask(std::uint16_t port, const HttpRequest& request) {
    std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: {}\r\n",
                                   request.method, request.target, request.address);
    if (!request.cookie.empty())
        text += fmt::format("Cookie: dedloc_session={}\r\n", request.cookie);
    if (request.method != "GET") {
        text += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", request.type,
                            request.body.size());
    }
    // The servers close a connection on which nothing comes for two seconds, as a busy machine may
    // make it; then nothing was done.
    std::string all;
    for (int tries = 0; tries < kTries && all.empty(); ++tries) {
        all = sent_and_received(port, text + "\r\n" + request.body);
    }
    Answer answer;
    const auto end = all.find("\r\n\r\n");
    if (all.starts_with("HTTP/1.1 ") && end != std::string::npos) {
        std::from_chars(all.data() + 9, all.data() + all.size(), answer.status);
        answer.head = all.substr(0, end);
        answer.body = all.substr(end + 4);
    }
    DEDLOC_CHECK(answer.status != 0, "every request is answered", request.target, request.body,
                 all);
    DEDLOC_CHECK(!says_outage(answer), "no answer says outage while the database is up",
                 request.target, request.body, all);
    return answer;
}

/// Texts that a careless comparison takes for this one. Without those that a reader of XML or of
/// forms rightly takes for it.
void add_look_alikes(std::vector<std::string>& values, const std::string& text) {
    std::string upper = text;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string accented = text;
    if (const auto at = accented.find_first_of("eo"); at != std::string::npos) {
        accented.replace(at, 1, accented[at] == 'e' ? "é" : "ö");
    }
    for (const std::string& each :
         {upper, accented, text + '\0', text + "\u200B", text.substr(0, text.size() / 2),
          text + "%", text + "\u3000", "\uFEFF" + text}) {
        // Not every text has a letter to change, and an account does not know another one's key.
        if (each != text) values.push_back(each);
    }
}

/// The run's file; writes what the gateway signs its tickets with to the project's folder.
std::string make_run(const fs::path& project) {
    formats::RunFile run = tests::small_run();
    const KeyPair project_key = KeyPair::generate();
    server::make_ticket_key(project);
    fs::create_directories(project / "runs/first");
    server::write_signed_revocations(project / "runs/first",
                                     formats::sign(formats::Revocations{}, project_key));
    run.project_key = run.backbone_key = project_key.public_key();
    run.ticket_key = server::read_ticket_key(project).public_key();
    run.gateway = "http://127.0.0.1/dedloc/";
    run.dht_seeds.push_back({.host = "127.0.0.1", .port = 9});
    return formats::write_run_file(run);
}

}  // namespace

std::string password_hash(const Person& person) {
    return server::boinc_password_hash(kPassword, person.email);
}

DoorProject::DoorProject(const server::MariadbPlace& place, server::ProjectConfig config,
                         const std::string& initial_statement)
    : config_(std::move(config)) {
    Database administrator{server::mariadb_administrator(place)};
    administrator.execute(initial_statement);
    server::create_database(administrator, config_.database);
    database_ = std::make_unique<Database>(config_.database);
    server::apply_schema(*database_);
    honest_ = add_person("honest");
    odd_ = add_person("odd");
    add_jobs();
    select_rows_of_others();
    keep_rows();
    for (const Person* const person : {&honest_, &odd_}) {
        for (const std::string* const text :
             {&person->key, &person->email, &person->cpid, &person->result}) {
            add_look_alikes(known_values_, *text);
        }
        for (const std::string& text :
             {person->email, person->cpid, person->result, std::to_string(person->user),
              std::to_string(person->host)}) {
            known_values_.push_back(text);
        }
    }
    // An account does not know the secrets of another one.
    known_values_.push_back(odd_.key);
    known_values_.push_back(password_hash(odd_));
    for (const char* const text : {kPassword, kLinux, "home", "dedloc", "first_1", "first_3_0"}) {
        known_values_.emplace_back(text);
    }
    web_ = std::make_unique<server::HttpServer>(config_, "127.0.0.1", 0);
    gateway_ = std::make_unique<gateway::GatewayServer>(config_, config_.directory,
                                                        gateway::GatewayAddress{});
    serving_.emplace_back([this] { web_->run(); });
    serving_.emplace_back([this] { gateway_->run(); });
}

DoorProject::~DoorProject() {
    web_->stop();
    gateway_->stop();
    for (std::thread& thread : serving_) thread.join();
}

Person DoorProject::add_person(const std::string& name) {
    Person person{.key = server::md5_of_text("the key of " + name),
                  .email = name + "@example.org",
                  .cpid = server::md5_of_text("the computer of " + name),
                  .result = {},
                  .session = {},
                  .address = name == "odd" ? "10.0.0.1" : "10.9.9.9"};
    database_->execute(
        "insert into user (create_time, name, email_addr, authenticator, passwd_hash, "
        "cross_project_id) values (1, ?, ?, ?, ?, ?)",
        {name, person.email, person.key, server::slow_hash(password_hash(person)),
         server::random_key()});
    person.user = database_->insert_id();
    database_->execute(
        "insert into host (create_time, userid, rpc_time, domain_name, host_cpid, p_ncpus, "
        "p_fpops, m_nbytes) values (1, ?, 1, ?, ?, 2, 1e9, 8e9)",
        {person.user, name, person.cpid});
    person.host = database_->insert_id();
    database_->execute(
        "insert into team (create_time, userid, name, name_lc, type) values (1, ?, ?, ?, 1)",
        {person.user, "team of " + name, "team of " + name});
    person.session = server::begin_session(*database_, person.user, server::unix_now());
    return person;
}

void DoorProject::add_jobs() {
    Database& database = *database_;
    database.execute("insert into app (name, user_friendly_name) values ('dedloc_train', 'T')");
    database.execute(
        "insert into app_version (appid, version_num, platformid, xml_doc) select 1, 100, id, "
        "'<app_version>\n</app_version>\n' from platform where name = ?",
        {kLinux});
    database.execute(
        "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values ('first', ?, ?, 1, 1, 1, 1, 0)",
        {std::string(64, 'a'), make_run(config_.directory)});
    const std::int64_t run = database.insert_id();
    // More are unsent than odd requests can get, each of which may be asked several times.
    std::array<Person*, 22> owners{&honest_, &odd_};
    for (std::size_t i = 0; i < owners.size(); ++i) {
        const std::string name = fmt::format("first_{}", i + 1);
        database.execute(
            "insert into workunit (name, appid, xml_doc, delay_bound, transition_time, opaque) "
            "values (?, 1, '<workunit>\n</workunit>\n', 100, ?, ?)",
            {name, kMuchLater, run});
        Person* const owner = owners[i];
        database.execute(
            "insert into result (name, workunitid, appid, app_version_id, server_state, "
            "xml_doc_in, hostid, userid, sent_time, report_deadline) values (?, ?, 1, 1, ?, "
            "'<result>\n</result>\n', ?, ?, 1, ?)",
            {name + "_0", database.insert_id(), owner == nullptr ? 2 : 4,
             owner == nullptr ? 0 : owner->host, owner == nullptr ? 0 : owner->user, kMuchLater});
        if (owner != nullptr) owner->result = name + "_0";
    }
}

/// Copies of all tables, which reset() reads.
void DoorProject::keep_rows() {
    for (const auto& row : database_->query(
             "select table_name as t from information_schema.tables where table_schema = ?",
             {config_.database.name})) {
        tables_.push_back(row.text("t"));
    }
    for (const std::string& table : tables_) {
        database_->execute(fmt::format("create table base_{0} like {0}", table));
        database_->execute(fmt::format("insert into base_{0} select * from {0}", table));
    }
}

void DoorProject::reset() {
    server::Batch batch{*database_};
    for (const std::string& table : tables_) {
        batch.add(fmt::format("delete from {}", table));
        batch.add(fmt::format("insert into {0} select * from base_{0}", table));
    }
    batch.run();
}

Answer DoorProject::web(const HttpRequest& request) {
    return ask(web_->port(), request);
}

Answer DoorProject::gateway(const HttpRequest& request) {
    return ask(gateway_->port(), request);
}

void DoorProject::select_rows_of_others() {
    const std::vector<std::pair<std::string, std::string>> kinds = {
        {"user", fmt::format("id = {}", honest_.user)},
        {"host", fmt::format("userid = {}", honest_.user)},
        {"result", fmt::format("userid = {}", honest_.user)},
        {"team", fmt::format("userid = {}", honest_.user)},
        {"token", fmt::format("userid = {}", honest_.user)},
        {"msg_from_host", fmt::format("hostid = {}", honest_.host)},
        {"dedloc_ticket", fmt::format("userid = {}", honest_.user)}};
    for (const auto& [table, condition] : kinds) {
        // Others may join a team: the number of its members is theirs to change.
        const auto columns = database_->query_one(
            "select group_concat(concat('hex(`', column_name, '`)') order by ordinal_position) as "
            "c from information_schema.columns where table_schema = ? and table_name = ? and "
            "column_name not in ('nusers', 'mod_time')",
            {config_.database.name, table});
        rows_of_others_.push_back(
            fmt::format("select concat_ws(',', '{0}', {1}) as r from {0} "
                        "where {2}",
                        table, columns->text("c"), condition));
    }
}

std::string DoorProject::rows_of_others() {
    server::Batch batch{*database_};
    for (const std::string& statement : rows_of_others_) batch.add(statement);
    std::string rows;
    for (const auto& outcome : batch.run()) {
        for (const auto& row : outcome.rows) rows += row.text("r") + '\n';
    }
    return rows;
}

DoorWorld::DoorWorld() {
    start_log("fuzz_door", LogLevel::kError);
    const server::MariadbPlace place{.directory = folder_.path() / "db",
                                     .port = platform::free_port("127.0.0.1")};
    server::initialise_mariadb(place);
    mariadb_ = std::make_unique<server::MariadbProcess>(place);
    Database administrator{server::mariadb_administrator(place)};
    for (const char* const setting :
         {"innodb_flush_log_at_trx_commit", "innodb_file_per_table", "sync_frm"}) {
        administrator.execute(fmt::format("set global {} = 0", setting));
    }
    // MariaDB executes it for every connection but the administrator's.
    administrator.execute(
        "set global init_connect = \"set session sql_mode = if(database() = 'door_1', '', "
        "'strict_trans_tables,error_for_division_by_zero,no_auto_create_user')\"");
    for (const char* const name : {"download", "upload", "keys", "templates", "runs", "html"}) {
        fs::create_directories(folder_.path() / name);
    }
    std::ofstream{folder_.path() / "config.xml"} << "<boinc>\n<config>\n</config>\n</boinc>\n";
    for (const char* const key : {"code_sign", "upload"}) {
        server::make_key_pair(folder_.path() / "keys", key);
    }
}

DoorWorld::~DoorWorld() = default;

DoorProject& DoorWorld::project(std::size_t kind) {
    auto& project = projects_.at(kind);
    if (!project) {
        server::ProjectConfig config;
        config.directory = folder_.path();
        config.name = "Doors";
        config.master_url = "http://127.0.0.1/";
        config.download_url = config.master_url + "download";
        config.upload_url = config.master_url + "file_upload_handler";
        config.download_directory = folder_.path() / "download";
        config.upload_directory = folder_.path() / "upload";
        config.key_directory = folder_.path() / "keys";
        config.directory_fanout = 1024;
        config.send_messages_to_hosts = true;
        config.database = {.host = "127.0.0.1",
                           .port = mariadb_->place().port,
                           .socket = "",
                           .user = "dedloc",
                           .password = "a secret",
                           .name = fmt::format("door_{}", kind)};
        const std::string create =
            fmt::format("create database {} character set {}", config.database.name,
                        kind == 2 ? "latin1" : "utf8mb4");
        project = std::make_unique<DoorProject>(mariadb_->place(), std::move(config), create);
    }
    project->reset();
    return *project;
}

DoorWorld& door_world() {
    static DoorWorld world;
    return world;
}

DoorProject& send_odd_requests(
    Recipe& recipe, const std::function<std::string(DoorProject& project, Recipe& recipe)>& send) {
    DoorProject& project = door_world().project(recipe.choose(3));
    const std::string others = project.rows_of_others();
    for (std::size_t left = 1 + recipe.choose(kMaxRequests); left > 0; --left) {
        const std::string request = send(project, recipe);
        const std::string now = project.rows_of_others();
        DEDLOC_CHECK(now == others, "an odd request changes rows of its own account only", request,
                     others, now);
    }
    return project;
}

}  // namespace dedloc::fuzz
