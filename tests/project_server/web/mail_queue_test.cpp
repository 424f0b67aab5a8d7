// E-mail through a relay that refuses, breaks off and is away; nothing is lost, and nothing is sent
// twice unless SMTP makes it inevitable.
#include "project_server/accounts/mail_queue.hpp"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <deque>

#include "peer/platform/process.hpp"
#include "tests/project_server/web/browser.hpp"

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;

/// What the relay does with one connection.
enum class Act {
    kTake,
    kGreeting554,    ///< refuses the connection
    kRecipient451,   ///< refuses the recipient for now
    kRecipient550,   ///< refuses the recipient for good
    kText554,        ///< refuses the message for good
    kText452,        ///< refuses the message for now
    kBreakInText,    ///< closes the connection within the message
    kBreakAfterText  ///< takes the message and closes the connection without an answer
};

/// A relay that follows a script, one act for each connection, and then takes everything.
class ScriptedRelay {
  public:
    explicit ScriptedRelay(std::deque<Act> script) : script_(std::move(script)) {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        REQUIRE(listen(listener_, 16) == 0);
        socklen_t size = sizeof address;
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread{[this] {
            for (int link = 0; (link = accept(listener_, nullptr, nullptr)) >= 0; close(link)) {
                serve(link);
                ++connections;
            }
        }};
    }
    ~ScriptedRelay() {
        shutdown(listener_, SHUT_RDWR);
        thread_.join();
        close(listener_);
    }
    MailSettings settings() const {
        return {.from = "project@example.org",
                .relay = "smtp://127.0.0.1:" + std::to_string(port_),
                .first_pause = 0s};
    }
    /// Messages whose text has come to its end, in order.
    std::vector<std::string> texts() {
        const std::lock_guard lock{mutex_};
        return texts_;
    }
    std::atomic<int> connections{0};  ///< that have ended
    std::atomic<bool> is_in_text{false};

  private:
    void serve(int link) {
        Act act = Act::kTake;
        if (!script_.empty()) {
            act = script_.front();
            script_.pop_front();
        }
        const auto say = [&](const std::string& line) {
            send(link, (line + "\r\n").c_str(), line.size() + 2, MSG_NOSIGNAL);
        };
        say(act == Act::kGreeting554 ? "554 no service" : "220 played");
        std::string line;
        std::string text;
        bool is_text = false;
        char c = 0;
        while (read(link, &c, 1) == 1) {
            line += c;
            if (c != '\n') continue;
            if (is_text && line == ".\r\n") {
                const bool is_refused = act == Act::kText554 || act == Act::kText452;
                if (!is_refused) {
                    const std::lock_guard lock{mutex_};
                    texts_.push_back(text);
                }
                if (act == Act::kBreakAfterText) return;
                say(act == Act::kText554   ? "554 no"
                    : act == Act::kText452 ? "452 later"
                                           : "250 ok");
                is_text = false;
            } else if (is_text) {
                text += line;
                is_in_text = true;
                if (act == Act::kBreakInText) return;
            } else if (line.starts_with("RCPT") && act == Act::kRecipient451) {
                say("451 later <ada@example.org>");
            } else if (line.starts_with("RCPT") && act == Act::kRecipient550) {
                say("550 no such user <ada@example.org>");
            } else if (line.starts_with("DATA")) {
                say("354 go on");
                is_text = true;
            } else if (line.starts_with("QUIT")) {
                return;
            } else {
                say("250 played");
            }
            line.clear();
        }
    }

    std::deque<Act> script_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::mutex mutex_;
    std::vector<std::string> texts_;
    std::thread thread_;
};

/// A project with the account ada@example.org.
struct Accounts {
    TestProject project;
    Accounts() { add_user(project.database(), "Ada", 1); }
    Database& database() { return project.database(); }
    std::unique_ptr<Mailer> mailer(const MailSettings& settings) {
        return std::make_unique<Mailer>(
            settings, project.config().database,
            [](MailPurpose, const std::string& email, const std::string& secret) {
                return MailMessage{.to = email, .subject = "s", .text = "secret " + secret + "\n"};
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
    ScriptedRelay relay{{Act::kGreeting554, Act::kRecipient451, Act::kBreakInText, Act::kText452}};
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
    ScriptedRelay relay{{Act::kBreakAfterText}};
    const auto mailer = accounts.mailer(relay.settings());
    accounts.ask(*mailer, MailPurpose::kConfirm);
    accounts.await_empty_queue();
    REQUIRE(relay.texts().size() == 2);
    CHECK_FALSE(confirm_email(accounts.database(), secret_of(relay.texts().back()), unix_now()));
}

TEST_CASE("a message that is refused for good is not sent again", "[server][integration]") {
    const auto act = GENERATE(Act::kRecipient550, Act::kText554);
    Accounts accounts;
    ScriptedRelay relay{{act}};
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
        deliver(ScriptedRelay{{act}}.settings(),
                {.to = "ada@example.org", .subject = "s", .text = "t"});
        FAIL("it was taken");
    } catch (const IoError& error) {
        CHECK_THAT(error.what(), !Contains("ada@"));  // the log has no address
    }
}

TEST_CASE("a relay that never takes a message is asked a bounded number of times",
          "[server][integration]") {
    Accounts accounts;
    ScriptedRelay relay{std::deque<Act>(100, Act::kRecipient451)};
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
    ScriptedRelay relay{{}};
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
                            [&](MailPurpose, const std::string& email, const std::string&) {
                                (void)!write(pipe[1], "x", 1);
                                pause();
                                return MailMessage{.to = email, .subject = "s", .text = "t"};
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
    ScriptedRelay relay{{}};
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
