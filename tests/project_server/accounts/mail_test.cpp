// E-mail through a played sendmail program and a played relay.
#include "project_server/accounts/mail.hpp"

#include <chrono>
#include <csignal>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/accounts/account_changes.hpp"
#include "project_server/accounts/mail_tokens.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/throttle.hpp"
#include "tests/project_server/accounts/played_relay.hpp"
#include "tests/project_server/web/browser.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

/// A program that keeps what it is given: each message in a file of its own.
struct Sendmail {
    TemporaryDirectory folder;
    MailSettings settings{.from = "project@example.org",
                          .sender_name = "Test",
                          .sendmail = folder.path() / "sendmail"};

    Sendmail() {
        platform::replace_file(settings.sendmail, "#!/bin/sh\n{ echo \"$@\"; cat; } >\"" +
                                                      box().string() + "/new.$$\"\nmv \"" +
                                                      box().string() + "/new.$$\" \"" +
                                                      box().string() + "/mail.$$\"\n");
        fs::permissions(settings.sendmail, fs::perms::owner_all);
        fs::create_directory(box());
    }
    fs::path box() const { return folder.path() / "box"; }
    /// The texts of all messages.
    std::vector<std::string> messages() const {
        std::vector<std::string> texts;
        for (const auto& entry : fs::directory_iterator{box()}) {
            if (entry.path().filename().string().starts_with("mail")) {
                texts.push_back(platform::read_text(entry.path()));
            }
        }
        return texts;
    }
    /// The next message; what came before is forgotten.
    std::string next() const {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
        while (std::chrono::steady_clock::now() < until) {
            const auto texts = messages();
            if (!texts.empty()) {
                fs::remove_all(box());
                fs::create_directory(box());
                return texts.front();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
        FAIL("no e-mail has come");
        return {};
    }
};

/// The secret of the link in a message.
std::string secret_in(const std::string& mail) {
    const auto at = mail.find("?secret=");
    REQUIRE(at != mail.npos);
    return mail.substr(at + 8, 64);
}

}  // namespace

TEST_CASE("a forgotten password is replaced by a link that works once", "[server][integration]") {
    const Sendmail sendmail;
    TestSite site{sendmail.settings};
    Browser ada{site};
    register_as(ada, "Ada");
    CHECK_THAT(sendmail.next(), Contains("To confirm this address"));
    Browser browser{site};
    const auto ask = [&](const std::string& email) {
        return browser.submit("/account/forgotten", "/account/forgotten", {{"email", email}});
    };
    const auto known = ask("ADA@example.org");
    const auto unknown = ask("eve@example.org");
    CHECK(known.status == 200);
    CHECK(known.body == unknown.body);
    const std::string mail = sendmail.next();
    CHECK_THAT(mail, Contains("-i -f project@example.org -- ada@example.org\n") &&
                         Contains("To: <ada@example.org>\n") && Contains("/account/reset?secret="));
    const std::string secret = secret_in(mail);
    CHECK(site.database()
              .query_one("select count(*) as n from token where token = ?", {secret})
              ->integer("n") == 0);  // only its hash is there
    const auto set = [&](const std::string& used, const std::string& next) {
        return browser
            .submit("/account/reset?secret=" + used, "/account/reset",
                    {{"secret", used}, {"next", next}})
            .status;
    };
    CHECK(set(std::string(64, '0'), "much longer") == 422);
    CHECK(set(secret, "short") == 422);
    CHECK(browser.get("/account/reset?secret=" + secret).status == 200);  // uses nothing up
    CHECK(set(secret, "much longer") == 200);
    CHECK(set(secret, "much longer") == 422);
    CHECK(ada.get("/account").status == 303);  // every session has ended
    CHECK(sign_in_as(browser, "Ada", "secret-Ada").status == 422);
    CHECK(sign_in_as(browser, "Ada", "much longer").status == 303);
    CHECK(site.database().query_one("select email_validated as n from user")->integer("n") == 1);
    CHECK(sendmail.messages().empty());
}

TEST_CASE("an address is confirmed by a link, which a change of the address voids",
          "[server][integration]") {
    const Sendmail sendmail;
    TestSite site{sendmail.settings};
    Browser ada{site};
    register_as(ada, "Ada");
    const std::string first = secret_in(sendmail.next());
    CHECK_THAT(ada.get("/account").body, Contains("not confirmed"));
    CHECK(ada.submit("/account/settings", "/account/email",
                     {{"email", "new@example.org"}, {"password", "secret-Ada"}})
              .status == 303);
    const std::string second = secret_in(sendmail.next());
    Browser elsewhere{site};
    const auto confirm = [&](const std::string& secret) {
        return elsewhere.submit("/account/confirm", "/account/confirm", {{"secret", secret}})
            .status;
    };
    CHECK(confirm(first) == 422);
    CHECK_THAT(ada.get("/account").body, Contains("not confirmed"));
    CHECK(confirm(second) == 200);
    CHECK_THAT(ada.get("/account").body, !Contains("not confirmed"));
}

TEST_CASE("a reset takes an account from a stranger who made it with another's address",
          "[server][integration]") {
    TestSite site;
    Browser stranger{site};
    register_as(stranger, "Ada");
    Database& database = site.database();
    const auto key = [&] {
        return database.query_one("select authenticator from user")->text("authenticator");
    };
    const auto reset = [&](const std::string& next) {
        const auto secret =
            begin_by_mail(database, MailPurpose::kReset, "ada@example.org", unix_now());
        REQUIRE(secret);
        Browser owner{site};
        return owner
            .submit("/account/reset?secret=" + secret->text, "/account/reset",
                    {{"secret", secret->text}, {"next", next}})
            .body;
    };
    const std::string strangers_key = key();
    CHECK_THAT(reset("much longer"), Contains("attach its computers again"));
    CHECK(key() != strangers_key);
    CHECK(stranger.get("/account").status == 303);
    CHECK_THAT(site.page("/am_get_info.php?account_key=" + strangers_key), Contains("-136"));
    // The owner's computers stay attached at a later reset: the address is confirmed now.
    const std::string owners_key = key();
    reset("still longer");
    CHECK(key() == owners_key);
}

TEST_CASE("secrets expire, differ by purpose and are few", "[server][integration]") {
    TestSite site;
    Browser ada{site};
    register_as(ada, "Ada");
    Database& database = site.database();
    const auto begin = [&](MailPurpose purpose, double now) {
        return begin_by_mail(database, purpose, "ada@example.org", now);
    };
    const auto secret = begin(MailPurpose::kReset, 1'000);
    REQUIRE(secret);
    CHECK(confirm_email(database, secret->text, 1'001));
    CHECK(reset_password(database, secret->text, "much longer", 1'000 + 3'600).refusal);
    for (int more = 1; more < kMaxMailTokens; ++more) CHECK(begin(MailPurpose::kReset, 1'000));
    CHECK_FALSE(begin(MailPurpose::kReset, 1'000));
    CHECK(begin(MailPurpose::kConfirm, 1'000));
    CHECK(begin(MailPurpose::kReset, 1'000 + 3'601));
    CHECK_FALSE(
        reset_password(database, begin(MailPurpose::kReset, 9'000)->text, "much longer", 9'001)
            .refusal);
    CHECK(database.query_one("select count(*) as n from token where type <> 'S'")->integer("n") ==
          0);
    CHECK_FALSE(begin_by_mail(database, MailPurpose::kReset, "nobody@example.org", 9'002));
}

TEST_CASE("a secret belongs to the address to which it was sent", "[server][integration]") {
    TestSite site;
    Browser ada{site};
    register_as(ada, "Ada");
    Database& database = site.database();
    const auto begin = [&](MailPurpose purpose) {
        const auto secret = begin_by_mail(database, purpose, "ADA@example.org", 1'000);
        REQUIRE(secret);
        CHECK(secret->address == "ada@example.org");
        CHECK(secret->text.size() == 64);
        return secret->text;
    };
    const auto is_confirmed = [&] {
        return database.query_one("select email_validated as n from user")->integer("n") == 1;
    };
    const std::string reset = begin(MailPurpose::kReset);
    const std::string confirm = begin(MailPurpose::kConfirm);
    // Also when another program changes the address and voids nothing.
    for (const char* const other :
         {"new@example.org", "ad\u00E0@example.org", "ada@example.org "}) {
        INFO(other);
        database.execute("update user set email_addr = ?", {other});
        CHECK(reset_password(database, reset, "much longer", 1'001).refusal);
        CHECK(confirm_email(database, confirm, 1'001));
        CHECK_FALSE(is_confirmed());
    }
    // A secret of an account is none of another one that has the address later.
    database.execute("update user set email_addr = 'away@example.org'");
    database.execute(
        "insert into user (name, email_addr, authenticator) values ('Eve', 'ada@example.org', "
        "'eve')");
    CHECK(reset_password(database, reset, "much longer", 1'001).refusal);
    CHECK(confirm_email(database, confirm, 1'001));
    database.execute("delete from user where name = 'Eve'");
    database.execute("update user set email_addr = 'ada@example.org'");
    for (const std::string& wrong :
         {std::string(64, '0'), std::string(64, 'f'), reset.substr(1), reset + '0',
          "-" + reset.substr(1), std::string(63, '0') + '1', std::string{}}) {
        CHECK(reset_password(database, wrong, "much longer", 1'001).refusal);
    }
    CHECK_FALSE(confirm_email(database, confirm, 1'001));
    CHECK(is_confirmed());
    CHECK_FALSE(reset_password(database, reset, "much longer", 1'001).refusal);
}

TEST_CASE("links to an address end with it, whatever changes it", "[server][integration]") {
    TestSite site;
    Browser ada{site};
    register_as(ada, "Ada");
    Database& database = site.database();
    const auto begin = [&](const char* email) {
        const auto secret = begin_by_mail(database, MailPurpose::kReset, email, 1'000);
        REQUIRE(secret);
        return secret->text;
    };
    const auto set_info = [&](const std::string& email) {
        const auto key = database.query_one("select authenticator as k from user")->text("k");
        return site.page("/am_set_info.php?account_key=" + key + "&email_addr=" + email +
                         "&password_hash=" + boinc_password_hash("secret-Ada", email));
    };
    std::string secret = begin("ada@example.org");
    CHECK_THAT(set_info("second@example.org"), Contains("<success/>"));
    CHECK(reset_password(database, secret, "much longer", 1'001).refusal);
    secret = begin("second@example.org");
    CHECK_FALSE(change_email(database, 1, "secret-Ada", "third@example.org", 1'001));
    CHECK(reset_password(database, secret, "much longer", 1'002).refusal);
    // Back at the first address, the old links stay void.
    CHECK_FALSE(change_email(database, 1, "secret-Ada", "second@example.org", 1'003));
    CHECK(reset_password(database, secret, "much longer", 1'004).refusal);
    CHECK(database.query_one("select count(*) as n from token where type = 'R'")->integer("n") ==
          0);
}

TEST_CASE("too many requests for e-mail are refused", "[server][integration]") {
    const Sendmail sendmail;
    TestSite site{sendmail.settings};
    Browser browser{site};
    const auto ask = [&] {
        return browser
            .submit("/account/forgotten", "/account/forgotten", {{"email", "eve@example.org"}})
            .status;
    };
    for (int i = 0; i < kMailLimits.pair; ++i) CHECK(ask() == 200);
    CHECK(ask() == 429);
}

TEST_CASE("changes of the address do not flood a stranger's mailbox", "[server][integration]") {
    const Sendmail sendmail;
    TestSite site{sendmail.settings};
    Browser ada{site};
    register_as(ada, "Ada");
    CHECK_THAT(sendmail.next(), Contains("To: <ada@example.org>"));
    const auto change = [&] {
        return ada
            .submit("/account/settings", "/account/email",
                    {{"email", "stranger@example.org"}, {"password", "secret-Ada"}})
            .status;
    };
    for (int i = 0; i < kMailLimits.pair; ++i) {
        CHECK(change() == 303);
        CHECK_THAT(sendmail.next(), Contains("To: <stranger@example.org>"));
    }
    for (int i = kMailLimits.pair; i < kSignInLimits.pair; ++i) CHECK(change() == 303);
    CHECK(change() == 429);
    CHECK(ada.submit("/account", "/account/send_confirmation", {}).status == 429);
    CHECK(site.database().query_one("select count(*) as n from dedloc_mail")->integer("n") == 0);
    CHECK(sendmail.messages().empty());
}

TEST_CASE("a project without e-mail says what to do", "[server][integration]") {
    TestSite site;
    Browser browser{site};
    CHECK_THAT(browser.get("/account/forgotten").body,
               Contains("sends no e-mail") && Contains("dedloc user password") &&
                   !Contains("action=\"/account/forgotten\""));
    CHECK(browser.submit("/account/sign_in", "/account/forgotten", {{"email", "a@b"}}).status ==
          404);
    register_as(browser, "Ada");
    CHECK_THAT(browser.get("/account").body, !Contains("not confirmed"));
}

TEST_CASE("a name in ASCII is quoted in the header", "[server]") {
    const std::string text = mail_text({.from = "a@b", .sender_name = "The \"x\\y\" project"},
                                       {.to = "c@d", .subject = "s", .text = "t"}, 0);
    CHECK_THAT(text, Contains("\r\nFrom: \"The \\\"x\\\\y\\\" project\" <a@b>\r\n"));
    CHECK_THAT(text, Catch::StartsWith("Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n"));
}

TEST_CASE("a sendmail that does not end is ended", "[server]") {
    const TemporaryDirectory folder;
    MailSettings settings{.from = "project@example.org",
                          .sendmail = folder.path() / "sendmail",
                          .time_limit = std::chrono::seconds{1}};
    const fs::path pid = folder.path() / "pid";
    platform::replace_file(settings.sendmail,
                           "#!/bin/sh\necho $$ >\"" + pid.string() + "\"\nsleep 600\n");
    fs::permissions(settings.sendmail, fs::perms::owner_all);
    const auto began = std::chrono::steady_clock::now();
    CHECK_THROWS_WITH(deliver(settings, {.to = "ada@example.org", .subject = "s", .text = "t"}),
                      Contains("has not ended within 1 s"));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{60});
    CHECK(kill(static_cast<pid_t>(std::stol(platform::read_text(pid))), 0) != 0);
}

TEST_CASE("a relay gets the message by SMTP", "[server][integration]") {
    MailSettings settings{.from = "project@example.org", .sender_name = "Zoë's \"project\""};
    {
        PlayedRelay relay;
        settings.relay = relay.settings().relay;
        deliver(settings,
                {.to = "ada@example.org", .subject = "a\r\nBcc: x", .text = "Hi\n.\nö\n"});
        CHECK_THAT(relay.heard(),
                   Contains("MAIL FROM:<project@example.org>") &&
                       Contains("RCPT TO:<ada@example.org>") &&
                       Contains("Subject: a  Bcc: x\r\n") && Contains("\r\nHi\r\n..\r\nö\r\n") &&
                       Contains("From: =?UTF-8?B?Wm/DqydzICJwcm9qZWN0Ig==?= <project@") &&
                       !Contains("\r\nBcc"));
    }
    CHECK_THROWS_AS(deliver(settings, {.to = "ada@example.org", .subject = "s", .text = "t"}),
                    IoError);
    for (const char* const address :
         {"-oQ/tmp@x", "a@b,c@d", "a@b c", "a", "", "a@b\nRCPT TO:<c@d>", "|x@y"}) {
        CHECK_THROWS_AS(deliver(settings, {.to = address, .subject = "s", .text = "t"}),
                        InputError);
    }
}

}  // namespace dedloc::server
