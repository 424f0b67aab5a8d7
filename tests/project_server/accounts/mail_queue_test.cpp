// E-mail through a relay that refuses, breaks off and is away; nothing is lost, and nothing is sent
// twice unless SMTP makes it inevitable.
#include "project_server/accounts/mail_queue.hpp"

#include <signal.h>
#include <unistd.h>

#include "peer/platform/process.hpp"
#include "tests/project_server/accounts/played_relay.hpp"
#include "tests/project_server/web/browser.hpp"

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;

/// A project with the account ada@example.org.
struct Accounts {
    TestProject project;
    Accounts() { add_user(project.database(), "Ada", 1); }
    Database& database() { return project.database(); }
    std::unique_ptr<Mailer> mailer(const MailSettings& settings) {
        return std::make_unique<Mailer>(
            settings, project.config().database, [](MailPurpose, const std::string& secret) {
                return MailMessage{.to = {}, .subject = "s", .text = "secret " + secret + "\n"};
            });
    }
    void ask(Mailer& mailer, MailPurpose purpose = MailPurpose::kReset) {
        mailer.request(database(), purpose, kAda);
    }
    std::int64_t count(const std::string& table) {
        return database().query_one("select count(*) as n from " + table)->integer("n");
    }
    void await_empty_queue() {
        const auto until = std::chrono::steady_clock::now() + 60s;
        while (count("dedloc_mail") > 0) {
            REQUIRE(std::chrono::steady_clock::now() < until);
            std::this_thread::sleep_for(10ms);
        }
    }
    static constexpr const char* kAda = "mail-of-1.000000@example.org";
};

std::string secret_of(const std::string& text) {
    const auto at = text.find("secret ");
    REQUIRE(at != text.npos);
    return text.substr(at + 7, 64);
}

}  // namespace

TEST_CASE("a message that the relay does not take waits, and is taken once",
          "[server][integration]") {
    Accounts accounts;
    PlayedRelay relay{{Act::kGreeting554, Act::kRecipient451, Act::kBreakInText, Act::kText452}};
    const auto mailer = accounts.mailer(relay.settings());
    accounts.ask(*mailer);
    accounts.await_empty_queue();
    CHECK(relay.connections >= 4);
    REQUIRE(relay.texts().size() == 1);
    // The secrets of the other attempts are gone, and this one works.
    CHECK(accounts.count("token") == 1);
    CHECK_FALSE(reset_password(accounts.database(), secret_of(relay.texts().front()), "much longer",
                               unix_now())
                    .refusal);
}

TEST_CASE("a message whose fate is unknown is sent again, with a link that works",
          "[server][integration]") {
    Accounts accounts;
    PlayedRelay relay{{Act::kBreakAfterText}};
    const auto mailer = accounts.mailer(relay.settings());
    accounts.ask(*mailer, MailPurpose::kConfirm);
    accounts.await_empty_queue();
    REQUIRE(relay.texts().size() == 2);
    CHECK_FALSE(confirm_email(accounts.database(), secret_of(relay.texts().back()), unix_now()));
}

TEST_CASE("a request ends when its account has another address", "[server][integration]") {
    Accounts accounts;
    Database& database = accounts.database();
    const auto away = [&] {
        auto settings = PlayedRelay{}.settings();  // gone when the mailer asks for it
        settings.first_pause = 600s;
        return settings;
    };
    {
        const auto mailer = accounts.mailer(away());
        accounts.ask(*mailer);
        accounts.ask(*mailer, MailPurpose::kConfirm);
    }
    CHECK(accounts.count("dedloc_mail where userid = 1") == 2);
    database.execute("update user set email_addr = 'new@example.org'");
    // Another account has the address now, and has asked for nothing.
    database.execute("insert into user (name, email_addr, authenticator) values ('Eve', ?, 'eve')",
                     {Accounts::kAda});
    database.execute("update dedloc_mail set next_attempt = 0");
    PlayedRelay relay;
    const auto mailer = accounts.mailer(relay.settings());
    accounts.await_empty_queue();
    CHECK(relay.recipients().empty());
    CHECK(accounts.count("token") == 0);
    mailer->request(database, MailPurpose::kReset, "New@example.org");
    accounts.await_empty_queue();
    CHECK(relay.recipients() == std::vector<std::string>{"new@example.org"});
}

TEST_CASE("what a former release has left waiting goes to the account's row or nowhere",
          "[server][integration]") {
    const std::string collation = GENERATE("utf8mb4_general_ci", "utf8mb4_nopad_bin");
    Accounts accounts;
    Database& database = accounts.database();
    for (const char* const table : {"user", "dedloc_mail"}) {
        database.execute("alter table " + std::string{table} +
                         " convert to character set utf8mb4 collate " + collation);
    }
    // Its table, with what visitors had typed: an account's address, a look-alike, a stranger's.
    database.execute(
        "alter table dedloc_mail drop index dedloc_mail_request, drop column userid, modify column "
        "email varchar(191) not null, add unique key dedloc_mail_same (purpose, email)");
    database.execute(
        "insert into dedloc_mail (purpose, email, created, next_attempt) values ('reset', ?, 1, "
        "1), "
        "('confirm', 'm\u00E0il-of-1.000000@example.org', 1, 1), ('reset', 'eve@example.org', 1, "
        "1)",
        {Accounts::kAda});
    upgrade_schema(database);
    upgrade_schema(database);
    CHECK(accounts.count("dedloc_mail where userid = 0") == 3);
    PlayedRelay relay;
    const auto mailer = accounts.mailer(relay.settings());
    accounts.await_empty_queue();
    CHECK(relay.recipients() == std::vector<std::string>{Accounts::kAda});
    REQUIRE(relay.texts().size() == 1);
    CHECK_FALSE(
        reset_password(database, secret_of(relay.texts().front()), "much longer", unix_now())
            .refusal);
}

TEST_CASE("a message that is refused for good is not sent again", "[server][integration]") {
    const auto act = GENERATE(Act::kRecipient550, Act::kText554);
    Accounts accounts;
    PlayedRelay relay{{act}};
    const auto mailer = accounts.mailer(relay.settings());
    accounts.ask(*mailer);
    accounts.await_empty_queue();
    CHECK(relay.texts().empty());
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (accounts.count("token") > 0 && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(10ms);
    }
    CHECK(accounts.count("token") == 0);
    try {
        deliver(PlayedRelay{{act}}.settings(),
                {.to = "ada@example.org", .subject = "s", .text = "t"});
        FAIL("it was taken");
    } catch (const IoError& error) {
        CHECK_THAT(error.what(), !Contains("ada@"));  // the log has no address
    }
}

TEST_CASE("a relay that never takes a message is asked a bounded number of times",
          "[server][integration]") {
    Accounts accounts;
    PlayedRelay relay{std::deque<Act>(100, Act::kRecipient451)};
    const auto mailer = accounts.mailer(relay.settings());
    accounts.ask(*mailer);
    // The table's times are whole seconds: make each attempt due.
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (accounts.count("dedloc_mail") > 0) {
        REQUIRE(std::chrono::steady_clock::now() < until);
        accounts.ask(*mailer);
        std::this_thread::sleep_for(20ms);
        if (accounts.count("dedloc_mail where attempts >= " + std::to_string(kMailAttempts)) > 0) {
            accounts.await_empty_queue();
        }
    }
    CHECK(relay.connections >= kMailAttempts - 1);
    CHECK(relay.connections <= kMailAttempts + 1);
}

TEST_CASE("a kill within a message loses nothing", "[server][integration]") {
    Accounts accounts;
    PlayedRelay relay{{}};
    auto settings = relay.settings();
    const auto ask = [&] {
        const auto mailer =
            accounts.mailer({.from = "project@example.org", .relay = "smtp://127.0.0.1:1"});
        mailer->request(accounts.database(), MailPurpose::kReset, Accounts::kAda);
    };
    ask();
    accounts.database().execute("update dedloc_mail set next_attempt = 0, attempts = 0");
    // A child process that is killed while it makes the message, after the row was taken.
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const pid_t child = fork();
    if (child == 0) {
        const Mailer mailer{settings, accounts.project.config().database,
                            [&](MailPurpose, const std::string&) {
                                (void)!write(pipe[1], "x", 1);
                                pause();
                                return MailMessage{.to = {}, .subject = "s", .text = "t"};
                            }};
        pause();
        _exit(0);
    }
    char mark = 0;
    REQUIRE(read(pipe[0], &mark, 1) == 1);
    kill(child, SIGKILL);
    platform::wait_for_child(child);
    close(pipe[0]);
    close(pipe[1]);
    CHECK(accounts.count("dedloc_mail where attempts = 1") == 1);
    const auto mailer = accounts.mailer(settings);
    accounts.await_empty_queue();
    CHECK(relay.texts().size() == 1);
}

TEST_CASE("a bounded number of requests waits, one for each address and purpose",
          "[server][integration]") {
    Accounts accounts;
    PlayedRelay relay{{}};
    {
        auto settings = relay.settings();
        settings.relay = "smtp://127.0.0.1:1";  // away
        settings.first_pause = 600s;
        const auto mailer = accounts.mailer(settings);
        for (int i = 0; i < 3; ++i) accounts.ask(*mailer);
        accounts.ask(*mailer, MailPurpose::kConfirm);
        CHECK(accounts.count("dedloc_mail") == 2);
        mailer->request(accounts.database(), MailPurpose::kReset, std::string(5'000, 'x'));
    }
    accounts.database().execute(
        "insert into dedloc_mail (purpose, email, created, next_attempt) select 'reset', "
        "concat('x', seq), 0, 4000000000 from seq_1_to_2000");
    const auto before = accounts.count("dedloc_mail");
    const auto mailer =
        accounts.mailer({.from = "project@example.org", .relay = "smtp://127.0.0.1:1"});
    mailer->request(accounts.database(), MailPurpose::kReset, "new@example.org");
    CHECK(accounts.count("dedloc_mail") <= before);
}

}  // namespace dedloc::server
